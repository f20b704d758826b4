/** How far the softmax is saturated: the largest weight of a row. */
import { rowsOf } from '../sequences.ts'
import type { PatternScore } from './score.ts'

export const saturation: PatternScore = {
  name: 'saturation',
  title: 'Saturation',
  definition:
    'Mean largest weight of a row: mean over queries q = 1 … T − 1 of max_k A[q, k]. Near 1 the softmax is saturated, and gradients through it are weak. On repeated random tokens.',
  kind: 'pattern',
  sequences: 'repeats',
  needs: [],
  places: ({ ids }) => rowsOf(1, ids.length, () => []),
  measure({ pattern, from, stride }, { query }) {
    const row = from + query * stride
    let largest = 0
    for (let at = row; at <= row + query; at++) if (pattern[at]! > largest) largest = pattern[at]!
    return largest
  },
}
