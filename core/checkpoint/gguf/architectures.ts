/**
 * Architectures of GGUF files: what each is called in transformers, the names of its tensors, its settings as
 * config keys, and what the converter did to its weights. A further one is a few lines of the table at the end.
 * Sources: llama.cpp's conversion classes (what is permuted, transposed or shifted) and gguf-py's tensor names.
 */
import type { RawConfig } from '../types.ts'
import { base, experts, type GgufFacts, gemma, headWidth, layerNorm, rms, windowed } from './config-keys.ts'
import type { Settings } from './metadata.ts'
import {
  BLOOM_NAMES,
  EXPERT_NAMES,
  FALCON_NAMES,
  FALCON_TWO_NORMS,
  GEMMA2_NAMES,
  GPT2_NAMES,
  LLAMA_NAMES,
  MIXTRAL_NAMES,
  type NameTable,
  NEOX_NAMES,
  OLMO2_NAMES,
  PHI_NAMES,
  PHI3_NAMES,
  STARCODER2_NAMES,
} from './names.ts'
import { ratio, ropeConfig } from './rope.ts'
import { type FormOf, fusedByGroup, fusedByHead, pairs, shiftedGains, transposed } from './stored-forms.ts'

export interface Architecture {
  readonly names: NameTable | ((s: Settings) => NameTable)
  config(file: GgufFacts): RawConfig
  /** How a tensor lies in the file, where that differs from transformers. */
  readonly stored?: FormOf
}

const llama: Architecture = {
  names: MIXTRAL_NAMES,
  stored: pairs,
  config: (file) => {
    const { s } = file
    const count = s.maybeCount('expert_count')
    return {
      ...base(file),
      ...rms(s),
      hidden_act: 'silu',
      ...(count === null
        ? {
            model_type: 'llama',
            attention_bias: s.holds('blk.0.attn_q.bias'),
            mlp_bias: s.holds('blk.0.ffn_gate.bias'),
          }
        : {
            model_type: 'mixtral',
            num_local_experts: count,
            num_experts_per_tok: s.count('expert_used_count'),
          }),
    }
  },
}

const gpt2: Architecture = {
  names: GPT2_NAMES,
  stored: transposed,
  config: ({ s, vocabSize }) => ({
    model_type: 'gpt2',
    vocab_size: vocabSize,
    n_positions: s.count('context_length'),
    n_embd: s.count('embedding_length'),
    n_layer: s.count('block_count'),
    n_head: s.count('attention.head_count'),
    n_inner: s.count('feed_forward_length'),
    layer_norm_epsilon: layerNorm(s),
    activation_function: 'gelu_new',
    tie_word_embeddings: !s.holds('output.weight'),
  }),
}

const gptneox: Architecture = {
  names: NEOX_NAMES,
  stored: fusedByHead,
  config: ({ header, s, vocabSize }) => {
    const width = headWidth(s)
    const { rope_theta: theta, partial_rotary_factor: _, ...scaling } = ropeConfig(header, s, width)
    return {
      model_type: 'gpt_neox',
      vocab_size: vocabSize,
      hidden_size: s.count('embedding_length'),
      num_hidden_layers: s.count('block_count'),
      num_attention_heads: s.count('attention.head_count'),
      intermediate_size: s.count('feed_forward_length'),
      max_position_embeddings: s.count('context_length'),
      layer_norm_eps: layerNorm(s),
      hidden_act: 'gelu',
      use_parallel_residual: s.maybeFlag('use_parallel_residual') ?? true,
      rotary_emb_base: theta,
      rotary_pct: ratio(s.maybeCount('rope.dimension_count') ?? width, width),
      attention_bias: s.holds('blk.0.attn_qkv.bias'),
      tie_word_embeddings: !s.holds('output.weight'),
      ...scaling,
    }
  },
}

