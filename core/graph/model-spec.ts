/**
 * What a family makes of a config: sizes and switches, no tensors. A model is one or more stacks of blocks;
 * every layer says its own geometry, so that alternating windows, bases and widths need nothing special.
 */

export type Activation = 'relu' | 'gelu' | 'gelu_tanh' | 'silu'

export interface NormSpec {
  readonly kind: 'layer' | 'rms'
  readonly eps: number
  /** Gemma: the weights hold the gain minus 1. */
  readonly gainMinusOne?: boolean
}

/** How rotary frequencies come about; the tables are made from positions (rope-tables.ts). */
export interface RopeSpec {
  readonly dims: number // rotated dimensions of each head, even
  readonly theta: number
  readonly interleaved: boolean
  readonly scaling: RopeScaling
}

export type RopeScaling =
  | { readonly type: 'default' }
  | { readonly type: 'linear'; readonly factor: number }
  | { readonly type: 'dynamic'; readonly factor: number; readonly original: number }
  | {
      readonly type: 'yarn'
      readonly factor: number
      readonly original: number
      readonly betaFast: number
      readonly betaSlow: number
      readonly attention: number // multiplies cos and sin
      readonly truncate: boolean
    }
  | {
      readonly type: 'llama3'
      readonly factor: number
      readonly lowFactor: number
      readonly highFactor: number
      readonly original: number
    }
  | {
      readonly type: 'longrope'
      readonly short: readonly number[] // divides each frequency up to `original` positions [dims / 2]
      readonly long: readonly number[] // and beyond
      readonly original: number
      readonly attention: number // multiplies cos and sin
    }

/** ALiBi (Press et al. 2108.12409): slope · key position is added to the score; softmax sees only distances. */
export interface AlibiSpec {
  readonly slopes: readonly number[] // one a head
  /** Falcon: slope, position and product are rounded to bfloat16, as its reference does. */
  readonly bfloat16: boolean
  /** Factor on slope · position (Falcon scales it like the score). */
  readonly scale: number
}

/** A mixture of experts in place of the MLP. */
export interface ExpertsSpec {
  readonly count: number
  readonly used: number // experts per token
  readonly dMlp: number // width of one expert
  /** Weights of the experts that are used are divided by their sum. */
  readonly renormalize: boolean
  /** Width of the expert that every token passes, behind a sigmoid gate. */
  readonly shared: number | null
}

export interface LayerSpec {
  readonly nHeads: number
  readonly nKvHeads: number
  readonly dHead: number
  readonly dMlp: number
  readonly act: Activation
  readonly gated: boolean
  /** Attention and MLP read the same residual; there is no hook_resid_mid. */
  readonly parallel: boolean
  /** Factor on query · key. */
  readonly scoreScale: number
  /** Keys seen per query (itself included); null: all before it. */
  readonly window: number | null
  /** Index into `ropes`; null: no rotary in this layer. */
  readonly rope: number | null
  readonly alibi: AlibiSpec | null
  /** A norm on queries and keys between hook_q, hook_k and rotary: over each head, or over the whole projection. */
  readonly qkNorm: 'head' | 'projection' | null
  /** Queries, keys and values are cut to [-clip, clip]. */
  readonly clip: number | null
  /** scores = softcap · tanh(scores / softcap), before the mask. */
  readonly softcap: number | null
  /** What attention and MLP give is multiplied by this before it is added (and before hook_attn_out, hook_mlp_out). */
  readonly residualScale: number
  /**
   * `before`: attention and MLP read a normed residual. `after`: what they give is normed, then added.
   * `both`: both (Gemma 2 and 3). `sum`: each sum is normed, and is what the block hands on (BERT, OPT-350m).
   */
  readonly norms: 'before' | 'after' | 'both' | 'sum'
  readonly experts: ExpertsSpec | null
}

/** The switches of a plain layer: pre-norm, dense, full attention, no positions inside attention. */
export const PLAIN_LAYER = {
  parallel: false,
  window: null,
  rope: null,
  alibi: null,
  qkNorm: null,
  clip: null,
  softcap: null,
  residualScale: 1,
  norms: 'before',
  experts: null,
} as const satisfies Partial<LayerSpec>

/** T5: a bias on the scores by distance, whose table all blocks of a stack share. */
export interface RelativeBiasSpec {
  readonly buckets: number
  /** All longer distances share a bucket. */
  readonly maxDistance: number
}

export interface StackSpec {
  readonly name: 'decoder' | 'encoder'
  readonly causal: boolean
  readonly layers: readonly LayerSpec[]
  readonly relative?: RelativeBiasSpec
}

/** What is special where a decoder reads an encoder. */
export interface EncoderDecoderSpec {
  /** The token that a decoder's text begins with. */
  readonly start: number
  /** Rows of the encoder's token table. */
  readonly sourceVocab: number
}

export interface ModelSpec {
  readonly family: string
  readonly dModel: number
  readonly dVocab: number
  /** Positions: rows of the learned table (a hard limit), or max_position_embeddings (a warning beyond). */
  readonly nCtx: number
  readonly positional: 'learned' | 'rotary' | 'alibi' | 'relative' | 'sinusoidal'
  readonly norm: NormSpec
  readonly ropes: readonly RopeSpec[]
  readonly tied: boolean
  readonly stacks: readonly StackSpec[]
  /** Token embeddings are multiplied by this. */
  readonly embedScale: number
  /** Logits are multiplied by `scale`, then capped: cap · tanh(logits / cap). */
  readonly logits: { readonly scale: number; readonly softcap: number | null }
  /** Rows of the token type table (BERT); null: the model knows no token types. */
  readonly tokenTypes: number | null
  /** The unembedding stands behind a dense layer with activation and norm (BERT), so logits are not linear in the residual. */
  readonly headTransform: boolean
  /** Present where the first stack is an encoder that the last one reads. */
  readonly encoderDecoder?: EncoderDecoderSpec
}

/** The switches of a plain model around its blocks. */
export const PLAIN_MODEL = {
  ropes: [],
  embedScale: 1,
  logits: { scale: 1, softcap: null },
  tokenTypes: null,
  headTransform: false,
} as const satisfies Partial<ModelSpec>

/** Whether a rope multiplies cos and sin, and by what. */
export function ropeAttention(rope: RopeSpec): number {
  return 'attention' in rope.scaling ? rope.scaling.attention : 1
}

/** The stack that makes the logits: a decoder, or the encoder of a masked language model. */
export function decoderOf(spec: ModelSpec): StackSpec {
  return spec.stacks.at(-1)!
}

/** The stack that a decoder reads, or null. */
export function encoderOf(spec: ModelSpec): StackSpec | null {
  return spec.encoderDecoder ? spec.stacks[0]! : null
}

/** What stands before the hook names of the last stack: `decoder.` beside an encoder, else nothing. */
export function hookPrefix(spec: ModelSpec): '' | 'decoder.' {
  return spec.encoderDecoder ? 'decoder.' : ''
}
