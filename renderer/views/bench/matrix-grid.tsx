/**
 * One step in large: a canvas with a cell per number, labelled rows and columns, a cursor that the arrow keys move, and
 * numbers in the cells where they fit. In: a grid and what its axes are. Hovering and picking call back with (row, column).
 */
import { type KeyboardEvent, type PointerEvent, useState } from 'react'
import type { GridReply } from '../../../core/api/contract.ts'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import { signedInk, weightInk } from '../../charts/color.ts'
import { visibleLabels } from '../../charts/labels.ts'
import { preciseWeight, signedWeight } from '../../state/format.ts'
import type { Theme } from '../../state/theme.ts'
import { range } from '../../ui/range.ts'
import { useSize } from '../../ui/use-size.ts'
import { position, type Scale } from './matrix.ts'
import { MatrixCanvas } from './matrix-canvas.tsx'
import { countsTokens } from './stages.ts'

export interface Cell {
  readonly row: number
  readonly column: number
}

interface Props {
  readonly label: string
  readonly grid: GridReply
  readonly axes: readonly [string, string]
  readonly tokens: readonly TokenView[]
  /** Of the columns, where they count another text. */
  readonly columnTokens?: readonly TokenView[]
  readonly scale: Scale
  readonly end: number
  readonly theme: Theme
  /** Marked row and column; null: none. */
  readonly marked: { readonly row: number | null; readonly column: number | null }
  readonly hovered: Cell | null
  readonly onHover: (cell: Cell | null) => void
  readonly onPick: (cell: Cell) => void
}

const LEFT = 74
const TOP = 62
const LARGEST = 46

export function MatrixGrid(props: Props) {
  const { label, grid, axes, tokens, scale, end, theme, marked, hovered, onHover, onPick } = props
  const columnTokens = props.columnTokens ?? tokens
  const [rows, columns] = grid.shape
  const [measure, size] = useSize<HTMLDivElement>()
  const [cursor, setCursor] = useState<Cell>({ row: 0, column: 0 })
  const [focused, setFocused] = useState(false)
  const width = Math.min(LARGEST, (size.width - LEFT - 4) / columns)
  const height = Math.min(LARGEST, (size.height - TOP - 4) / rows)
  const at = (event: { clientX: number; clientY: number; currentTarget: Element }): Cell | null => {
    const box = event.currentTarget.getBoundingClientRect()
    const column = Math.floor((event.clientX - box.left) / width)
    const row = Math.floor((event.clientY - box.top) / height)
    return column >= 0 && row >= 0 && column < columns && row < rows ? { row, column } : null
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key]
    if (step) {
      const next = {
        row: Math.min(rows - 1, Math.max(0, cursor.row + step[0]!)),
        column: Math.min(columns - 1, Math.max(0, cursor.column + step[1]!)),
      }
      setCursor(next)
      onHover(next)
    } else if (event.key === 'Enter' || event.key === ' ') onPick(cursor)
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  const numbers = width >= 34 && height >= 15
  const box = (row: number, column: number) => ({
    left: column * width,
    top: row * height,
    width,
    height,
  })
  return (
    <div className="bench-large" ref={measure}>
      {size.width > LEFT && size.height > TOP && (
        <>
          <span className="axis-name bench-axis" style={{ left: 0, top: TOP - 24, width: LEFT - 6 }}>
            {axes[0]} ↓ {axes[1]} →
          </span>
          {visibleLabels(rows, height, 0, rows * height, 12, list(marked.row, hovered?.row)).map((row) => (
            <AxisLabel
              key={row}
              side="row"
              text={countsTokens(axes[0]) ? (tokens[row]?.text ?? '') : ''}
              index={row}
              on={row === marked.row}
              style={{ left: 0, top: TOP + (row + 0.5) * height - 7, width: LEFT - 6 }}
            />
          ))}
          {visibleLabels(columns, width, 0, columns * width, 13, list(marked.column, hovered?.column)).map(
            (column) => (
              <AxisLabel
                key={column}
                side="column"
                text={countsTokens(axes[1]) ? (columnTokens[column]?.text ?? '') : ''}
                index={column}
                on={column === marked.column}
                style={{ left: LEFT + (column + 0.5) * width, top: TOP - 5, width: TOP - 8 }}
              />
            ),
          )}
          <div
            className="bench-window"
            style={{ left: LEFT, top: TOP, width: columns * width, height: rows * height }}
            role="application"
            // biome-ignore lint/a11y/noNoninteractiveTabindex: arrows move the cursor
            tabIndex={0}
            aria-label={`${label}, ${rows} × ${columns}. Arrow keys move, Enter locks a cell. ${focused ? describe(cursor) : ''}`}
            onFocus={() => setFocused(true)}
            onBlur={() => setFocused(false)}
            onPointerMove={(event: PointerEvent) => onHover(at(event))}
            onPointerLeave={() => onHover(null)}
            onClick={(event) => {
              const cell = at(event)
              if (cell) {
                setCursor(cell)
                onPick(cell)
              }
            }}
            onKeyDown={onKeyDown}
          >
            <MatrixCanvas
              grid={grid}
              scale={scale}
              end={end}
              theme={theme}
              width={columns * width}
              height={rows * height}
            />
            {numbers &&
              range(rows * columns).map((n) => {
                const value = grid.values[n] ?? null
                if (value === null) return null
                const t = position(value, scale, end)
                const dark = (scale === 'weight' ? weightInk(theme, t) : signedInk(theme, t)) === '#fff'
                return (
                  <span
                    key={n}
                    className={dark ? 'effect-number is-light' : 'effect-number'}
                    style={box(Math.floor(n / columns), n % columns)}
                  >
                    {scale === 'weight' ? preciseWeight(value) : signedWeight(value)}
                  </span>
                )
              })}
            {marked.row !== null && marked.row < rows && (
              <i className="bench-line" style={{ ...box(marked.row, 0), width: columns * width }} />
            )}
            {marked.column !== null && marked.column < columns && (
              <i className="bench-line" style={{ ...box(0, marked.column), height: rows * height }} />
            )}
            {hovered && hovered.row < rows && hovered.column < columns && (
              <i className="effect-cell" style={box(hovered.row, hovered.column)} />
            )}
          </div>
        </>
      )}
    </div>
  )

  function describe({ row, column }: Cell): string {
    const value = grid.values[row * columns + column] ?? null
    return `${axes[0]} ${row}, ${axes[1]} ${column}: ${value === null ? 'hidden' : preciseWeight(value)}.`
  }
}

function list(...given: (number | null | undefined)[]): number[] {
  return given.filter((i) => i != null)
}

function AxisLabel(props: {
  side: 'row' | 'column'
  text: string
  index: number
  on: boolean
  style: { left: number; top: number; width: number }
}) {
  const { side, text, index, on, style } = props
  return (
    <span
      className={`axis-label ${side === 'row' ? 'bench-row' : 'effect-column'}${on ? ' is-locked' : ''}`}
      style={style}
      aria-hidden="true"
    >
      <b className="clip">{text}</b>
      <i>{index}</i>
    </span>
  )
}
