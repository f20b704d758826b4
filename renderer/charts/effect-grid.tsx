/**
 * Signed effects by layer and position, or layer and head: the lowest layer at the bottom. In: a value per cell, with two
 * kinds of nothing: not computed (yet), and undefined. Out: one canvas with a pixel a cell, labels, a cursor that the
 * arrow keys move, numbers in the cells where they fit. Hovering and picking call back with (layer, column).
 */
import { type KeyboardEvent, type PointerEvent, type ReactNode, useCallback, useState } from 'react'
import type { Theme } from '../state/theme.ts'
import { range } from '../ui/range.ts'
import { useSize } from '../ui/use-size.ts'
import { LEVELS, signedInk, signedPixels } from './color.ts'
import { visibleLabels } from './labels.ts'

/** null: undefined there. undefined: not computed. */
export type EffectValue = number | null | undefined

export interface EffectGridProps {
  readonly label: string
  readonly layers: number
  readonly columns: number
  readonly value: (layer: number, column: number) => EffectValue
  /** Largest magnitude: the two ends of the colours. */
  readonly most: number
  /** The token at a position; null: columns are heads, or there is only one. */
  readonly columnLabel: ((column: number) => string) | null
  /** Columns that are marked: where two prompts differ. */
  readonly marked?: readonly number[]
  readonly selected: { readonly layer: number; readonly column: number } | null
  readonly hovered: number | null
  readonly theme: Theme
  /** A number as it stands in a cell and in hints. */
  readonly format: (value: number) => string
  readonly onHover: (layer: number | null, column: number | null) => void
  readonly onPick: (layer: number, column: number) => void
  /** Stands below: legend, notes. */
  readonly children?: ReactNode
}

const LEFT = 34
const FOOT = 26
const LARGEST = { width: 72, height: 44 }

