/** Attention to the earlier copy of the same token. */
import { rowsOf } from '../sequences.ts'
import type { PatternScore } from './score.ts'

export const duplicateToken: PatternScore = {
  name: 'duplicate_token',
  title: 'Duplicate token',
  definition:
    'Mean attention from each token of the second copy to its first occurrence: mean over queries q of the second copy of A[q, q − L], on repeated random tokens.',
  kind: 'pattern',
  sequences: 'repeats',
  needs: [],
  places: ({ offset, length, ids }) => rowsOf(offset + length, ids.length, (query) => [query - length]),
}
