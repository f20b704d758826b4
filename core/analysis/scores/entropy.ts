/** How spread a head's attention is. */
import { rowsOf } from '../sequences.ts'
import type { PatternScore } from './score.ts'

export const entropy: PatternScore = {
  name: 'entropy',
  title: 'Entropy',
  definition:
    'Mean entropy of a row in nats: mean over queries q = 1 … T − 1 of −Σ_k A[q, k] ln A[q, k]; 0 where one key has everything, ln(q + 1) where all have the same. On repeated random tokens.',
  kind: 'pattern',
  sequences: 'repeats',
  needs: [],
  places: ({ ids }) => rowsOf(1, ids.length, () => []),
  measure({ pattern, from, stride }, { query }) {
    const row = from + query * stride
    let sum = 0
    for (let at = row; at <= row + query; at++) {
      const weight = pattern[at]!
      if (weight > 0) sum -= weight * Math.log(weight)
    }
    return sum
  },
}