export function EffectGrid(props: EffectGridProps) {
  const {
    label,
    layers,
    columns,
    value,
    most,
    columnLabel,
    marked = [],
    selected,
    hovered,
    theme,
    format,
  } = props
  const { onHover, onPick, children } = props
  const TOP = columnLabel ? 74 : 22
  const [measure, size] = useSize<HTMLDivElement>()
  const [cursor, setCursor] = useState<{ layer: number; column: number } | null>(null)
  const width = Math.max(0.5, Math.min((size.width - LEFT - 2) / columns, LARGEST.width))
  const height = Math.max(4, Math.min((size.height - TOP - FOOT - 4) / layers, LARGEST.height))
  const draw = useCallback(
    (canvas: HTMLCanvasElement | null) => {
      const context = canvas?.getContext('2d')
      if (!canvas || !context) return
      canvas.width = columns
      canvas.height = layers
      const pixels = effectPixels(layers, columns, value, most, theme)
      context.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), columns, layers), 0, 0)
    },
    [layers, columns, value, most, theme],
  )
  const place = (event: PointerEvent) => {
    const box = event.currentTarget.getBoundingClientRect()
    const column = Math.floor((event.clientX - box.left) / width)
    const layer = layers - 1 - Math.floor((event.clientY - box.top) / height)
    return column >= 0 && layer >= 0 && column < columns && layer < layers ? { layer, column } : null
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowUp: [1, 0], ArrowDown: [-1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key]
    const from = cursor ?? selected ?? { layer: layers - 1, column: 0 }
    if (step) {
      const layer = Math.min(layers - 1, Math.max(0, from.layer + step[0]!))
      const column = Math.min(columns - 1, Math.max(0, from.column + step[1]!))
      setCursor({ layer, column })
      onHover(layer, column)
    } else if (event.key === 'Enter' || event.key === ' ') onPick(from.layer, from.column)
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  const always = [selected?.column, cursor?.column, hovered, ...(marked.length <= 12 ? marked : [])].filter(
    (i): i is number => i != null,
  )
  const labelled = visibleLabels(columns, width, 0, columns * width, 13, always)
  const rowStep = height >= 12 ? 1 : Math.ceil(12 / height)
  const numbers = width >= 34 && height >= 16
  const box = (at: { layer: number; column: number }) => ({
    left: at.column * width,
    top: (layers - 1 - at.layer) * height,
    width,
    height,
  })
  return (
    <div className="effect-grid" ref={measure}>
      {size.width > 0 && (
        <div
          className="effect-box"
          style={{ width: LEFT + columns * width, height: TOP + layers * height + FOOT }}
        >
          <span className="axis-name" style={{ left: 0, top: TOP - 16 }}>
            layer
          </span>
          {!columnLabel &&
            columns > 1 &&
            range(columns).map((column) =>
              column % Math.ceil(22 / width) ? null : (
                <span
                  key={column}
                  className="grid-label grid-column"
                  style={{ left: LEFT + column * width, width, top: TOP - 17 }}
                  aria-hidden="true"
                >
                  {width >= 22 ? `H${column}` : column}
                </span>
              ),
            )}
          {columnLabel &&
            labelled.map((column) => (
              <span
                key={column}
                className={`axis-label effect-column${marked.includes(column) ? ' is-marked' : ''}${column === hovered ? ' is-hovered' : ''}`}
                style={{ left: LEFT + (column + 0.5) * width, top: TOP - 5, width: TOP - 8 }}
                aria-hidden="true"
              >
                <b>{columnLabel(column)}</b>
                <i>{column}</i>
              </span>
            ))}
          {range(layers).map((layer) =>
            layer % rowStep ? null : (
              <span
                key={layer}
                className="grid-label effect-row"
                style={{ top: TOP + (layers - 1 - layer) * height, height, width: LEFT - 5 }}
                aria-hidden="true"
              >
                L{layer}
              </span>
            ),
          )}
          <div
            className="effect-window"
            style={{ left: LEFT, top: TOP, width: columns * width, height: layers * height }}
            role="application"
            // biome-ignore lint/a11y/noNoninteractiveTabindex: arrows move the cursor
            tabIndex={0}
            aria-label={`${label}. Arrow keys move, Enter opens a cell.${cursor ? ` ${describe(cursor)}` : ''}`}
            onPointerMove={(event) => {
              const at = place(event)
              onHover(at?.layer ?? null, at?.column ?? null)
            }}
            onPointerLeave={() => onHover(null, null)}
            onClick={(event) => {
              const at = place(event as unknown as PointerEvent)
              if (at) onPick(at.layer, at.column)
            }}
            onKeyDown={onKeyDown}
          >
            <canvas ref={draw} />
            {numbers &&
              range(layers * columns).map((i) => {
                const at = { layer: Math.floor(i / columns), column: i % columns }
                const shown = value(at.layer, at.column)
                if (shown === undefined) return null
                const dark = shown !== null && signedInk(theme, most === 0 ? 0 : shown / most) === '#fff'
                return (
                  <span key={i} className={dark ? 'effect-number is-light' : 'effect-number'} style={box(at)}>
                    {shown === null ? '∅' : format(shown)}
                  </span>
                )
              })}
            {hovered !== null && <i className="effect-band" style={{ left: hovered * width, width }} />}
            {selected && <i className="effect-cell is-selected" style={box(selected)} />}
            {cursor && <i className="effect-cell" style={box(cursor)} />}
          </div>
          <div className="effect-foot" style={{ top: TOP + layers * height + 6 }}>
            {children}
          </div>
        </div>
      )}
    </div>
  )

  function describe({ layer, column }: { layer: number; column: number }): string {
    const shown = value(layer, column)
    const text = shown === undefined ? 'not computed' : shown === null ? 'undefined' : format(shown)
    const where = columnLabel
      ? `${columnLabel(column)} ${column}`
      : columns > 1
        ? `head ${column}`
        : 'whole layer'
    return `Layer ${layer}, ${where}: ${text}.`
  }
}

/** One pixel a cell, top row the highest layer. Not computed: transparent. Undefined: a flat grey of its own. */
export function effectPixels(
  layers: number,
  columns: number,
  value: (layer: number, column: number) => EffectValue,
  most: number,
  theme: Theme,
): Uint32Array<ArrayBuffer> {
  const ramp = signedPixels(theme)
  const pixels = new Uint32Array(layers * columns)
  for (let layer = 0; layer < layers; layer++) {
    for (let column = 0; column < columns; column++) {
      const shown = value(layer, column)
      if (shown === undefined) continue
      const at = (layers - 1 - layer) * columns + column
      if (shown === null) pixels[at] = theme === 'dark' ? 0xff5a5048 : 0xffb8aea6
      else {
        const t = most === 0 ? 0 : Math.max(-1, Math.min(1, shown / most))
        pixels[at] = ramp[LEVELS - 1 + Math.round(t * (LEVELS - 1))]!
      }
    }
  }
  return pixels
}
