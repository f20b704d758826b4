/**
 * A real matrix as pixels. In: row-major numbers, null where there is none. Out: one pixel a cell and what the two ends of
 * the colours stand for; a cell that does not exist stays transparent. Pure. Cost: one sort of the magnitudes.
 */
import type { GridReply } from '../../../core/api/contract.ts'
import { LEVELS, rampPixels, signedPixels } from '../../charts/color.ts'
import type { Theme } from '../../state/theme.ts'

/** weight: 0 to 1, white to blue. signed: red below 0, blue above. */
export type Scale = 'weight' | 'signed'

/** Rows become columns. */
export function transposed({ shape: [rows, cols], values }: GridReply): GridReply {
  return {
    shape: [cols, rows],
    values: Array.from(values, (_, n) => values[(n % rows) * cols + Math.floor(n / rows)]!),
  }
}

/** a - b, cell by cell; null where one of them is null. */
export function difference(a: GridReply, b: GridReply): GridReply {
  return {
    shape: a.shape,
    values: a.values.map((value, n) => {
      const other = b.values[n] ?? null
      return value === null || other === null ? null : value - other
    }),
  }
}

/** Largest magnitude, and the one that the strongest colour stands for: 99 of 100 cells are within it. */
export function extent(values: GridReply['values']): { readonly largest: number; readonly end: number } {
  const sizes = Float64Array.from(values.filter((value) => value !== null).map(Math.abs)).sort()
  const largest = sizes.at(-1) ?? 0
  const usual = sizes[Math.floor((sizes.length - 1) * 0.99)] ?? 0
  return { largest, end: usual > 0 ? usual : largest }
}

/** Pixels as ImageData's 32-bit words, one a cell. */
export function matrixPixels(
  values: GridReply['values'],
  scale: Scale,
  end: number,
  theme: Theme,
): Uint32Array<ArrayBuffer> {
  const pixels = new Uint32Array(values.length)
  const ramp = scale === 'weight' ? rampPixels(theme) : signedPixels(theme)
  values.forEach((value, n) => {
    if (value === null) return
    const t = position(value, scale, end)
    pixels[n] = ramp[Math.round(scale === 'weight' ? t * (LEVELS - 1) : LEVELS - 1 + t * (LEVELS - 1))]!
  })
  return pixels
}

/** Where a value stands on its colours: 0 to 1, or -1 to 1. */
export function position(value: number, scale: Scale, end: number): number {
  const t = end === 0 ? 0 : value / end
  return Math.min(1, Math.max(scale === 'weight' ? 0 : -1, t))
}
