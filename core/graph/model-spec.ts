/**
 * What a family makes of a config: sizes and switches, no tensors. A model is one or more stacks of blocks;
 * every layer says its own geometry, so that alternating windows, bases and widths need nothing special.
 */

export type Activation = 'relu' | 'gelu' | 'gelu_tanh' | 'silu'

export interface NormSpec {
  readonly kind: 'layer' | 'rms'
  readonly eps: number
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
}

export interface StackSpec {
  readonly name: 'decoder' | 'encoder'
  readonly causal: boolean
  readonly layers: readonly LayerSpec[]
}

export interface ModelSpec {
  readonly family: string
  readonly dModel: number
  readonly dVocab: number
  /** Positions: rows of the learned table (a hard limit), or max_position_embeddings (a warning beyond). */
  readonly nCtx: number
  readonly positional: 'learned' | 'rotary'
  readonly norm: NormSpec
  readonly ropes: readonly RopeSpec[]
  readonly tied: boolean
  readonly stacks: readonly StackSpec[]
}

/** The stack that makes the logits. */
export function decoderOf(spec: ModelSpec): StackSpec {
  return spec.stacks.at(-1)!
}
