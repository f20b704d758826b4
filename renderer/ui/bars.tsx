/** Numbers as bars in a line of a list. In: a value and what fills the bar. */
import { preciseWeight } from '../state/format.ts'

/** From the middle to the right, or to the left below 0; `most` fills one side, and so does what is larger. */
export function SignedBar({ value, most }: { value: number; most: number }) {
  const share = most === 0 ? 0 : Math.min(1, Math.abs(value) / most)
  return (
    <span className="signed-bar">
      <span
        className={value < 0 ? 'signed-fill is-minus' : 'signed-fill'}
        style={{ width: `${share * 50}%` }}
      />
    </span>
  )
}

/** A probability or a weight with its number; `none` stands where there is no number. */
export function ProbabilityBar({
  value,
  look,
  none = '',
}: {
  value: number | null
  look: 'base' | 'ablated'
  none?: string
}) {
  if (value === null) return <span className="prob prob-none">{none}</span>
  return (
    <span className={`prob prob-${look}`}>
      <span className="prob-bar" style={{ width: `${value * 100}%` }} />
      <span className="prob-number">{preciseWeight(value)}</span>
    </span>
  )
}
