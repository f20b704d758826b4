/**
 * Grids of signed effects by layer and position, or layer and head, as figures and tables. The lowest layer is at the
 * bottom, as on screen. Undefined cells are grey, cells that were not computed stay blank.
 */

import { signedColor, signedInk } from './color.ts'
import type { EffectValue } from './effect-grid.tsx'
import { BLANK, type FigureBody, LINE, PALE, rectAt, signedLegend, textAt, UNDEFINED } from './svg.ts'

export interface EffectPicture {
  readonly layers: number
  readonly columns: number
  readonly value: (layer: number, column: number) => EffectValue
  /** Largest magnitude: the two ends of the colours. */
  readonly most: number
  readonly columnLabel: (column: number) => string
  /** What a blank cell is; default: not computed. */
  readonly blank?: string
}

const LEFT = 40

export function effectBody({
  layers,
  columns,
  value,
  most,
  columnLabel,
  blank = 'not computed',
}: EffectPicture): FigureBody {
  const cell = Math.max(7, Math.min(columns <= 16 ? 40 : 26, 900 / columns))
  const [width, height] = [columns * cell, layers * cell]
  const names = Array.from({ length: columns }, (_, i) => columnLabel(i))
  const top = Math.min(150, Math.max(...names.map((name) => name.length)) * 6.4 + 12)
  const size = Math.min(11, cell)
  const parts: string[] = [rectAt(LEFT, top, width, height, BLANK, { stroke: LINE })]
  for (let layer = 0; layer < layers; layer++) {
    const y = top + (layers - 1 - layer) * cell
    parts.push(textAt(LEFT - 6, y + cell / 2, `L${layer}`, { anchor: 'end', middle: true, size }))
    for (let column = 0; column < columns; column++) {
      const shown = value(layer, column)
      if (shown === undefined) continue
      const x = LEFT + column * cell
      const t = shown === null || most === 0 ? 0 : shown / most
      const title = `L${layer} ${names[column]}: ${shown ?? 'undefined'}`
      parts.push(rectAt(x, y, cell, cell, shown === null ? UNDEFINED : signedColor('light', t), { title }))
      if (cell >= 34)
        parts.push(
          textAt(x + cell / 2, y + cell / 2, shown === null ? '∅' : shown.toPrecision(2).replace('-', '−'), {
            anchor: 'middle',
            middle: true,
            size: 9,
            fill: signedInk('light', t),
          }),
        )
    }
  }
  names.forEach((name, i) => {
    const shown = name.length > 20 ? `${name.slice(0, 19)}…` : name
    parts.push(textAt(LEFT + (i + 0.5) * cell, top - 6, shown, { up: true, middle: true, size }))
  })
  const legendAt = top + height + 12
  parts.push(
    signedLegend(LEFT, legendAt, most),
    textAt(LEFT + 240, legendAt + 9, `∅ grey: undefined, blank: ${blank}`, {
      fill: PALE,
      sans: true,
      size: 9.5,
    }),
  )
  return { width: Math.max(LEFT + width + 2, LEFT + 440), height: legendAt + 14, markup: parts.join('\n') }
}
