/** The strongest cells of a sweep as a list with signed bars. A click opens the cell. */
import { signedWeight } from '../../state/format.ts'
import { SignedBar } from '../../ui/bars.tsx'
import { columnOf } from './cells.ts'

interface Placed {
  readonly layer: number
  readonly head?: number
  readonly pos?: number
}

interface Props<C extends Placed> {
  readonly title: string
  readonly says: string
  /** What the numbers are and where they come from, for a hint. */
  readonly about: string
  readonly cells: readonly C[]
  readonly read: (cell: C) => number | null
  readonly most: number
  readonly name: (cell: C) => string
  readonly selected: { readonly layer: number; readonly column: number } | null
  readonly onPick: (layer: number, column: number) => void
}

const SHOWN = 60

export function StrongestCells<C extends Placed>(props: Props<C>) {
  const { title, says, about, cells, read, most, name, selected, onPick } = props
  return (
    <section className="strongest" aria-label={title}>
      <h3 className="pane-title">
        {title} <span title={says}>{says}</span>
      </h3>
      <ol className="ranked-list">
        {cells.slice(0, SHOWN).map((cell) => {
          const column = columnOf(cell)
          const on = selected?.layer === cell.layer && selected.column === column
          const value = read(cell) ?? 0
          return (
            <li key={`${cell.layer}.${column}`}>
              <button
                type="button"
                className={on ? 'effect-line is-selected' : 'effect-line'}
                aria-pressed={on}
                title={about}
                onClick={() => onPick(cell.layer, column)}
              >
                <span className="token-text clip">{name(cell)}</span>
                <SignedBar value={value} most={most} />
                <span className="number">{signedWeight(value)}</span>
              </button>
            </li>
          )
        })}
      </ol>
      {cells.length > SHOWN && (
        <p className="muted small-text">
          The first {SHOWN} of {cells.length}.
        </p>
      )}
    </section>
  )
}
