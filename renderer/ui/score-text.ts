/** What a score is, in words: for hints and accessible names. */
import type { Score } from '../../core/analysis/types.ts'
import { formatWeight } from '../state/rank.ts'

/** `0.93 [0.91, 0.95]`, or why there is no value. */
export function scoreText(score: Score | undefined): string {
  if (!score) return 'not computed'
  if (score.value === null) return `undefined${score.why ? `: ${score.why}` : ''}`
  return score.low === null || score.high === null
    ? formatWeight(score.value)
    : `${formatWeight(score.value)} [${formatWeight(score.low)}, ${formatWeight(score.high)}]`
}
