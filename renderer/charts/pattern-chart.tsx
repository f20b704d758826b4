/**
 * A pattern with labelled axes: rows are queries, columns are keys. Hover previews a cell, a click locks it, again
 * unlocks; wheel zooms, dragging pans. Everything about cells goes through the shared hover and selection.
 */
import { type KeyboardEvent, type PointerEvent, type ReactNode, useCallback, useRef } from 'react'
import type { TokenView } from '../../core/checkpoint/types.ts'
import type { Pattern } from '../api/pattern.ts'
import { hover, select, setHover, toggleAlso, toggleCell, useSelection } from '../state/store.ts'
import { useSize } from '../ui/use-size.ts'
import { CellNumbers, holdsNumbers } from './cell-numbers.tsx'
import { bringInto, clampView, FIT, gutter, type View, zoomAt } from './labels.ts'
import { Minimap } from './minimap.tsx'
import { AxisLabels, Crosshair } from './pattern-axes.tsx'
import { PatternCanvas } from './pattern-canvas.tsx'
import type { Display } from './pattern-pixels.ts'
import type { Reading } from './reading.ts'

interface Props {
  readonly name: string
  readonly title: string
  readonly pattern: Pattern
  /** Drawn as the difference to this one: both of one size. */
  readonly against?: Pattern | null
  /** What its cells say: printed where they are large. Absent: never. */
  readonly reading?: Reading
  readonly tokens: readonly TokenView[]
  readonly display: Display
  /** Most pixels for the labels of an axis. */
  readonly labels: number
  /** Whether the queries are labelled: the second of two beside each other has no need to. */
  readonly queryLabels?: boolean
  /** The window on the cells, shared by all that are linked. */
  readonly view: View
  readonly onView: (change: (view: View) => View) => void
  /** Stands below the cells. */
  readonly children?: ReactNode
}

const FOOT = 26 // height of what stands below
const MAP = 112 // pixels of the map of a zoomed pattern

