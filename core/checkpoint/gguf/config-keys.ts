/**
 * Settings of a GGUF file as the config keys of transformers, in the groups that architectures share.
 * In: the head and its settings. Out: parts of a config.
 */
import type { RawConfig } from '../types.ts'
import type { GgufHeader } from './header.ts'
import type { Settings } from './metadata.ts'
import { ropeConfig } from './rope.ts'

/** What a config is made from. */
export interface GgufFacts {
  readonly header: GgufHeader
  readonly s: Settings
  readonly vocabSize: number
}

/** The width of a head. */
export function headWidth(s: Settings): number {
  return s.maybeCount('attention.key_length') ?? s.count('embedding_length') / s.count('attention.head_count')
}

/** Keys that decoders of Llama's shape share. */
export function base({ header, s, vocabSize }: GgufFacts): RawConfig {
  const heads = s.count('attention.head_count')
  const width = s.maybeCount('attention.key_length')
  return {
    vocab_size: vocabSize,
    hidden_size: s.count('embedding_length'),
    num_hidden_layers: s.count('block_count'),
    num_attention_heads: heads,
    num_key_value_heads: s.maybeCount('attention.head_count_kv') ?? heads,
    intermediate_size: s.count('feed_forward_length'),
    max_position_embeddings: s.count('context_length'),
    tie_word_embeddings: !s.holds('output.weight'),
    ...(width === null ? {} : { head_dim: width }),
    ...ropeConfig(header, s, headWidth(s)),
  }
}

export const rms = (s: Settings) => ({
  rms_norm_eps: s.maybeNumber('attention.layer_norm_rms_epsilon') ?? 1e-5,
})
export const layerNorm = (s: Settings) => s.maybeNumber('attention.layer_norm_epsilon') ?? 1e-5

/** How many experts there are, how many a token takes, and their width. */
export function experts(s: Settings): RawConfig {
  return {
    num_experts: s.count('expert_count'),
    num_experts_per_tok: s.count('expert_used_count'),
    moe_intermediate_size: s.maybeCount('expert_feed_forward_length') ?? s.count('feed_forward_length'),
  }
}

/** Config keys of a Gemma of this `model_type`, with its soft caps. */
export function gemma(file: GgufFacts, type: string): RawConfig {
  const { s } = file
  const caps = {
    attn_logit_softcapping: s.maybeNumber('attn_logit_softcapping'),
    final_logit_softcapping: s.maybeNumber('final_logit_softcapping'),
  }
  return {
    ...base(file),
    model_type: type,
    ...rms(s),
    hidden_act: 'gelu_pytorch_tanh',
    hidden_activation: 'gelu_pytorch_tanh',
    ...(type === 'gemma' ? {} : caps),
  }
}

/**
 * Gemma 2 and 3: windows in some layers, every `period`-th sees all; newer files say it. The scale of scores is not in
 * the file: llama.cpp knows it by the size of the model, whose largest form has `largest` layers.
 */
export function windowed(s: Settings, largest: number, period: number): RawConfig {
  const layers = s.count('block_count')
  const byWidth = layers === largest
  const windows =
    s.maybePattern('attention.sliding_window_pattern', layers) ??
    Array.from({ length: layers }, (_, layer) => layer % period !== period - 1)
  return {
    query_pre_attn_scalar: byWidth
      ? s.count('embedding_length') / s.count('attention.head_count')
      : headWidth(s),
    sliding_window: s.maybeCount('attention.sliding_window') ?? 4096,
    layer_types: windows.map((on) => (on ? 'sliding_attention' : 'full_attention')),
  }
}
