/** Tokens and learned positions → the residual stream that enters block 0. */
import type { Builder, Value } from './builder.ts'

export interface EmbedWeights {
  readonly tokens: string // [d_vocab, d_model]
  readonly positions?: string // [rows, d_model]
}

/** Inputs `ids` and `positions` [batch, pos]. Hooks: hook_embed, hook_pos_embed [batch, pos, d_model]. */
export function embed(g: Builder, weights: EmbedWeights): Value {
  const axes = ['batch', 'pos', 'd_model'] as const
  const ids = g.input('ids', 'i64', ['batch', 'pos'])
  const tokens = g.hook(
    'hook_embed',
    g.op('Gather', [g.weight(weights.tokens, ['d_vocab', 'd_model']), ids], axes),
  )
  if (!weights.positions) return tokens
  const positions = g.input('positions', 'i64', ['batch', 'pos'])
  const table = g.weight(weights.positions, ['pos', 'd_model'])
  const placed = g.hook('hook_pos_embed', g.op('Gather', [table, positions], axes))
  return g.op('Add', [tokens, placed], axes)
}
