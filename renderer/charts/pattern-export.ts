/**
 * A pattern as a figure or a table. In: pattern, tokens, display. Out: SVG text (the cells as one embedded picture, the
 * labels as text), a PNG of about 2,000 pixels, or CSV with one line per existing cell.
 */
import type { TokenView } from '../../core/checkpoint/types.ts'
import { type Pattern, weightAt } from '../api/pattern.ts'
import { visibleLabels } from './labels.ts'
import { type Display, paintPattern } from './pattern-pixels.ts'

export interface Figure {
  readonly pattern: Pattern
  readonly tokens: readonly TokenView[]
  readonly display: Display
  readonly title: string
  /** What the cells say, and the share of each row that is kept, in percent. */
  readonly unit?: { readonly label: string; readonly definition: string; readonly mass: number | null }
  /** Where it comes from: run, checkpoint, edits. Printed below the title. */
  readonly provenance?: string
}

const SIDE = 640
const LEFT = 110
const TOP = 130

/** Figures are for paper: always the light colours. */
function picture({ pattern, display }: Figure): HTMLCanvasElement {
  const { side, pixels } = paintPattern(pattern, { ...display, theme: 'light' })
  const canvas = document.createElement('canvas')
  canvas.width = side
  canvas.height = side
  canvas.getContext('2d')?.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), side, side), 0, 0)
  return canvas
}

export function patternSvg(figure: Figure): string {
  const { pattern, tokens, title, display, provenance = '' } = figure
  const cell = SIDE / pattern.size
  const shown = visibleLabels(pattern.size, cell, 0, SIDE, 13)
  const label = (i: number) => `${escapeXml(tokens[i]?.text ?? '')} ${i}`
  const rows = shown.map(
    (i) =>
      `<text x="${LEFT - 6}" y="${TOP + (i + 0.5) * cell}" text-anchor="end" dominant-baseline="central">${label(i)}</text>`,
  )
  const columns = shown.map((i) => {
    const x = LEFT + (i + 0.5) * cell
    return `<text transform="translate(${x} ${TOP - 6}) rotate(-90)" dominant-baseline="central">${label(i)}</text>`
  })
  const note = `${cellsOf(figure)}, ${display.log ? 'log scale' : 'linear scale'}${display.bos === 'show' ? '' : `, first token ${display.bos === 'hide' ? 'hidden' : 'left out and rows renormalised'}`}`
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${LEFT + SIDE + 10}" height="${TOP + SIDE + 10}" font-family="monospace" font-size="11" fill="#1b2330">
<rect width="100%" height="100%" fill="#fff"/>
<text x="8" y="18" font-family="sans-serif" font-size="14" font-weight="600">${escapeXml(title)}</text>
<text x="8" y="34" font-family="sans-serif" fill="#667085">${escapeXml(note)}</text>
<text x="8" y="48" font-family="sans-serif" font-size="9" fill="#667085">${escapeXml([provenance, figure.unit?.definition ?? ''].filter(Boolean).join(' · '))}</text>
<text x="${LEFT - 6}" y="${TOP - 8}" text-anchor="end" fill="#667085">query ↓</text>
<text x="${LEFT + SIDE}" y="34" text-anchor="end" fill="#667085">key →</text>
<rect x="${LEFT}" y="${TOP}" width="${SIDE}" height="${SIDE}" fill="#f1f3f6" stroke="#d5dae2"/>
<image x="${LEFT}" y="${TOP}" width="${SIDE}" height="${SIDE}" preserveAspectRatio="none" style="image-rendering:pixelated" href="${picture(figure).toDataURL('image/png')}"/>
${rows.join('\n')}
${columns.join('\n')}
</svg>
`
}

export async function patternPng(figure: Figure): Promise<Blob> {
  const scale = 3
  const { pattern, tokens, title } = figure
  const canvas = document.createElement('canvas')
  canvas.width = (LEFT + SIDE + 10) * scale
  canvas.height = (TOP + SIDE + 10) * scale
  const context = canvas.getContext('2d')!
  context.scale(scale, scale)
  context.fillStyle = '#fff'
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.fillStyle = '#f1f3f6'
  context.fillRect(LEFT, TOP, SIDE, SIDE)
  context.imageSmoothingEnabled = false
  context.drawImage(picture(figure), LEFT, TOP, SIDE, SIDE)
  context.fillStyle = '#1b2330'
  context.font = '600 14px sans-serif'
  context.fillText(title, 8, 18)
  context.font = '11px monospace'
  context.fillText(`query ↓   key →   ${cellsOf(figure)}`, 8, 36)
  context.fillStyle = '#667085'
  context.fillText(figure.provenance ?? '', 8, 50)
  context.fillStyle = '#1b2330'
  context.textBaseline = 'middle'
  const cell = SIDE / pattern.size
  for (const i of visibleLabels(pattern.size, cell, 0, SIDE, 13)) {
    const text = `${tokens[i]?.text ?? ''} ${i}`
    context.textAlign = 'right'
    context.fillText(text, LEFT - 6, TOP + (i + 0.5) * cell)
    context.save()
    context.translate(LEFT + (i + 0.5) * cell, TOP - 6)
    context.rotate(-Math.PI / 2)
    context.textAlign = 'left'
    context.fillText(text, 0, 0)
    context.restore()
  }
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('The picture could not be encoded.')))),
  )
}

/** The end of the scale stands beside what a cell says where it is not 1. */
function cellsOf({ unit, pattern }: Figure): string {
  const most = pattern.most === undefined || pattern.most === 1 ? '' : ` up to ${pattern.most.toPrecision(3)}`
  const name = unit && unit.label !== 'weight' ? `attention ${unit.label}` : 'attention weight'
  return `${name}${most}${unit?.mass ? `, ${unit.mass} % of each row` : ''}`
}

/** `query,query_token,key,key_token,weight`; only cells that exist. Cells that are left out are empty. */
export function patternCsv({ pattern, tokens, unit }: Figure): string {
  const name = !unit || unit.label === 'weight' ? 'weight' : unit.label.replaceAll(' ', '_')
  const lines = [`query,query_token,key,key_token,${name}`]
  const quoted = tokens.map((t) => `"${t.text.replaceAll('"', '""')}"`)
  for (let q = 0; q < pattern.size; q++) {
    const last = pattern.layout === 'tri' ? q : pattern.size - 1
    for (let k = 0; k <= last; k++) {
      const weight = weightAt(pattern, q, k)
      lines.push(`${q},${quoted[q]},${k},${quoted[k]},${Number.isNaN(weight) ? '' : weight}`)
    }
  }
  return `${lines.join('\n')}\n`
}

/** Text as the content of an element or attribute. */
export function escapeXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
