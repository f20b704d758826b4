/** A grid of effects as a figure for paper: SVG with its labels as text, a signed legend, title and provenance. Light colours. */
import { signedColor } from './color.ts'
import type { EffectValue } from './effect-grid.tsx'
import { escapeXml } from './pattern-export.ts'

export interface EffectFigure {
  readonly title: string
  /** Metric, scale, checkpoint: printed below the title. */
  readonly note: string
  readonly layers: number
  readonly columns: number
  readonly value: (layer: number, column: number) => EffectValue
  readonly most: number
  readonly columnLabel: (column: number) => string
}

const LEFT = 44
const TOP = 150

export function effectSvg({ title, note, layers, columns, value, most, columnLabel }: EffectFigure): string {
  const cell = Math.max(7, Math.min(26, 900 / columns))
  const [width, height] = [columns * cell, layers * cell]
  const parts: string[] = []
  for (let layer = 0; layer < layers; layer++) {
    const y = TOP + (layers - 1 - layer) * cell
    parts.push(
      `<text x="${LEFT - 6}" y="${y + cell / 2}" text-anchor="end" dominant-baseline="central">L${layer}</text>`,
    )
    for (let column = 0; column < columns; column++) {
      const shown = value(layer, column)
      const x = LEFT + column * cell
      if (shown === undefined) continue
      const fill = shown === null ? '#a6aeb8' : signedColor('light', most === 0 ? 0 : shown / most)
      parts.push(
        `<rect x="${x}" y="${y}" width="${cell}" height="${cell}" fill="${fill}"><title>L${layer} ${escapeXml(columnLabel(column))}: ${shown ?? 'undefined'}</title></rect>`,
      )
    }
  }
  for (let column = 0; column < columns; column++)
    parts.push(
      `<text transform="translate(${LEFT + (column + 0.5) * cell} ${TOP - 6}) rotate(-90)" dominant-baseline="central">${escapeXml(columnLabel(column))}</text>`,
    )
  const stops = Array.from(
    { length: 21 },
    (_, i) => `<stop offset="${i * 5}%" stop-color="${signedColor('light', (i - 10) / 10)}"/>`,
  )
  const bottom = TOP + height + 22
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${Math.max(520, LEFT + width + 10)}" height="${bottom + 26}" font-family="monospace" font-size="${Math.min(11, cell)}" fill="#1b2330">
<defs><linearGradient id="signed">${stops.join('')}</linearGradient></defs>
<rect width="100%" height="100%" fill="#fff"/>
<text x="8" y="18" font-family="sans-serif" font-size="14" font-weight="600">${escapeXml(title)}</text>
<text x="8" y="36" font-family="sans-serif" font-size="11" fill="#667085">${escapeXml(note)}</text>
<rect x="${LEFT}" y="${TOP}" width="${width}" height="${height}" fill="#f1f3f6" stroke="#d5dae2"/>
${parts.join('\n')}
<rect x="${LEFT + 60}" y="${bottom - 8}" width="140" height="10" fill="url(#signed)" stroke="#d5dae2"/>
<text x="${LEFT + 54}" y="${bottom}" text-anchor="end" font-size="11">−${most.toPrecision(3)}</text>
<text x="${LEFT + 206}" y="${bottom}" font-size="11">+${most.toPrecision(3)}</text>
</svg>
`
}
