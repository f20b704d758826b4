/** What the colours of a pattern mean, the blank ones included. */
import { rampGradient } from '../../charts/color.ts'
import type { Theme } from '../../state/theme.ts'

export function Legend({ theme, log }: { theme: Theme; log: boolean }) {
  return (
    <span
      className="legend"
      title="Colour is the attention weight. Blank cells do not exist: a token does not see later ones."
    >
      <i className="legend-blank" /> not visible
      <b>{log ? '≤ 0.0001' : '0'}</b>
      <i style={{ background: rampGradient(theme) }} />
      <b>1{log ? ' (log)' : ''}</b>
    </span>
  )
}
