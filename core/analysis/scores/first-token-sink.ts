/** Attention to the first position, where heads rest. */
import { rowsOf } from '../sequences.ts'
import type { PatternScore } from './score.ts'

export const firstTokenSink: PatternScore = {
  name: 'first_token_sink',
  title: 'First-token sink',
  definition:
    'Mean attention to position 0 over all queries, row 0 included (where it is 1): mean over q = 0 … T − 1 of A[q, 0], on repeated random tokens.',
  kind: 'pattern',
  sequences: 'repeats',
  needs: [],
  places: ({ ids }) => rowsOf(0, ids.length, () => [0]),
}
