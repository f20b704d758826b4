/**
 * The induction view of one prompt. In: its A B … A places and the stored patterns. Out: what every head does at those
 * places. Reads only the cells that it needs: heads × places.
 */
import type { Score } from '../../analysis/types.ts'
import type { InductionView } from '../contract.ts'
import type { StoredHead } from './workspace-writes.ts'

/** `prefix_matching` is the mean over queries that have targets of the summed weight on them. */
export function inductionView(pairs: InductionView['pairs'], heads: Iterable<StoredHead>): InductionView {
  const queries = new Set(pairs.map(({ query }) => query)).size
  const rows: InductionView['heads'][number][] = []
  for (const { layer, head, at } of heads) {
    const weights = pairs.map(({ query, target }) => at(query, target))
    const sum = weights.reduce((total, weight) => total + weight, 0)
    rows.push({ layer, head, weights, prefix_matching: score(queries === 0 ? null : sum / queries, queries) })
  }
  return { pairs, heads: rows }
}

function score(value: number | null, rows: number): Score {
  const why =
    value === null
      ? 'no token of this prompt occurs a second time with a token after its first'
      : 'one prompt: an interval needs 5 sequences'
  return { value, n: value === null ? 0 : 1, rows, low: null, high: null, why }
}
