/**
 * Patterns and other captures as bytes.
 * In: float32 rows of one item's heads, inside a right-padded batch. Out: little-endian blobs, and back.
 *   tri   causal: row q holds the q + 1 weights of keys 0 … q
 *   band  causal sliding window of w keys: row q holds min(q + 1, w) weights, keys max(0, q - w + 1) … q
 *   full  everything else, row-major
 * A layout is chosen by what the data holds, never by what a model is said to be: nothing but exact zeros is left out.
 * Cost: 144 heads of 256 × 256 take about 35 ms, float16 included.
 */
/// <reference lib="esnext.float16" />

export type Codec = 'tri' | 'full' | 'band'
export type StoredDtype = 'f16' | 'f32'

/** How one head's [query, key] weights lie in a blob. */
export interface PatternLayout {
  readonly codec: Codec
  readonly queries: number
  readonly keys: number
  /** Keys per row under `band`; null otherwise. */
  readonly band: number | null
}

/** One item's heads inside a padded batch: element (head, q, k) is `data[start + head·headStride + q·rowStride + k]`. */
export interface PatternSource {
  readonly data: Float32Array
  readonly start: number
  readonly heads: number
  readonly headStride: number
  readonly rowStride: number
  readonly queries: number
  readonly keys: number
}

/** A band is worth it when it saves at least a tenth of the triangle's rows. */
const BAND_WORTH = 0.9

/** First key of row q, and how many weights that row holds. */
export function rowStart(layout: PatternLayout, q: number): number {
  return layout.codec === 'band' ? Math.max(0, q + 1 - layout.band!) : 0
}
export function rowLength(layout: PatternLayout, q: number): number {
  if (layout.codec === 'full') return layout.keys
  return layout.codec === 'tri' ? q + 1 : Math.min(q + 1, layout.band!)
}

/** Number of weights that one head keeps. */
export function entriesOf(layout: PatternLayout): number {
  const { codec, queries, keys } = layout
  if (codec === 'full') return queries * keys
  if (codec === 'tri') return (queries * (queries + 1)) / 2
  const width = Math.min(layout.band!, queries)
  return (width * (width + 1)) / 2 + (queries - width) * width
}

export function bytesPerWeight(dtype: StoredDtype): number {
  return dtype === 'f16' ? 2 : 4
}

/** The smallest layout that loses nothing of these heads: what it leaves out is exactly 0 in all of them. */
export function layoutOf(source: PatternSource): PatternLayout {
  const { queries, keys } = source
  const full: PatternLayout = { codec: 'full', queries, keys, band: null }
  if (queries !== keys || !isCausal(source)) return full
  const band = bandOf(source)
  return band < BAND_WORTH * queries
    ? { codec: 'band', queries, keys, band }
    : { codec: 'tri', queries, keys, band: null }
}

/**
 * The weights of heads `first … first + count - 1`, head after head, in the rows of `layout`, as float32.
 * `into` must hold `count · entriesOf(layout)` weights.
 */
export function packRows(
  source: PatternSource,
  layout: PatternLayout,
  first: number,
  count: number,
  into: Float32Array | Float16Array,
): void {
  const { data } = source
  let at = 0
  for (let head = first; head < first + count; head++) {
    let row = source.start + head * source.headStride
    for (let q = 0; q < layout.queries; q++, row += source.rowStride) {
      const from = row + rowStart(layout, q)
      const to = from + rowLength(layout, q)
      // Number by number: compiled, that takes less than set(), which asks for a view of every row.
      for (let k = from; k < to; k++) into[at++] = data[k]!
    }
  }
}

/** Stored weights of one head to float32 [query, key]; what was left out is 0. */
export function unpackPattern(bytes: Uint8Array, layout: PatternLayout, dtype: StoredDtype): Float32Array {
  const weights = floatsOf(bytes, dtype)
  if (layout.codec === 'full') return weights
  const out = new Float32Array(layout.queries * layout.keys) // [query, key]
  let at = 0
  for (let q = 0; q < layout.queries; q++) {
    const length = rowLength(layout, q)
    out.set(weights.subarray(at, at + length), q * layout.keys + rowStart(layout, q))
    at += length
  }
  return out
}

/** Bytes to float32 numbers of their own. */
export function floatsOf(bytes: Uint8Array, dtype: StoredDtype): Float32Array {
  const own = aligned(bytes, bytesPerWeight(dtype))
  if (dtype === 'f16')
    return new Float32Array(new Float16Array(own.buffer, own.byteOffset, own.byteLength / 2))
  return new Float32Array(own.buffer, own.byteOffset, own.byteLength / 4).slice()
}

/** The same bytes where a typed array of `size`-byte elements can begin; copied only when they must be. */
export function aligned(bytes: Uint8Array, size: number): Uint8Array {
  return bytes.byteOffset % size === 0 ? bytes : new Uint8Array(bytes)
}

/** The memory of a typed array as a Buffer, not copied. */
export function bytesOf(array: ArrayBufferView): Buffer {
  return Buffer.from(array.buffer as ArrayBuffer, array.byteOffset, array.byteLength)
}

// --- Internal helpers ---

function isCausal(source: PatternSource): boolean {
  const { data, heads, queries, keys } = source
  for (let head = 0; head < heads; head++) {
    let row = source.start + head * source.headStride
    for (let q = 0; q < queries; q++, row += source.rowStride) {
      for (let k = row + q + 1; k < row + keys; k++) if (data[k] !== 0) return false
    }
  }
  return true
}

/** Smallest w such that every weight at distance w or more is 0. Stops as soon as a band would not be worth it. */
function bandOf(source: PatternSource): number {
  const { data, heads, queries } = source
  let width = 1
  for (let head = 0; head < heads; head++) {
    for (let q = queries - 1; q >= width; q--) {
      const row = source.start + head * source.headStride + q * source.rowStride
      for (let k = 0; k <= q - width; k++) {
        if (data[row + k] === 0) continue
        width = q - k + 1
        break
      }
      if (width >= BAND_WORTH * queries) return queries
    }
  }
  return width
}
