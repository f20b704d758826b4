/** What the colours of a pattern mean, the blank ones included. */
import { rampGradient, signedGradient } from '../../charts/color.ts'
import { preciseWeight } from '../../state/format.ts'
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

/** A signed scale from -most to +most. `most` 0: nothing differs. */
export function SignedLegend({ theme, most, log = false }: { theme: Theme; most: number; log?: boolean }) {
  if (most === 0) return <span className="legend">no difference anywhere</span>
  return (
    <span className="legend" title="Blue: more than before. Red: less. The scale is symmetric about 0.">
      <b>−{preciseWeight(most)}</b>
      <i style={{ background: signedGradient(theme) }} />
      <b>
        +{preciseWeight(most)}
        {log ? ' (log)' : ''}
      </b>
    </span>
  )
}
