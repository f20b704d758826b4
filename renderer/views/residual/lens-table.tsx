/**
 * Block borders upwards, positions to the right; each cell is the likeliest next token there. Arrows walk, a click
 * chooses, shift-click chooses the cell to compare with, a cell is dragged onto a cell of another table.
 */
import { type DragEvent, type KeyboardEvent, memo, useMemo } from 'react'
import type { LensCell } from '../../../core/analysis/lens.ts'
import type { LensReply } from '../../../core/api/contract.ts'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import { weightColor, weightInk } from '../../charts/color.ts'
import { preciseWeight } from '../../state/format.ts'
import { setHover, useHover } from '../../state/store.ts'
import { type Theme, useTheme } from '../../state/theme.ts'
import { borderName, type Place, placeName, reaches, samePlace } from './cells.ts'

export type LensColour = 'probability' | 'entropy' | 'loss' | 'answer' | 'rank'

export interface LensTableProps {
  readonly label: string
  readonly lens: LensReply
  readonly views: readonly TokenView[]
  readonly vocab: number
  readonly colour: LensColour
  readonly selected: Place | null
  /** A position that is marked and in view where no cell is chosen. */
  readonly locked?: number | null
  /** The cell that the selected one is compared with, where it is of this table. */
  readonly since?: Place | null
  /** A cell that was set: what it cannot reach is shaded. */
  readonly cone?: Place | null
  readonly causal: boolean
  /** Names of cells that say something else than before. */
  readonly changed?: ReadonlySet<string> | null
  /** Positions are those of the selected prompt: hover is shared with the rest of the window. */
  readonly shared: boolean
  readonly onPick: (place: Place | null, compare: boolean) => void
  readonly onDrag?: (place: Place) => void
  /** Takes a cell that is dragged or carried here. */
  readonly onDrop?: (place: Place) => void
  /** Whether a click drops what is carried. */
  readonly awaiting?: boolean
}

const MOST_LOSS = 8

export function LensTable(props: LensTableProps) {
  const { label, lens, selected, shared, onPick, onDrop, awaiting = false } = props
  const theme = useTheme()
  const rows = useMemo(() => [...lens.layers].sort((a, b) => b.layer - a.layer), [lens])
  const last = rows[0]?.layer ?? 0
  const positions = rows[0]?.positions.map((cell) => cell.pos) ?? []
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowUp: [1, 0], ArrowDown: [-1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key]
    if (!step) return
    const border = Math.min(last, Math.max(0, (selected?.border ?? last) + step[0]!))
    const at = Math.max(0, positions.indexOf(selected?.pos ?? positions[0] ?? 0))
    const pos = positions[Math.min(positions.length - 1, Math.max(0, at + step[1]!))] ?? 0
    onPick({ border, pos }, event.shiftKey)
    event.preventDefault()
    event.stopPropagation()
    event.currentTarget.querySelector<HTMLElement>(`[data-cell="${border}.${pos}"]`)?.focus()
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: arrows move between the buttons inside
    <div
      ref={bringIntoView}
      className={awaiting ? 'lens-scroll is-awaiting' : 'lens-scroll'}
      onKeyDown={onKeyDown}
      onPointerLeave={() => shared && setHover(null, null)}
      {...(onDrop
        ? {
            onDragOver: (event: DragEvent) => event.preventDefault(),
            onDrop: (event: DragEvent) => {
              event.preventDefault()
              const name = (event.target as HTMLElement).closest<HTMLElement>('[data-cell]')?.dataset.cell
              const [border, pos] = (name ?? '').split('.').map(Number)
              if (border !== undefined && pos !== undefined && name) onDrop({ border, pos })
            },
          }
        : {})}
    >
      <table className="lens" aria-label={label}>
        <Head
          views={props.views}
          positions={positions}
          locked={selected?.pos ?? props.locked ?? null}
          shared={shared}
        />
        <Body {...props} rows={rows} last={last} first={positions[0] ?? 0} theme={theme} />
      </table>
    </div>
  )
}

