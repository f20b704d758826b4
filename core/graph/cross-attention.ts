/**
 * Cross-attention: queries of the decoder, keys and values of what the encoder hands over. No causal mask; the bias
 * [batch, one, one, source] hides the encoder's padding. Nothing is rotated, so hook_rot_q and hook_rot_k are hook_q
 * and hook_k under the names by which every family has what meets in the score.
 *
 * Hooks: cross_attn.hook_q [batch, pos, head, d_head], hook_k and hook_v [batch, source, kv_head, d_head], hook_rot_q,
 * hook_rot_k, hook_attn_scores and hook_pattern [batch, head, query, source], hook_z, hook_result.
 */
import { attend, headsFirst, splitHeads } from './attention.ts'
import type { Builder, Graph, Value } from './builder.ts'
import type { LinearWeights } from './linear.ts'
import type { LayerSpec } from './model-spec.ts'

/** Name of the input that hides the encoder's padding. */
export const CROSS_BIAS = 'cross_bias'

/** The part of a decoder's state that its encoder made: read by every block, changed by none. */
export const MEMORY = 'memory'
export const MEMORY_AXES = ['batch', 'source', 'd_model'] as const

/** Results that hold a block's keys and values of the text [batch, kv_head, source, d_head], and where they are fed again. */
export const CROSS_PAST = [
  { part: 'k', result: 'cross_k', input: 'past_cross_k' },
  { part: 'v', result: 'cross_v', input: 'past_cross_v' },
] as const

/** Hooks whose edit or capture needs the keys and values to be computed anew. */
const MADE_FROM_MEMORY = /cross_attn\.hook_(k|v|rot_k)$/

const Q = ['batch', 'pos', 'head', 'd_head'] as const
const KV = ['batch', 'source', 'kv_head', 'd_head'] as const
const KV_T = ['batch', 'kv_head', 'source', 'd_head'] as const

/** Projected queries [batch, pos, …], keys and values [batch, source, …] → [batch, pos, d_model]. */
export function crossAttention(
  g: Builder,
  layer: LayerSpec,
  projected: { readonly q: Value; readonly k: Value; readonly v: Value },
  output: LinearWeights,
): Value {
  const { nHeads, nKvHeads, dHead } = layer
  const bias = g.input(CROSS_BIAS, 'f32', ['batch', 'one', 'one', 'source'])
  const q = g.hook('cross_attn.hook_q', splitHeads(g, projected.q, nHeads, dHead, Q))
  const k = g.hook('cross_attn.hook_k', splitHeads(g, projected.k, nKvHeads, dHead, KV))
  const v = g.hook('cross_attn.hook_v', splitHeads(g, projected.v, nKvHeads, dHead, KV))
  const rotQ = g.hook('cross_attn.hook_rot_q', q)
  const rotK = g.hook('cross_attn.hook_rot_k', k)
  const keys = headsFirst(g, rotK, KV_T)
  const values = headsFirst(g, v, KV_T)
  g.result('cross_k', keys)
  g.result('cross_v', values)
  return attend(g, layer, 'cross_attn', { q: rotQ, keys, values, bias }, output)
}

/** Whether a block may read the text's keys and values as they were computed before. */
export function mayReadPast(hooks: Iterable<string>): boolean {
  for (const hook of hooks) if (MADE_FROM_MEMORY.test(hook)) return false
  return true
}

/**
 * The block with the text's keys and values as inputs: they depend on the memory alone, so a token that is added later
 * meets the same ones, bit for bit, without two projections of the whole text.
 */
export function readingPast(graph: Graph): Graph {
  const renamed = new Map(
    CROSS_PAST.map(({ result, input }) => [graph.results.get(result)!, input as string]),
  )
  return {
    ...graph,
    inputs: [
      ...graph.inputs,
      ...CROSS_PAST.map(({ input }) => ({ name: input, dtype: 'f32' as const, rank: 4 })),
    ],
    nodes: graph.nodes.map((node) => ({ ...node, inputs: node.inputs.map((id) => renamed.get(id) ?? id) })),
    axes: new Map([...graph.axes, ...CROSS_PAST.map(({ input }) => [input, KV_T] as const)]),
  }
}