const bloom: Architecture = {
  names: BLOOM_NAMES,
  stored: fusedByHead,
  config: ({ s, vocabSize }) => ({
    model_type: 'bloom',
    vocab_size: vocabSize,
    hidden_size: s.count('embedding_length'),
    n_layer: s.count('block_count'),
    n_head: s.count('attention.head_count'),
    layer_norm_epsilon: layerNorm(s),
    seq_length: s.count('context_length'),
    tie_word_embeddings: !s.holds('output.weight'),
  }),
}

const falcon: Architecture = {
  names: (s) => (s.holds('blk.0.attn_norm_2.weight') ? FALCON_TWO_NORMS : FALCON_NAMES),
  stored: fusedByGroup,
  config: (file) => {
    const { s } = file
    const { num_key_value_heads: groups, intermediate_size: width, ...shared } = base(file)
    const twoNorms = s.holds('blk.0.attn_norm_2.weight')
    const isNew = twoNorms || groups !== 1
    return {
      ...shared,
      model_type: 'falcon',
      num_kv_heads: groups,
      ffn_hidden_size: width,
      layer_norm_epsilon: layerNorm(s),
      activation: 'gelu',
      alibi: false,
      bias: s.holds('blk.0.attn_qkv.bias'),
      multi_query: true,
      parallel_attn: true,
      new_decoder_architecture: isNew,
      num_ln_in_parallel_attn: isNew ? (twoNorms ? 2 : 1) : null,
    }
  },
}

