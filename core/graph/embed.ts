/** Tokens, token types and learned positions → the residual stream that enters block 0. */
import type { Builder, Value } from './builder.ts'
import { type LinearWeights, linear } from './linear.ts'
import type { NormSpec } from './model-spec.ts'
import { type NormWeights, norm } from './norm.ts'
import { scaled } from './scale.ts'

/** Name of the input of sinusoidal positions. */
export const SINUSOIDS = 'sinusoids'

export interface EmbedWeights {
  readonly tokens: string // [d_vocab, d_model]
  /** Multiplies token embeddings; hook_embed is after it. */
  readonly scale?: number
  /** A projection of token embeddings that are narrower than the residual stream; hook_embed is after it. */
  readonly project?: LinearWeights | undefined
  readonly types?: string // [types, d_model]
  readonly positions?: string // [offset + rows, d_model]
  /** Row of position 0 (OPT: 2). */
  readonly offset?: number
  /** Sines and cosines of positions in place of a table: the input `sinusoids` [one, pos, d_model]. */
  readonly sinusoids?: boolean
  /** A norm of the sum. */
  readonly norm?: { readonly spec: NormSpec; readonly weights: NormWeights }
}

/**
 * Inputs `ids`, `positions` and `token_types` [batch, pos]. Hooks: hook_embed, hook_token_type_embed, hook_pos_embed
 * [batch, pos, d_model], each as added; embed.ln.hook_scale, embed.ln.hook_normalized.
 */
export function embed(g: Builder, weights: EmbedWeights): Value {
  const axes = ['batch', 'pos', 'd_model'] as const
  const lookUp = (table: string, indices: Value) =>
    g.op('Gather', [g.weight(table, ['d_vocab', 'd_model']), indices], axes)
  let tokens = lookUp(weights.tokens, g.input('ids', 'i64', ['batch', 'pos']))
  if (weights.project) tokens = linear(g, tokens, weights.project, 'd_model')
  let sum = g.hook('hook_embed', scaled(g, tokens, weights.scale ?? 1))
  if (weights.types) {
    const types = lookUp(weights.types, g.input('token_types', 'i64', ['batch', 'pos']))
    sum = g.op('Add', [sum, g.hook('hook_token_type_embed', types)], axes)
  }
  if (weights.positions) {
    const positions = g.input('positions', 'i64', ['batch', 'pos'])
    const rows = weights.offset
      ? g.op('Add', [positions, g.ints([weights.offset])], positions.axes)
      : positions
    sum = g.op('Add', [sum, g.hook('hook_pos_embed', lookUp(weights.positions, rows))], axes)
  }
  if (weights.sinusoids) {
    const waves = g.input(SINUSOIDS, 'f32', ['one', 'pos', 'd_model'])
    sum = g.op('Add', [sum, g.hook('hook_pos_embed', waves)], axes)
  }
  return weights.norm ? norm(g, 'embed.ln', sum, weights.norm.spec, weights.norm.weights) : sum
}
