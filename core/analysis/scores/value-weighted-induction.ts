/** Induction counted by what is moved, not only by where attention lies. */
import { rowsOf } from '../sequences.ts'
import type { PatternScore } from './score.ts'

export const valueWeightedInduction: PatternScore = {
  name: 'value_weighted_induction',
  title: 'Induction, value-weighted',
  definition:
    'Induction on value-weighted patterns (after Kobayashi et al. 2020): mean over queries q of the second copy of A[q, j]·|f(x_j)| / Σ_k A[q, k]·|f(x_k)| at j = q − L + 1, where f(x) = (x W_V + b_V) W_O of the normed input. Keys that hold attention but write next to nothing (sinks) no longer count.',
  caveat: (spec) =>
    spec.stacks.at(-1)!.layers.some(({ norms }) => norms === 'after' || norms === 'both')
      ? 'value_weighted_induction takes |f(x)| before the norm that this model puts on what attention writes.'
      : null,
  kind: 'pattern',
  sequences: 'repeats',
  needs: ['values'],
  places: ({ offset, length, ids }) => rowsOf(offset + length, ids.length, (query) => [query - length + 1]),
  measure({ pattern, from, stride, valueNorm }, { query, keys }) {
    const row = from + query * stride
    let total = 0
    for (let key = 0; key <= query; key++) total += pattern[row + key]! * valueNorm!(key)
    return total > 0 ? (pattern[row + keys[0]!]! * valueNorm!(keys[0]!)) / total : null
  },
}
