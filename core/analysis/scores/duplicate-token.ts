/** Attention to the earlier copy of the same token. */
import type { RepeatScore } from './score.ts'

export const duplicateToken: RepeatScore = {
  name: 'duplicate_token',
  title: 'Duplicate token',
  definition:
    'Mean attention from each token of the second copy to its first occurrence: mean over queries q of the second copy of A[q, q − L], on repeated random tokens.',
  firstRow: ({ offset, length }) => offset + length,
  key: (query, { length }) => query - length,
}
