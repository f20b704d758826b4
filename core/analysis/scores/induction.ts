/** Strict induction on repeated random tokens: A B … A attends to B. */
import { rowsOf } from '../sequences.ts'
import type { PatternScore } from './score.ts'

export const induction: PatternScore = {
  name: 'induction',
  title: 'Induction',
  definition:
    'Mean attention from each token of the second copy to the token after its first occurrence: mean over queries q of the second copy of A[q, q − L + 1], over sequences [BOS?, r₁…r_L, r₁…r_L] of random tokens drawn without replacement.',
  kind: 'pattern',
  sequences: 'repeats',
  needs: [],
  places: ({ offset, length, ids }) => rowsOf(offset + length, ids.length, (query) => [query - length + 1]),
}
