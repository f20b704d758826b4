/**
 * Names of tensors: GGUF's own, and those of transformers that families ask for.
 * In: a table of stems per architecture; `#` stands for the layer, `*` for the expert. Out: both directions.
 */

export type NameTable = Readonly<Record<string, string>>

/** Embedding, head and last norm of most architectures. */
const ENDS: NameTable = {
  token_embd: 'model.embed_tokens',
  output: 'lm_head',
  output_norm: 'model.norm',
}

export const LLAMA_NAMES: NameTable = {
  ...ENDS,
  'blk.#.attn_norm': 'model.layers.#.input_layernorm',
  'blk.#.attn_q': 'model.layers.#.self_attn.q_proj',
  'blk.#.attn_k': 'model.layers.#.self_attn.k_proj',
  'blk.#.attn_v': 'model.layers.#.self_attn.v_proj',
  'blk.#.attn_q_norm': 'model.layers.#.self_attn.q_norm',
  'blk.#.attn_k_norm': 'model.layers.#.self_attn.k_norm',
  'blk.#.attn_output': 'model.layers.#.self_attn.o_proj',
  'blk.#.ffn_norm': 'model.layers.#.post_attention_layernorm',
  'blk.#.ffn_gate': 'model.layers.#.mlp.gate_proj',
  'blk.#.ffn_up': 'model.layers.#.mlp.up_proj',
  'blk.#.ffn_down': 'model.layers.#.mlp.down_proj',
}

/** A router and experts; the file holds each matrix of all experts as one tensor, outermost axis expert. */
export const MIXTRAL_NAMES: NameTable = {
  ...LLAMA_NAMES,
  'blk.#.ffn_gate_inp': 'model.layers.#.block_sparse_moe.gate',
  'blk.#.ffn_gate_exps': 'model.layers.#.block_sparse_moe.experts.*.w1',
  'blk.#.ffn_down_exps': 'model.layers.#.block_sparse_moe.experts.*.w2',
  'blk.#.ffn_up_exps': 'model.layers.#.block_sparse_moe.experts.*.w3',
}

export const EXPERT_NAMES: NameTable = {
  ...LLAMA_NAMES,
  'blk.#.ffn_gate_inp': 'model.layers.#.mlp.gate',
  'blk.#.ffn_gate_exps': 'model.layers.#.mlp.experts.*.gate_proj',
  'blk.#.ffn_up_exps': 'model.layers.#.mlp.experts.*.up_proj',
  'blk.#.ffn_down_exps': 'model.layers.#.mlp.experts.*.down_proj',
  'blk.#.ffn_gate_inp_shexp': 'model.layers.#.mlp.shared_expert_gate',
  'blk.#.ffn_gate_shexp': 'model.layers.#.mlp.shared_expert.gate_proj',
  'blk.#.ffn_up_shexp': 'model.layers.#.mlp.shared_expert.up_proj',
  'blk.#.ffn_down_shexp': 'model.layers.#.mlp.shared_expert.down_proj',
}

/** Norms before and after attention and MLP. */
export const GEMMA2_NAMES: NameTable = {
  ...LLAMA_NAMES,
  'blk.#.post_attention_norm': 'model.layers.#.post_attention_layernorm',
  'blk.#.ffn_norm': 'model.layers.#.pre_feedforward_layernorm',
  'blk.#.post_ffw_norm': 'model.layers.#.post_feedforward_layernorm',
}

export const OLMO2_NAMES: NameTable = {
  ...LLAMA_NAMES,
  'blk.#.post_attention_norm': 'model.layers.#.post_attention_layernorm',
  'blk.#.post_ffw_norm': 'model.layers.#.post_feedforward_layernorm',
}

export const GPT2_NAMES: NameTable = {
  token_embd: 'wte',
  position_embd: 'wpe',
  output: 'lm_head',
  output_norm: 'ln_f',
  'blk.#.attn_norm': 'h.#.ln_1',
  'blk.#.attn_qkv': 'h.#.attn.c_attn',
  'blk.#.attn_output': 'h.#.attn.c_proj',
  'blk.#.ffn_norm': 'h.#.ln_2',
  'blk.#.ffn_up': 'h.#.mlp.c_fc',
  'blk.#.ffn_down': 'h.#.mlp.c_proj',
}

