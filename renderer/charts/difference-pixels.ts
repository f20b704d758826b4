/**
 * The difference of two patterns as pixels, one a cell. In: before and after, of one size. Out: the picture and the
 * largest difference, which is the end of its colour scale: symmetric, white (dark: near-black) at 0. Pooled blocks show
 * their largest difference in magnitude, with its sign. One pass over the cells: about 15 ms at 1,024 tokens.
 */
import { HALF, type Pattern, rowStart, weightAt } from '../api/pattern.ts'
import { LEVELS, signedPixels } from './color.ts'
import type { Display, Picture } from './pattern-pixels.ts'

export interface SignedPicture extends Picture {
  /** Largest magnitude; 0 where the two are the same. */
  readonly most: number
}

export function paintDifference(before: Pattern, after: Pattern, display: Display, pool = 1): SignedPicture {
  const { size } = after
  const side = Math.ceil(size / pool)
  const best = new Float32Array(side * side).fill(Number.NaN)
  const first = display.bos === 'show' ? 0 : 1
  let most = 0
  for (let query = 0; query < size; query++) {
    const last = after.layout === 'tri' ? query : size - 1
    const [scaleA, scaleB] = [rest(after, query, display), rest(before, query, display)]
    if (scaleA === null || scaleB === null) continue
    const row = Math.floor(query / pool) * side
    const [startA, startB] = [rowStart(after, query), rowStart(before, query)]
    for (let key = first; key <= last; key++) {
      const d = valueAt(after, startA + key) * scaleA - valueAt(before, startB + key) * scaleB
      const at = row + Math.floor(key / pool)
      const kept = best[at]!
      if (Number.isNaN(kept) || Math.abs(d) > Math.abs(kept)) best[at] = d
      if (Math.abs(d) > most) most = Math.abs(d)
    }
  }
  return { side, pixels: coloured(best, most, display), most }
}

// --- Internal helpers ---

function valueAt(pattern: Pattern, at: number): number {
  const raw = pattern.data[at]!
  return pattern.data instanceof Uint16Array ? HALF[raw]! : raw
}

/** What a row is multiplied with under the BOS mode. */
function rest(pattern: Pattern, query: number, display: Display): number | null {
  if (display.bos !== 'renormalise') return 1
  const others = 1 - weightAt(pattern, query, 0)
  return others > 1e-3 ? 1 / others : null
}

function coloured(values: Float32Array, most: number, display: Display): Uint32Array<ArrayBuffer> {
  const ramp = signedPixels(display.theme)
  const pixels = new Uint32Array(values.length)
  const scale = most === 0 ? 0 : (LEVELS - 1) / most
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!
    if (Number.isNaN(value)) continue
    pixels[i] =
      ramp[LEVELS - 1 + Math.round(display.log ? logScaled(value, most) * (LEVELS - 1) : value * scale)]!
  }
  return pixels
}

/** Three decades below the largest difference, with its sign. */
function logScaled(value: number, most: number): number {
  if (value === 0 || most === 0) return 0
  return Math.sign(value) * Math.max(0, 1 + Math.log10(Math.abs(value) / most) / 3)
}
