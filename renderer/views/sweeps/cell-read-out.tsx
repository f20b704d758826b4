/** What the cell under the pointer says, in words: cells are often too small for numbers. In: the cell. Out: one line. */
import type { ReactNode } from 'react'
import type { EffectValue } from '../../charts/effect-grid.tsx'
import { signedWeight } from '../../state/format.ts'

interface Props {
  /** Its name; null: the pointer is over none. */
  readonly name: string | null
  readonly value: EffectValue
  /** What an undefined value is for want of, and more about a value. */
  readonly more?: string | undefined
  /** What an absent cell is. */
  readonly blank?: string
  /** Stands there while the pointer is elsewhere. */
  readonly children?: ReactNode
}

export function CellReadOut({ name, value, more = '', blank = 'not computed', children }: Props) {
  if (name === null) return <span className="muted small-text">{children}</span>
  return (
    <output className="small-text">
      <span className="token-text">{name}</span>{' '}
      <strong>{value === undefined ? blank : value === null ? 'undefined' : signedWeight(value)}</strong>
      {more && <span className="muted"> {more}</span>}
    </output>
  )
}
