/**
 * Logits of a few tokens only: the unembedding with the rows of its matrix gathered first. Costs tokens · d_model a row
 * in place of d_vocab · d_model, and never reads the rest of the matrix.
 */
import type { Graph, Node } from '../graph/builder.ts'
import type { Dense } from './dense.ts'
import { type Engine, runSegment, type Variant } from './engine.ts'
import { stateInput } from './segments.ts'
import { asFloats, type Feed } from './session.ts'

/** Input that names the asked tokens. */
export const TOKENS = 'tokens'

/** resid [batch, rows, d_model] → [batch, rows, tokens], as the whole logits have them. */
export async function tokenLogits(engine: Engine, resid: Dense, tokens: readonly number[]): Promise<Dense> {
  const variant: Variant = {
    key: 'tokens',
    onPath: [],
    transform: (graph) => askingTokens(graph, engine.matrix),
  }
  const feeds = new Map<string, Feed>([
    [stateInput('resid'), resid],
    [TOKENS, tokensFeed(tokens)],
  ])
  return asFloats((await runSegment(engine, 'unembed', ['logits'], [], feeds, variant)).get('logits')!)
}

/** Token ids as an input, [tokens] int64. */
export function tokensFeed(tokens: readonly number[]): Feed {
  return { data: BigInt64Array.from(tokens, BigInt), shape: [tokens.length] }
}

/** The graph with only the asked rows of the matrix [d_vocab, d_model] and entries of biases, [d_vocab] along their last axis. */
export function askingTokens(graph: Graph, matrix: string): Graph {
  const whole = graph.weights.filter(
    ({ id, tensor }) => tensor === matrix || graph.axes.get(id)?.join() === 'd_vocab',
  )
  const names = new Map(whole.map(({ id }) => [id, `${id}.asked`]))
  const gathers = whole.map(
    ({ id, tensor }): Node => ({
      op: 'Gather',
      domain: '',
      inputs: [id, TOKENS],
      outputs: [names.get(id)!],
      attributes: { axis: tensor === matrix ? 0n : -1n }, // BART's bias is [1, d_vocab]
    }),
  )
  const nodes = graph.nodes.map((node) => ({
    ...node,
    inputs: node.inputs.map((input) => names.get(input) ?? input),
  }))
  return {
    ...graph,
    nodes: [...gathers, ...nodes],
    inputs: [...graph.inputs, { name: TOKENS, dtype: 'i64', rank: 1 }],
  }
}