/** By `general.architecture`. */
export const ARCHITECTURES: ReadonlyMap<string, Architecture> = new Map<string, Architecture>([
  ['llama', llama],
  ['gpt2', gpt2],
  ['gptneox', gptneox],
  ['bloom', bloom],
  ['falcon', falcon],
  [
    'qwen2',
    {
      names: LLAMA_NAMES,
      config: (f) => ({
        ...base(f),
        ...rms(f.s),
        model_type: 'qwen2',
        hidden_act: 'silu',
        use_sliding_window: false,
      }),
    },
  ],
  [
    'qwen3',
    {
      names: LLAMA_NAMES,
      config: (f) => ({
        ...base(f),
        ...rms(f.s),
        model_type: 'qwen3',
        hidden_act: 'silu',
        use_sliding_window: false,
      }),
    },
  ],
  [
    'qwen2moe',
    {
      names: EXPERT_NAMES,
      config: (f) => ({
        ...base(f),
        ...rms(f.s),
        ...experts(f.s),
        model_type: 'qwen2_moe',
        hidden_act: 'silu',
        shared_expert_intermediate_size: f.s.count('expert_shared_feed_forward_length'),
        norm_topk_prob: f.s.maybeFlag('expert_weights_norm') ?? false,
      }),
    },
  ],
  [
    'qwen3moe',
    {
      names: EXPERT_NAMES,
      config: (f) => ({
        ...base(f),
        ...rms(f.s),
        ...experts(f.s),
        model_type: 'qwen3_moe',
        hidden_act: 'silu',
        norm_topk_prob: f.s.maybeFlag('expert_weights_norm') ?? true,
      }),
    },
  ],
  [
    'olmoe',
    {
      names: EXPERT_NAMES,
      config: (f) => ({
        ...base(f),
        ...rms(f.s),
        ...experts(f.s),
        model_type: 'olmoe',
        hidden_act: 'silu',
        norm_topk_prob: f.s.maybeFlag('expert_weights_norm') ?? false,
      }),
    },
  ],
  ['gemma', { names: LLAMA_NAMES, stored: shiftedGains, config: (f) => gemma(f, 'gemma') }],
  [
    'gemma2',
    {
      names: GEMMA2_NAMES,
      stored: shiftedGains,
      config: (f) => ({ ...gemma(f, 'gemma2'), ...windowed(f.s, 46, 2) }),
    },
  ],
  [
    'gemma3',
    {
      names: GEMMA2_NAMES,
      stored: shiftedGains,
      config: (f) => ({
        ...gemma(f, 'gemma3_text'),
        ...windowed(f.s, 62, 6),
        rope_theta: f.s.maybeNumber('rope.freq_base') ?? 1e6,
        rope_local_base_freq: f.s.maybeNumber('rope.freq_base_swa') ?? 10_000,
      }),
    },
  ],
  [
    'phi2',
    {
      names: PHI_NAMES,
      config: (f) => ({
        ...base(f),
        model_type: 'phi',
        hidden_act: 'gelu_new',
        layer_norm_eps: layerNorm(f.s),
      }),
    },
  ],
  [
    'phi3',
    {
      names: PHI3_NAMES,
      config: (f) => ({
        ...base(f),
        ...rms(f.s),
        model_type: 'phi3',
        hidden_act: 'silu',
        sliding_window: f.s.maybeCount('attention.sliding_window'),
        original_max_position_embeddings:
          f.s.maybeCount('rope.scaling.original_context_length') ?? f.s.count('context_length'),
      }),
    },
  ],
  [
    'starcoder2',
    {
      names: STARCODER2_NAMES,
      config: (f) => ({
        ...base(f),
        model_type: 'starcoder2',
        hidden_act: 'gelu_pytorch_tanh',
        norm_epsilon: layerNorm(f.s),
        use_bias: f.s.holds('blk.0.attn_q.bias'),
        sliding_window: f.s.maybeCount('attention.sliding_window'),
      }),
    },
  ],
  [
    'stablelm',
    {
      names: LLAMA_NAMES,
      config: (f) => ({
        ...base(f),
        model_type: 'stablelm',
        hidden_act: 'silu',
        layer_norm_eps: layerNorm(f.s),
        use_parallel_residual: f.s.maybeFlag('use_parallel_residual') ?? false,
        use_qkv_bias: f.s.holds('blk.0.attn_q.bias'),
        qk_layernorm: f.s.holds('blk.0.attn_q_norm.weight'),
      }),
    },
  ],
  [
    'olmo',
    {
      names: LLAMA_NAMES,
      stored: pairs,
      config: (f) => ({
        ...base(f),
        model_type: 'olmo',
        hidden_act: 'silu',
        clip_qkv: f.s.maybeNumber('attention.clamp_kqv'),
        layer_norm_epsilon: layerNorm(f.s),
      }),
    },
  ],
  [
    'olmo2',
    {
      names: OLMO2_NAMES,
      config: (f) => ({ ...base(f), ...rms(f.s), model_type: 'olmo2', hidden_act: 'silu' }),
    },
  ],
  [
    'granite',
    {
      names: LLAMA_NAMES,
      stored: pairs,
      config: (f) => ({
        ...base(f),
        ...rms(f.s),
        model_type: 'granite',
        hidden_act: 'silu',
        attention_multiplier: f.s.maybeNumber('attention.scale') ?? 1 / Math.sqrt(headWidth(f.s)),
        embedding_multiplier: f.s.maybeNumber('embedding_scale') ?? 1,
        residual_multiplier: f.s.maybeNumber('residual_scale') ?? 1,
        logits_scaling: f.s.maybeNumber('logit_scale') ?? 1,
      }),
    },
  ],
  [
    'smollm3',
    {
      names: LLAMA_NAMES,
      stored: pairs,
      config: (f) => ({
        ...base(f),
        ...rms(f.s),
        model_type: 'smollm3',
        hidden_act: 'silu',
        // Every fourth layer has no positions; the file does not say so, llama.cpp knows it.
        no_rope_layer_interval: 4,
        no_rope_layers: Array.from({ length: f.s.count('block_count') }, (_, l) => (l % 4 === 3 ? 0 : 1)),
      }),
    },
  ],
  [
    'command-r',
    {
      names: LLAMA_NAMES,
      config: (f) => ({
        ...base(f),
        model_type: 'cohere',
        hidden_act: 'silu',
        layer_norm_eps: layerNorm(f.s),
        logit_scale: f.s.maybeNumber('logit_scale') ?? 1,
        use_qk_norm: f.s.holds('blk.0.attn_q_norm.weight'),
      }),
    },
  ],
])
