/** Labels and crosshair of a pattern chart. They listen to the hover themselves, so that the chart does not render again. */
import type { TokenView } from '../../core/checkpoint/types.ts'
import { useHover, useSelection } from '../state/store.ts'
import { type View, visibleLabels } from './labels.ts'

interface Frame {
  readonly count: number
  readonly cell: number
  readonly side: number
  readonly view: View
  readonly tokens: readonly TokenView[]
}

interface AxisProps extends Frame {
  readonly axis: 'query' | 'key'
  /** Where the first cell begins, along the axis. */
  readonly along: number
  /** Pixels for the labels, across the axis. */
  readonly across: number
}

const NONE: readonly number[] = []
const PITCH = 13 // pixels between labels: one line of text

/** Token labels of one axis. As many as fit; the locked and the hovered one always. */
export function AxisLabels({ count, cell, side, view, tokens, axis, along, across }: AxisProps) {
  const now = useHover()
  const locked = useSelection((s) => s[axis])
  const also = useSelection((s) => (axis === 'query' ? s.also : NONE))
  const hovered = now[axis]
  const start = axis === 'query' ? view.y : view.x
  const always = [locked, hovered, ...also].filter((i) => i !== null)
  const shown = visibleLabels(
    count,
    cell,
    start,
    side,
    PITCH,
    hovered === null ? always : [hovered, ...always],
  )
  return (
    <div
      className={`axis axis-${axis}`}
      style={axis === 'query' ? { top: along } : { left: along }}
      aria-hidden="true"
    >
      {shown.map((i) => {
        const at = (i + 0.5 - start) * cell
        const state = i === hovered ? ' is-hovered' : i === locked || also.includes(i) ? ' is-locked' : ''
        return (
          <span
            key={i}
            className={`axis-label${state}`}
            style={
              axis === 'query'
                ? { top: at, width: across - 5 }
                : { left: at, top: across - 4, width: across - 6 }
            }
          >
            <b>{tokens[i]?.text ?? ''}</b>
            <i>{i}</i>
          </span>
        )
      })}
    </div>
  )
}

/** Bands over the hovered and the locked row and column. */
export function Crosshair({ cell, view }: Frame) {
  const now = useHover()
  const query = useSelection((s) => s.query)
  const key = useSelection((s) => s.key)
  const also = useSelection((s) => s.also)
  return (
    <>
      {also.map((at) => (
        <Band key={at} axis="query" at={at} start={view.y} cell={cell} look="is-locked" />
      ))}
      <Band axis="query" at={query} start={view.y} cell={cell} look="is-locked" />
      <Band axis="key" at={key} start={view.x} cell={cell} look="is-locked" />
      <Band axis="query" at={now.query} start={view.y} cell={cell} look="is-hovered" />
      <Band axis="key" at={now.key} start={view.x} cell={cell} look="is-hovered" />
    </>
  )
}

function Band(props: {
  axis: 'query' | 'key'
  at: number | null
  start: number
  cell: number
  look: string
}) {
  const { axis, at, start, cell, look } = props
  if (at === null) return null
  const offset = (at - start) * cell
  const thick = Math.max(2, cell)
  return (
    <div
      className={`band band-${axis} ${look}`}
      style={axis === 'query' ? { top: offset, height: thick } : { left: offset, width: thick }}
    />
  )
}
