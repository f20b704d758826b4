/** Attention to the token before. */
import { rowsOf } from '../sequences.ts'
import type { PatternScore } from './score.ts'

export const previousToken: PatternScore = {
  name: 'previous_token',
  title: 'Previous token',
  definition:
    'Mean attention from each token to the one before it: mean over queries q = 1 + o … T − 1 of A[q, q − 1], where o is 1 with BOS (so that attention to BOS itself does not count) and 0 without, on repeated random tokens.',
  kind: 'pattern',
  sequences: 'repeats',
  needs: [],
  places: ({ offset, ids }) => rowsOf(1 + offset, ids.length, (query) => [query - 1]),
}
