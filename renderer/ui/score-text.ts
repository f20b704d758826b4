/** What a score is, in words: for hints and accessible names. */
import type { Score } from '../../core/analysis/types.ts'
import { preciseWeight } from '../state/format.ts'

/** `0.93 [0.91, 0.95]`, or why there is no value. */
export function scoreText(score: Score | undefined): string {
  if (!score) return 'not computed'
  if (score.value === null) return `undefined${score.why ? `: ${score.why}` : ''}`
  return score.low === null || score.high === null
    ? preciseWeight(score.value)
    : `${preciseWeight(score.value)} [${preciseWeight(score.low)}, ${preciseWeight(score.high)}]`
}