export const NEOX_NAMES: NameTable = {
  token_embd: 'gpt_neox.embed_in',
  output: 'embed_out',
  output_norm: 'gpt_neox.final_layer_norm',
  'blk.#.attn_norm': 'gpt_neox.layers.#.input_layernorm',
  'blk.#.attn_qkv': 'gpt_neox.layers.#.attention.query_key_value',
  'blk.#.attn_output': 'gpt_neox.layers.#.attention.dense',
  'blk.#.ffn_norm': 'gpt_neox.layers.#.post_attention_layernorm',
  'blk.#.ffn_up': 'gpt_neox.layers.#.mlp.dense_h_to_4h',
  'blk.#.ffn_down': 'gpt_neox.layers.#.mlp.dense_4h_to_h',
}

export const BLOOM_NAMES: NameTable = {
  token_embd: 'transformer.word_embeddings',
  token_embd_norm: 'transformer.word_embeddings_layernorm',
  output: 'lm_head',
  output_norm: 'transformer.ln_f',
  'blk.#.attn_norm': 'transformer.h.#.input_layernorm',
  'blk.#.attn_qkv': 'transformer.h.#.self_attention.query_key_value',
  'blk.#.attn_output': 'transformer.h.#.self_attention.dense',
  'blk.#.ffn_norm': 'transformer.h.#.post_attention_layernorm',
  'blk.#.ffn_up': 'transformer.h.#.mlp.dense_h_to_4h',
  'blk.#.ffn_down': 'transformer.h.#.mlp.dense_4h_to_h',
}

export const FALCON_NAMES: NameTable = BLOOM_NAMES

/** One norm for attention, one for the MLP beside it. */
export const FALCON_TWO_NORMS: NameTable = {
  ...BLOOM_NAMES,
  'blk.#.attn_norm': 'transformer.h.#.ln_mlp',
  'blk.#.attn_norm_2': 'transformer.h.#.ln_attn',
}

export const PHI_NAMES: NameTable = {
  ...LLAMA_NAMES,
  output_norm: 'model.final_layernorm',
  'blk.#.attn_output': 'model.layers.#.self_attn.dense',
  'blk.#.ffn_up': 'model.layers.#.mlp.fc1',
  'blk.#.ffn_down': 'model.layers.#.mlp.fc2',
}

export const PHI3_NAMES: NameTable = {
  ...LLAMA_NAMES,
  'blk.#.attn_qkv': 'model.layers.#.self_attn.qkv_proj',
  'blk.#.ffn_up': 'model.layers.#.mlp.gate_up_proj',
}

export const STARCODER2_NAMES: NameTable = {
  ...LLAMA_NAMES,
  'blk.#.ffn_up': 'model.layers.#.mlp.c_fc',
  'blk.#.ffn_down': 'model.layers.#.mlp.c_proj',
}

/** A tensor of the file, taken apart. */
export interface ParsedName {
  readonly stem: string // with # for the layer
  readonly layer: string
  readonly suffix: string // '.weight' or '.bias'
}

/** "blk.3.attn_q.weight" → blk.#.attn_q, 3, .weight */
export function parseName(name: string): ParsedName {
  const suffix = /\.(weight|bias)$/.exec(name)?.[0] ?? ''
  const bare = name.slice(0, name.length - suffix.length)
  const layer = /^blk\.(\d+)\./.exec(bare)?.[1] ?? ''
  return { stem: bare.replace(/^blk\.\d+\./, 'blk.#.'), layer, suffix }
}

/** The name of a transformers tensor in the file; prefixes such as `model.` may be left out. Itself when unknown. */
export function fileNameOf(table: NameTable, canonical: string): string {
  for (const [stem, name] of Object.entries(table)) {
    const pattern = name
      .replace(/^(model|transformer|gpt_neox)\./, '')
      .replace(/[.]/g, '\\.')
      .replace('#', '(?<layer>\\d+)')
      .replace('*', '\\d+')
    const found = new RegExp(
      `^(?:model\\.|transformer\\.|gpt_neox\\.)?${pattern}(?<suffix>\\.weight|\\.bias)$`,
    ).exec(canonical)
    if (found) return stem.replace('#', found.groups?.layer ?? '') + found.groups!.suffix
  }
  return canonical
}
