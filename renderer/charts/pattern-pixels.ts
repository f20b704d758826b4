/**
 * A pattern as pixels, one a cell. In: a Pattern and how it is shown. Out: 32-bit pixels of a square picture; cells that
 * do not exist (key after query) or are hidden stay transparent, which is not the colour of 0. Costs one pass over the
 * cells: about 2 ms at 1,024 tokens, where float16 codes go through a colour table of 65,536 entries.
 */
import { HALF, type Pattern, rowStart, weightAt } from '../api/pattern.ts'
import type { BosMode } from '../state/selection.ts'
import type { Theme } from '../state/theme.ts'
import { LEVELS, leftOutPixel, rampPixels, rampPosition } from './color.ts'

export interface Display {
  readonly theme: Theme
  readonly log: boolean
  readonly bos: BosMode
}

export interface Picture {
  /** Pixels a side: ceil(size / pool). */
  readonly side: number
  readonly pixels: Uint32Array<ArrayBuffer>
}

/** Paints every `pool` × `pool` block of cells as one pixel that has the block's largest weight. */
export function paintPattern(pattern: Pattern, display: Display, pool = 1): Picture {
  const side = Math.ceil(pattern.size / pool)
  const pixels = new Uint32Array(side * side)
  if (display.bos !== 'renormalise' && pattern.data instanceof Uint16Array) {
    const paint = pool === 1 ? paintCodes : paintPooledCodes
    paint(pattern, pattern.data, pixels, colorTable(display), display.bos === 'hide' ? 1 : 0, pool)
    return { side, pixels }
  }
  const ramp = rampPixels(display.theme)
  const most = pattern.most ?? 1
  const best = new Float32Array(side * side).fill(NOTHING)
  const first = display.bos === 'show' ? 0 : 1
  for (let query = 0; query < pattern.size; query++) {
    const last = pattern.layout === 'tri' ? query : pattern.size - 1
    const scale = display.bos === 'renormalise' ? renormalisation(pattern, query) : 1
    if (scale === null) continue
    const start = rowStart(pattern, query)
    const row = Math.floor(query / pool) * side
    for (let key = first; key <= last; key++) {
      const raw = pattern.data[start + key]!
      const weight = (pattern.data instanceof Uint16Array ? HALF[raw]! : raw) * scale
      const at = row + Math.floor(key / pool)
      if (weight > best[at]!) best[at] = weight
      else if (best[at] === NOTHING && pattern.most !== undefined) best[at] = LEFT_OUT // NaN is not larger
    }
  }
  for (let i = 0; i < best.length; i++) {
    if (best[i] === NOTHING) continue
    pixels[i] =
      best[i] === LEFT_OUT ? leftOutPixel(display.theme) : ramp[level(best[i]! / (most || 1), display.log)]!
  }
  return { side, pixels }
}

const NOTHING = -2 // no cell of the block exists
const LEFT_OUT = -1 // all that exist are left out

/** What a cell is shown as: its weight under the BOS mode; null where it is hidden, left out, or does not exist. */
export function shownWeight(pattern: Pattern, query: number, key: number, bos: BosMode): number | null {
  if (key > query && pattern.layout === 'tri') return null
  if (bos === 'show') return known(weightAt(pattern, query, key))
  if (key === 0) return null
  const scale = bos === 'renormalise' ? renormalisation(pattern, query) : 1
  return scale === null ? null : known(weightAt(pattern, query, key) * scale)
}

function known(value: number): number | null {
  return Number.isNaN(value) ? null : value
}

/** 1 / (1 - weight on position 0); null where nothing else is attended to. */
export function renormalisation(pattern: Pattern, query: number): number | null {
  const rest = 1 - weightAt(pattern, query, 0)
  return rest > 1e-3 ? 1 / rest : null // float16 resolves no less beside 1
}

function level(weight: number, log: boolean): number {
  return Math.min(LEVELS - 1, Math.max(0, Math.round(rampPosition(weight, log) * (LEVELS - 1))))
}

function paintCodes(
  pattern: Pattern,
  codes: Uint16Array,
  pixels: Uint32Array,
  table: Uint32Array,
  first: number,
): void {
  const { size } = pattern
  for (let query = 0; query < size; query++) {
    const last = pattern.layout === 'tri' ? query : size - 1
    const start = rowStart(pattern, query)
    const row = query * size
    for (let key = first; key <= last; key++) pixels[row + key] = table[codes[start + key]!]!
  }
}

/**
 * Codes of weights rise with the weight, so the largest code of a block is its largest weight. The larger of two is taken
 * without a branch, which weights would mislead in every third cell: half the time.
 */
function paintPooledCodes(
  pattern: Pattern,
  codes: Uint16Array,
  pixels: Uint32Array,
  table: Uint32Array,
  first: number,
  pool: number,
): void {
  const { size } = pattern
  const side = Math.ceil(size / pool)
  const best = new Uint16Array(side * side) // 1 + code; 0: no cell
  for (let query = 0; query < size; query++) {
    const start = rowStart(pattern, query)
    const end = start + (pattern.layout === 'tri' ? query + 1 : size)
    let at = Math.floor(query / pool) * side
    let cell = start + first
    for (let block = start + pool; cell < end; block += pool, at++) {
      let most = best[at]!
      for (const stop = Math.min(block, end); cell < stop; cell++) {
        const less = most - codes[cell]! - 1
        most -= less & (less >> 31)
      }
      best[at] = most
    }
  }
  for (let i = 0; i < best.length; i++) if (best[i]! > 0) pixels[i] = table[best[i]! - 1]!
}

const tables = new Map<string, Uint32Array>()

/** Pixel of every float16 code. */
function colorTable(display: Display): Uint32Array {
  const name = `${display.theme}${display.log}`
  let table = tables.get(name)
  if (!table) {
    const ramp = rampPixels(display.theme)
    table = new Uint32Array(65536)
    for (let code = 0; code < 65536; code++) table[code] = ramp[level(HALF[code]! || 0, display.log)]!
    tables.set(name, table)
  }
  return table
}
