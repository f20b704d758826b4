/** A score as a bar from 0 to 1 with its interval as a whisker. No value: an empty, dashed track, which is not 0. */
import type { Score } from '../../core/analysis/types.ts'

export function ScoreBar({ score }: { score: Score | undefined }) {
  if (score?.value == null) return <span className="bar bar-none" />
  const percent = (x: number) => `${Math.min(100, Math.max(0, x * 100))}%`
  return (
    <span className="bar">
      <span className="bar-fill" style={{ width: percent(score.value) }} />
      {score.low !== null && score.high !== null && (
        <span
          className="bar-whisker"
          style={{ left: percent(score.low), width: percent(score.high - score.low) }}
        />
      )}
    </span>
  )
}
