/** The variance of query · key against d_head, what independent unit-variance coordinates would give. */
import { rowsOf } from '../sequences.ts'
import type { PatternScore } from './score.ts'

export const scoreVariance: PatternScore = {
  name: 'score_variance',
  title: 'Score variance / d_head',
  definition:
    'Variance of query · key over the visible keys of a row (n − 1), divided by d_head; mean over queries with two or more visible keys. 1 is what independent coordinates of variance 1 give. Taken from the scores before the softmax, with their scale divided out. On repeated random tokens.',
  kind: 'pattern',
  sequences: 'repeats',
  needs: ['scores'],
  places: ({ ids }) => rowsOf(1, ids.length, () => []),
  absent(layer) {
    if (layer.softcap !== null)
      return 'the scores of this model are capped, so their variance is not that of q · k'
    if (layer.alibi)
      return 'the scores of this model hold ALiBi’s term, so their variance is not that of q · k'
    return null
  },
  measure({ scores, from, stride, spec }, { query }) {
    const row = from + query * stride
    let [n, mean, squares] = [0, 0, 0]
    for (let at = row; at <= row + query; at++) {
      const score = scores![at]!
      if (!Number.isFinite(score) || score <= -3e38) continue // masked by a window
      n++
      const step = score - mean
      mean += step / n
      squares += step * (score - mean)
    }
    return n < 2 ? null : squares / (n - 1) / (spec.scoreScale ** 2 * spec.dHead)
  },
}
