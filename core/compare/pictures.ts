/** Pictures of a report as markup that needs no script: patterns as PNG, grids and curves as SVG. */
import { headName } from '../graph/hook-names.ts'
import { escaped } from './html.ts'
import { strongestHeads } from './onset.ts'
import { png } from './png.ts'
import type { Series } from './series.ts'
import type { ComparedHead } from './types.ts'

type Rgb = readonly [number, number, number]

const WHITE: Rgb = [255, 255, 255]
const BLUE: Rgb = [8, 69, 148]
const RED: Rgb = [178, 24, 43]
const LINES = ['#08519c', '#a63603', '#006d2c', '#6a51a3']

/** A picture of a signed difference [query, key] with its scale: red below 0, blue above, symmetric to its own largest magnitude. */
export function difference(values: ArrayLike<number>, length: number, label: string): string {
  const most = largestOf(values)
  const scale = most === 0 ? 'no difference' : `full colour ±${most.toFixed(3)}`
  return `<div>${patternImage(values, length, most || 1, true, `${label}, B minus A, ${scale}`)}<small>${scale}</small></div>`
}

/** The largest magnitude; 0 of nothing. */
export function largestOf(values: ArrayLike<number>): number {
  let most = 0
  for (let i = 0; i < values.length; i++) most = Math.max(most, Math.abs(values[i]!))
  return most
}

/** Numbers [query, key] as an image, `most` at full colour: white 0, blue above; with `signed` red below. Above the diagonal blank. */
export function patternImage(
  values: ArrayLike<number>,
  length: number,
  most: number,
  signed: boolean,
  label: string,
): string {
  const rgb = new Uint8Array(3 * length * length).fill(255)
  for (let q = 0; q < length; q++)
    for (let k = 0; k <= q; k++) {
      const value = Math.max(-1, Math.min(1, values[q * length + k]! / most))
      rgb.set(mix(signed && value < 0 ? RED : BLUE, Math.abs(value)), 3 * (q * length + k))
    }
  const data = png(length, length, rgb).toString('base64')
  return `<img src="data:image/png;base64,${data}" width="220" height="220" alt="${escaped(label)}">`
}

/** Layers × heads, coloured by pattern distance. */
export function distanceGrid(heads: readonly ComparedHead[]): string {
  const size = 22
  const columns = Math.max(...heads.map(({ head }) => head)) + 1
  const rows = Math.max(...heads.map(({ layer }) => layer)) + 1
  const cells = heads.map(({ layer, head, pattern_distance: distance }) => {
    const x = 30 + head * size
    const y = layer * size
    if (distance === null)
      return `<rect x="${x}" y="${y}" width="${size - 2}" height="${size - 2}" fill="none" stroke="#bbb"/>`
    const colour = mix(BLUE, Math.min(1, distance)).join(',')
    const title = `${headName(layer, head)} ${distance.toFixed(3)}`
    return `<rect x="${x}" y="${y}" width="${size - 2}" height="${size - 2}" fill="rgb(${colour})" stroke="#ddd"><title>${title}</title></rect>`
  })
  const names = Array.from(
    { length: rows },
    (_, layer) => `<text x="24" y="${layer * size + 15}" text-anchor="end">L${layer}</text>`,
  )
  const heights = Array.from(
    { length: columns },
    (_, head) => `<text x="${40 + head * size}" y="${rows * size + 12}" text-anchor="middle">H${head}</text>`,
  )
  const width = 34 + columns * size
  return `<svg role="img" aria-label="pattern distance of each head" width="${width}" height="${rows * size + 18}" viewBox="0 0 ${width} ${rows * size + 18}">${[...cells, ...names, ...heights].join('')}</svg>`
}

/** The best head of each score over the steps of a series. */
export function seriesCurves(series: Series): string {
  const [width, height, left, bottom] = [640, 220, 40, 30]
  const names = series.settings?.scores.slice(0, LINES.length) ?? []
  const x = (i: number) => left + ((width - left - 10) * i) / Math.max(1, series.steps.length - 1)
  const y = (value: number) => height - bottom - (height - bottom - 10) * Math.max(0, Math.min(1, value))
  const curves = names.map((name, n) => {
    const points = series.steps.flatMap((step, i) => {
      const best = strongestHeads(step, name, 1)[0]
      return best ? [`${x(i).toFixed(1)},${y(best.value.value!).toFixed(1)}`] : []
    })
    return `<polyline fill="none" stroke="${LINES[n]}" stroke-width="2" points="${points.join(' ')}"/><text x="${left + 8 + n * 150}" y="${height - 4}" fill="${LINES[n]}">${escaped(name)}</text>`
  })
  const steps = series.steps.map(
    (step, i) =>
      `<text x="${x(i).toFixed(1)}" y="${height - bottom + 12}" text-anchor="middle" font-size="8">${escaped(String(step.step))}</text>`,
  )
  const levels = [0, 0.5, 1].map(
    (level) =>
      `<line x1="${left}" x2="${width - 10}" y1="${y(level)}" y2="${y(level)}" stroke="#ddd"/><text x="${left - 6}" y="${y(level) + 4}" text-anchor="end">${level}</text>`,
  )
  return `<svg role="img" aria-label="best head of each score over the steps" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">${[...levels, ...curves, ...steps].join('')}</svg>`
}

// --- Internal helpers ---

function mix(colour: Rgb, share: number): [number, number, number] {
  const part = (i: 0 | 1 | 2) => Math.round(WHITE[i] + (colour[i] - WHITE[i]) * share)
  return [part(0), part(1), part(2)]
}
