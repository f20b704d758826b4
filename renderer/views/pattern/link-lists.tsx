/** Where one query looks, and who looks at one key: the row and the column of the hovered or locked cell, as bars. */
import type { ReactNode } from 'react'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import type { Pattern } from '../../api/pattern.ts'
import { shownWeight } from '../../charts/pattern-pixels.ts'
import { preciseWeight } from '../../state/format.ts'
import type { BosMode } from '../../state/selection.ts'
import { setHover, toggleCell, useHover, useSelection } from '../../state/store.ts'

interface Props {
  readonly pattern: Pattern
  readonly tokens: readonly TokenView[]
  readonly bos: BosMode
  readonly rows: number
  /** Stands below the lists. */
  readonly children?: ReactNode
}

export function LinkLists({ pattern, tokens, bos, rows, children }: Props) {
  const over = useHover()
  const lockedQuery = useSelection((s) => s.query)
  const lockedKey = useSelection((s) => s.key)
  const query = lockedQuery ?? over.query ?? pattern.size - 1
  const key = lockedKey ?? over.key
  const safeQuery = Math.min(query, pattern.size - 1)
  const row = strongest(pattern.size, rows, (k) => shownWeight(pattern, safeQuery, k, bos))
  const column =
    key === null || key >= pattern.size
      ? null
      : strongest(pattern.size, rows, (q) => shownWeight(pattern, q, key, bos))
  return (
    <div className="link-lists">
      <section aria-label="Where the query looks">
        <h4>
          query {safeQuery} <q>{tokens[safeQuery]?.text}</q> looks at
        </h4>
        <List
          items={row}
          tokens={tokens}
          onPick={(k) => toggleCell(safeQuery, k)}
          onOver={(k) => setHover(safeQuery, k)}
        />
      </section>
      <section aria-label="Who looks at the key">
        {column === null || key === null ? (
          <h4 className="muted">hover a cell: who looks at its key</h4>
        ) : (
          <>
            <h4>
              key {key} <q>{tokens[key]?.text}</q> is seen by
            </h4>
            <List
              items={column}
              tokens={tokens}
              onPick={(q) => toggleCell(q, key)}
              onOver={(q) => setHover(q, key)}
            />
          </>
        )}
      </section>
      <div className="link-foot">{children}</div>
    </div>
  )
}

interface Item {
  readonly at: number
  readonly weight: number
}

function List(props: {
  items: readonly Item[]
  tokens: readonly TokenView[]
  onPick(i: number): void
  onOver(i: number): void
}) {
  const { items, tokens, onPick, onOver } = props
  return (
    <ol className="links">
      {items.map(({ at, weight }) => (
        <li key={at}>
          <button
            type="button"
            className="link-row"
            onClick={() => onPick(at)}
            onPointerEnter={() => onOver(at)}
            onPointerLeave={() => setHover(null, null)}
          >
            <span className="index">{at}</span>
            <span className="token-text">{tokens[at]?.text}</span>
            <span className="bar">
              <span className="bar-fill" style={{ width: `${Math.min(100, weight * 100)}%` }} />
            </span>
            <span className="number">{preciseWeight(weight)}</span>
          </button>
        </li>
      ))}
    </ol>
  )
}

/** The largest weights of a row or column, falling; what is hidden or does not exist is left out. */
export function strongest(size: number, count: number, weight: (i: number) => number | null): Item[] {
  const items: Item[] = []
  for (let at = 0; at < size; at++) {
    const w = weight(at)
    if (w !== null) items.push({ at, weight: w })
  }
  return items.sort((a, b) => b.weight - a.weight || a.at - b.at).slice(0, count)
}
