/**
 * Thumbnails: a head's pattern as at most 32 × 32 bytes, each the largest weight of its cells, 255 = weight 1.
 * T ≥ 32: cell (q, k) belongs to row floor(32 q / T), column floor(32 k / T): every weight is seen, in one place.
 * T < 32: stored as T × T; `spread` repeats rows and columns up to 32 × 32: place i shows cell floor(i T / 32).
 * Causal heads keep the lower triangle only. Weights below 0 show as 0, above 1 as 255.
 */
/// <reference lib="esnext.float16" />

export const SIDE = 32

/** Row or column of each position. */
export function binsOf(length: number): Uint8Array {
  const side = Math.min(length, SIDE)
  return Uint8Array.from({ length }, (_, i) => Math.floor((i * side) / length))
}

/** Largest float16 bits per place → bytes, the lower triangle only when causal. */
export function packThumbnail(peaks: Int16Array, rows: number, columns: number, causal: boolean): Uint8Array {
  const weights = new Float16Array(peaks.buffer, peaks.byteOffset, peaks.length)
  const out = new Uint8Array(causal ? (rows * (rows + 1)) / 2 : rows * columns)
  let at = 0
  for (let r = 0; r < rows; r++) {
    const end = causal ? r + 1 : columns
    for (let c = 0; c < end; c++) out[at++] = Math.min(255, Math.round(255 * weights[r * columns + c]!))
  }
  return out
}

/** Bytes that one head's thumbnail takes. */
export function thumbnailBytes(rows: number, columns: number, causal: boolean): number {
  return causal ? (rows * (rows + 1)) / 2 : rows * columns
}

/** One stored thumbnail to 32 × 32 bytes at `at` of `out`. */
export function spread(
  stored: Uint8Array,
  rows: number,
  columns: number,
  causal: boolean,
  out: Uint8Array,
  at: number,
): void {
  for (let i = 0; i < SIDE; i++) {
    const r = Math.floor((i * rows) / SIDE)
    for (let j = 0; j < SIDE; j++) {
      const c = Math.floor((j * columns) / SIDE)
      if (causal && c > r) continue
      out[at + i * SIDE + j] = stored[causal ? (r * (r + 1)) / 2 + c : r * columns + c]!
    }
  }
}