/** Listens to the hover by itself, so that the cells do not render again. */
function Head(props: {
  views: readonly TokenView[]
  positions: readonly number[]
  locked: number | null
  shared: boolean
}) {
  const { views, positions, locked, shared } = props
  const over = useHover()
  return (
    <thead>
      <tr>
        <th scope="col" className="lens-corner">
          border
        </th>
        {positions.map((pos) => (
          <th
            key={pos}
            scope="col"
            className={`${pos === locked ? 'is-locked' : ''}${shared && pos === over.query ? ' is-hovered' : ''}`}
          >
            <i>{pos}</i>
            <span className="token-text">{views[pos]?.text}</span>
          </th>
        ))}
      </tr>
    </thead>
  )
}

interface BodyProps extends LensTableProps {
  readonly rows: LensReply['layers']
  readonly last: number
  readonly first: number
  readonly theme: Theme
}

const Body = memo(function Body(props: BodyProps) {
  const { lens, views, vocab, colour, selected, since, cone, causal, changed, shared, rows, last } = props
  const { onPick, onDrag, onDrop, awaiting, first, theme } = props
  return (
    <tbody>
      {rows.map(({ layer, positions: cells }) => (
        <tr key={layer}>
          <th scope="row">{borderName(layer, last)}</th>
          {cells.map((cell) => {
            const place = { border: layer, pos: cell.pos }
            const t = cellPosition(cell, colour, vocab)
            const top = cell.top[0]
            const word = top ? (lens.words[top.id]?.text ?? String(top.id)) : '∅'
            const classes = [
              'lens-cell token-text',
              t === null && 'is-undefined',
              samePlace(place, selected) && 'is-selected',
              samePlace(place, since ?? null) && 'is-since',
              samePlace(place, cone ?? null) && 'is-carried',
              cone && !reaches(cone, place, causal) && 'is-outside',
              changed?.has(placeName(place)) && 'is-changed',
              top !== undefined && top.id === views[cell.pos + 1]?.id && 'is-right',
            ]
            return (
              <td key={cell.pos}>
                <button
                  type="button"
                  data-cell={placeName(place)}
                  tabIndex={
                    layer === (selected?.border ?? last) && cell.pos === (selected?.pos ?? first) ? 0 : -1
                  }
                  className={classes.filter(Boolean).join(' ')}
                  style={t === null ? {} : { background: weightColor(theme, t), color: weightInk(theme, t) }}
                  title={describe(cell, lens)}
                  draggable={onDrag !== undefined}
                  onDragStart={(event) => {
                    event.dataTransfer.setData('text/plain', word)
                    onDrag?.(place)
                  }}
                  onPointerEnter={() => shared && setHover(cell.pos, null)}
                  onClick={(event) => {
                    if (awaiting && onDrop) onDrop(place)
                    else onPick(!event.shiftKey && samePlace(place, selected) ? null : place, event.shiftKey)
                  }}
                >
                  {word}
                </button>
              </td>
            )
          })}
        </tr>
      ))}
    </tbody>
  )
})

/** A locked position is in view from the start. */
function bringIntoView(host: HTMLDivElement | null): void {
  const column = host?.querySelector<HTMLElement>('th.is-locked')
  if (host && column) host.scrollLeft = Math.max(0, column.offsetLeft - host.clientWidth / 2)
}

/** Where a cell stands on the ramp; null: it has no such value. Rank: 1 is the likeliest, on a log scale. */
export function cellPosition(cell: LensCell, colour: LensColour, vocab: number): number | null {
  if (colour === 'answer') return cell.prob
  if (colour === 'rank') return cell.rank === null ? null : 1 - Math.log(cell.rank + 1) / Math.log(vocab)
  if (colour === 'entropy') return cell.entropy === null ? null : cell.entropy / Math.log(vocab)
  if (colour === 'loss') return cell.loss === null ? null : Math.min(1, cell.loss / MOST_LOSS)
  return cell.top[0]?.prob ?? null
}

function describe(cell: LensCell, lens: LensReply): string {
  const top = cell.top.map(
    (t) => `${lens.words[t.id]?.text ?? t.id}  ${t.prob === null ? 'undefined' : preciseWeight(t.prob)}`,
  )
  const facts = [
    cell.entropy === null ? '' : `entropy ${cell.entropy.toFixed(2)} nats`,
    cell.loss === null ? '' : `loss ${cell.loss.toFixed(2)} nats`,
    cell.rank === null ? '' : `answer at rank ${cell.rank + 1}`,
  ]
  return [...top, ...facts.filter(Boolean)].join('\n')
}
