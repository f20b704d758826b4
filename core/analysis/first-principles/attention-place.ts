/**
 * Which attention a head belongs to, and what its steps are called there. In: a layer's facts and whether the head looks at
 * the source. Out: names inside the block. A decoder that reads an encoder looks at its own text first, then at the source:
 * queries from what stands there then, keys and values from what the encoder handed over; nothing is masked.
 */
import type { LayerSpec } from '../../graph/model-spec.ts'
import type { AttentionKind } from '../graph-values.ts'

export interface HeadPlace {
  readonly layer: number
  readonly head: number
  /** A head over the source that a decoder's encoder read; absent: over its own text. */
  readonly cross?: boolean
}

export interface AttentionNames {
  readonly kind: AttentionKind
  /** The residual that its queries are made of. */
  readonly before: string
  readonly norm: string
  /** What the attention adds, and what stands after the sum (after the block where it is parallel). */
  readonly out: string
  readonly after: string
}

/** Names of the hooks around a block's attention, or around its cross-attention. */
export function attentionNames({ parallel }: LayerSpec, cross = false): AttentionNames {
  if (cross)
    return {
      kind: 'cross_attn',
      before: 'hook_resid_mid',
      norm: 'ln_cross.hook_normalized',
      out: 'hook_cross_attn_out',
      after: 'hook_resid_mid_cross',
    }
  return {
    kind: 'attn',
    before: 'hook_resid_pre',
    norm: 'ln1.hook_normalized',
    out: 'hook_attn_out',
    after: parallel ? 'hook_resid_post' : 'hook_resid_mid',
  }
}