export function PatternChart(props: Props) {
  const {
    name,
    title,
    pattern,
    against = null,
    reading,
    tokens,
    display,
    labels,
    queryLabels = true,
    children,
  } = props
  const { onView: setView } = props
  const [measure, size] = useSize<HTMLDivElement>()
  const query = useSelection((s) => s.query)
  const key = useSelection((s) => s.key)
  const drag = useRef<{ x: number; y: number; view: View; moved: boolean } | null>(null)

  const count = pattern.size
  const edge = queryLabels ? gutter(tokens, labels) : 6
  const top = gutter(tokens, labels * 0.78) // labels of keys stand upright: height is scarcer than width
  const side = Math.max(60, Math.floor(Math.min(size.width - edge - 2, size.height - top - FOOT)))
  const view = clampView(props.view, count, side)
  const cell = (side / count) * view.zoom
  const pool = cell * devicePixelRatio >= 1 ? 1 : Math.ceil(1 / (cell * devicePixelRatio))

  const cellAt = (event: { clientX: number; clientY: number; currentTarget: Element }) => {
    const box = event.currentTarget.getBoundingClientRect()
    const k = Math.floor((event.clientX - box.left) / cell + view.x)
    const q = Math.floor((event.clientY - box.top) / cell + view.y)
    const exists = q >= 0 && k >= 0 && q < count && k < count && (pattern.layout === 'full' || k <= q)
    return exists ? { q, k } : null
  }

  const onPointerMove = (event: PointerEvent) => {
    const start = drag.current
    if (start && (start.moved || Math.hypot(event.clientX - start.x, event.clientY - start.y) > 4)) {
      start.moved = true
      const moved = {
        ...start.view,
        x: start.view.x - (event.clientX - start.x) / cell,
        y: start.view.y - (event.clientY - start.y) / cell,
      }
      setView(() => clampView(moved, count, side))
      return
    }
    const at = cellAt(event)
    setHover(at?.q ?? null, at?.k ?? null)
  }

  const onPointerUp = (event: PointerEvent) => {
    const moved = drag.current?.moved
    drag.current = null
    const at = cellAt(event)
    if (moved || !at) return
    if (event.shiftKey || event.ctrlKey || event.metaKey) toggleAlso(at.q)
    else toggleCell(at.q, at.k)
  }

  /** About the locked cell where there is one, or else the one under the pointer; else about the middle. */
  const zoom = (factor: number) => {
    const over = hover.get()
    setView((v) => {
      const at = (cell: number | null, start: number) =>
        cell === null ? 0.5 : Math.min(1, Math.max(0, ((cell + 0.5 - start) * v.zoom) / count))
      const next = zoomAt(v, factor, at(key ?? over.key, v.x), at(query ?? over.query, v.y), count, side)
      return query === null || key === null ? next : bringInto(next, count, side, key, query)
    })
  }

  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key]
    if (step) {
      const q = Math.min(count - 1, Math.max(0, (query ?? count - 1) + (query === null ? 0 : step[0]!)))
      const most = pattern.layout === 'tri' ? q : count - 1
      const k = Math.min(most, Math.max(0, (key ?? most) + (key === null ? 0 : step[1]!)))
      select({ query: q, key: k }, { replace: true })
      if (view.zoom > 1) setView((v) => bringInto(v, count, side, k, q))
    } else if (event.key === 'Escape') select({ query: null, key: null, also: [] }, { replace: true })
    else if (event.key === '+' || event.key === '=') zoom(1.5)
    else if (event.key === '-') zoom(1 / 1.5)
    else if (event.key === '0') setView(() => FIT)
    else return
    event.preventDefault()
    event.stopPropagation()
  }

  // React listens to wheel passively; zooming has to keep the page still.
  const wheel = useCallback(
    (element: HTMLDivElement | null) => {
      if (!element) return undefined
      const onWheel = (event: WheelEvent) => {
        event.preventDefault()
        const box = element.getBoundingClientRect()
        const fx = (event.clientX - box.left) / box.width
        const fy = (event.clientY - box.top) / box.height
        setView((v) => zoomAt(v, Math.exp(-event.deltaY / 400), fx, fy, count, side))
      }
      element.addEventListener('wheel', onWheel, { passive: false })
      return () => element.removeEventListener('wheel', onWheel)
    },
    [count, side, setView],
  )

  const frame = { count, cell, side, view, tokens }
  const drawing = { name, pattern, against, display }
  const picture = Math.ceil(count / pool) * pool * cell
  return (
    <div className="pattern-chart" ref={measure}>
      {size.width > 0 && (
        <div className="pattern-box" style={{ width: edge + side, height: top + side + FOOT }}>
          {queryLabels && (
            <>
              <span className="axis-name" style={{ right: side + 6, top: top - 22 }}>
                query ↓
              </span>
              <span className="axis-name" style={{ right: side + 6, top: top - 35 }}>
                key →
              </span>
              <AxisLabels {...frame} axis="query" along={top} across={edge} />
            </>
          )}
          <AxisLabels {...frame} axis="key" along={edge} across={top} />
          <div
            className="pattern-window"
            style={{
              left: edge,
              top,
              width: side,
              height: side,
              cursor: view.zoom > 1 ? 'grab' : 'crosshair',
            }}
            ref={wheel}
            role="application"
            // biome-ignore lint/a11y/noNoninteractiveTabindex: arrows move the locked cell
            tabIndex={0}
            aria-label={`${title}: rows are queries, columns are keys. Arrow keys move the locked cell, Escape unlocks, plus and minus zoom.`}
            onPointerDown={(event) => {
              if (event.button !== 0) return
              drag.current = { x: event.clientX, y: event.clientY, view, moved: false }
              event.currentTarget.setPointerCapture(event.pointerId)
            }}
            onPointerMove={onPointerMove}
            onPointerUp={onPointerUp}
            onPointerLeave={() => setHover(null, null)}
            onKeyDown={onKeyDown}
          >
            <div
              className="pattern-canvas"
              style={{ left: -view.x * cell, top: -view.y * cell, width: picture, height: picture }}
            >
              <PatternCanvas {...drawing} pool={pool} />
            </div>
            {reading && holdsNumbers(cell, reading.signed) && (
              <CellNumbers
                reading={reading}
                theme={display.theme}
                log={display.log}
                view={view}
                cell={cell}
                side={side}
              />
            )}
            <Crosshair {...frame} />
          </div>
          {view.zoom > 1 && (
            <Minimap
              drawing={{ ...drawing, pool: Math.ceil(count / MAP) }}
              count={count}
              view={view}
              top={top + 6}
              right={6}
              size={Math.min(MAP, side / 3)}
              onMove={(x, y) => setView((v) => clampView({ ...v, x, y }, count, side))}
              onFit={() => setView(() => FIT)}
            />
          )}
          <div className="pattern-foot" style={{ top: top + side + 5 }}>
            {children}
          </div>
        </div>
      )}
    </div>
  )
}
