/** Parameters and memory of a transformer by plain arithmetic, with GPT-3 beside it. In: sizes. Out: exact whole numbers. */

export interface Sizes {
  readonly layers: number
  readonly dModel: number
  readonly heads: number
  readonly kvHeads: number
  readonly dHead: number
  readonly dMlp: number
  readonly gated: boolean
  readonly vocab: number
  /** Rows of a learned position table; 0 without one. */
  readonly positions: number
  readonly tied: boolean
}

export const GPT3: Sizes = {
  layers: 96,
  dModel: 12288,
  heads: 96,
  kvHeads: 96,
  dHead: 128,
  dMlp: 4 * 12288,
  gated: false,
  vocab: 50257,
  positions: 2048,
  tied: true,
}

/** Weight matrices only: biases and norms are apart. */
export interface Accounting {
  /** W_Q, W_K, W_V, W_O of one query head, with its share of grouped keys and values. */
  readonly head: number
  readonly attentionSublayer: number
  readonly attention: number
  readonly mlpSublayer: number
  readonly mlp: number
  readonly embedding: number
  readonly unembedding: number // 0 when tied
  readonly positions: number
  /** One d_model × d_model value map: what W_V W_O of a head would be as one matrix. */
  readonly fullValueMap: number
  readonly all: number
}

/** Counts of the weight matrices. */
export function accounting(s: Sizes): Accounting {
  const attentionSublayer = 2 * s.dModel * s.dHead * (s.heads + s.kvHeads)
  const mlpSublayer = (s.gated ? 3 : 2) * s.dModel * s.dMlp
  const embedding = s.vocab * s.dModel
  const counts = {
    attention: s.layers * attentionSublayer,
    mlp: s.layers * mlpSublayer,
    embedding,
    unembedding: s.tied ? 0 : embedding,
    positions: s.positions * s.dModel,
  }
  return {
    head: attentionSublayer / s.heads,
    attentionSublayer,
    mlpSublayer,
    ...counts,
    fullValueMap: s.dModel * s.dModel,
    all: Object.values(counts).reduce((sum, count) => sum + count, 0),
  }
}

export interface AttentionMemory {
  readonly tokens: number
  /** Keys and values kept for decoding: 2 · layers · kv_heads · d_head · T, linear in T. */
  readonly cacheBytes: number
  /** Scores of every layer and head, T × T each: quadratic, and not the same thing. */
  readonly scoreBytes: number
}

/** Bytes of both for prompts of these lengths; `bytes` per element. */
export function attentionMemory(s: Sizes, tokens: readonly number[], bytes = 4): AttentionMemory[] {
  return tokens.map((count) => ({
    tokens: count,
    cacheBytes: 2 * s.layers * s.kvHeads * s.dHead * count * bytes,
    scoreBytes: s.layers * s.heads * count * count * bytes,
  }))
}
