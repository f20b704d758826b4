/** What the colours of a pattern mean, the blank ones included. */
import { leftOutColor, rampGradient, signedGradient } from '../../charts/color.ts'
import { preciseWeight } from '../../state/format.ts'
import type { Form } from '../../state/selection.ts'
import type { Theme } from '../../state/theme.ts'
import type { Unit } from './use-derived.ts'

interface Props {
  readonly theme: Theme
  readonly log?: boolean
  /** The end of the scale. */
  readonly most: number
  readonly unit: Unit
  /** Words of a text have no blank cells: those that are not seen are grey. Arcs have no colours to explain. */
  readonly form?: Exclude<Form, 'arcs'>
}

export function Legend({ theme, log = false, most, unit, form = 'matrix' }: Props) {
  return (
    <span
      className="legend"
      title={`${unit.definition}\n${form === 'text' ? 'Grey words are not seen' : 'Blank cells do not exist'}: a token does not see later ones.`}
    >
      {form === 'text' ? 'grey: not visible' : <i className="legend-blank" />}
      {form === 'matrix' && ' not visible'}
      {unit.mass !== null && form === 'matrix' && (
        <>
          <i className="legend-blank" style={{ background: leftOutColor(theme) }} /> left out
        </>
      )}
      <span className="legend-scale">
        <b>{log ? `≤ ${preciseWeight(most / 10_000)}` : '0'}</b>
        <i style={{ background: rampGradient(theme) }} />
        <b>
          {most === 1 ? '1' : preciseWeight(most)}
          {log ? ' (log)' : ''}
        </b>
      </span>
      {most !== 1 && <span>{unit.label}</span>}
    </span>
  )
}

type SignedProps = Omit<Props, 'unit'> &
  Partial<Props> & {
    /** Whether it is edits that are compared. */
    readonly edited?: boolean
  }

/** A signed scale from -most to +most. `most` 0: nothing differs. */
export function SignedLegend({ theme, log = false, most, unit, edited = false }: SignedProps) {
  if (most === 0)
    return (
      <span
        className="legend is-words"
        title="An edit changes what is computed after it, in its own layer and in later ones."
      >
        {edited ? 'no difference: the edits leave this pattern as it is' : 'no difference anywhere'}
      </span>
    )
  return (
    <span
      className="legend"
      title={`Blue: more than before. Red: less. The scale is symmetric about 0.${unit ? `\n${unit.definition}` : ''}`}
    >
      <b>−{preciseWeight(most)}</b>
      <i style={{ background: signedGradient(theme) }} />
      <b>
        +{preciseWeight(most)}
        {log ? ' (log)' : ''}
      </b>
    </span>
  )
}
