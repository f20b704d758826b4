/**
 * One head's attention pattern as it came from the store. In: an octet stream of lower-triangular (row q holds q + 1
 * weights) or full rows, float16 or float32. Out: a Pattern that is read by (query, key). float16 stays as its 16 bits:
 * a 65,536-entry table turns a code into a weight or, in charts/pattern-pixels.ts, straight into a colour.
 */

export interface Pattern {
  /** Number of queries, and of keys. */
  readonly size: number
  readonly layout: 'tri' | 'full'
  /** float16 codes, or float32 weights. */
  readonly data: Uint16Array | Float32Array
  /** Of a derived pattern: the end of its scale. Its cells that are left out are NaN. Absent: stored weights, 0 to 1. */
  readonly most?: number
}

/** Weight of every float16 code (256 KB, built once). */
export const HALF: Float32Array = buildHalf()

/** Reads a response's headers and bytes. Throws when the length does not fit the shape. */
export function decodePattern(headers: { get(name: string): string | null }, bytes: ArrayBuffer): Pattern {
  const shape = JSON.parse(headers.get('x-headscope-shape') ?? '[]') as number[]
  const dtype = headers.get('x-headscope-dtype')
  const layout = headers.get('x-headscope-codec') === 'full' ? 'full' : 'tri'
  const size = shape[0] ?? 0
  const data = dtype === 'f16' ? new Uint16Array(bytes) : new Float32Array(bytes)
  const expected = layout === 'tri' ? (size * (size + 1)) / 2 : size * size
  if (data.length !== expected || size === 0) {
    throw new Error(
      `pattern: ${data.length} weights for shape ${JSON.stringify(shape)} (${layout}), expected ${expected}.`,
    )
  }
  return { size, layout, data }
}

/** Index of the first weight of a row. */
export function rowStart(pattern: Pattern, query: number): number {
  return pattern.layout === 'tri' ? (query * (query + 1)) / 2 : query * pattern.size
}

/** A[query, key]; 0 above the diagonal of a triangular pattern, where nothing is attended to. */
export function weightAt(pattern: Pattern, query: number, key: number): number {
  if (pattern.layout === 'tri' && key > query) return 0
  const raw = pattern.data[rowStart(pattern, query) + key] ?? 0
  return pattern.data instanceof Uint16Array ? HALF[raw]! : raw
}

/** Weights of one query over all keys [key]; keys above the diagonal are NaN: they do not exist. */
export function rowOf(pattern: Pattern, query: number): Float32Array {
  const row = new Float32Array(pattern.size).fill(Number.NaN)
  const last = pattern.layout === 'tri' ? query : pattern.size - 1
  for (let key = 0; key <= last; key++) row[key] = weightAt(pattern, query, key)
  return row
}

/** Weights that all queries give one key [query]; NaN where the query comes before the key. */
export function columnOf(pattern: Pattern, key: number): Float32Array {
  const column = new Float32Array(pattern.size).fill(Number.NaN)
  for (let query = pattern.layout === 'tri' ? key : 0; query < pattern.size; query++) {
    column[query] = weightAt(pattern, query, key)
  }
  return column
}

function buildHalf(): Float32Array {
  const table = new Float32Array(65536)
  for (let code = 0; code < 65536; code++) {
    const sign = code & 0x8000 ? -1 : 1
    const exponent = (code >> 10) & 31
    const fraction = code & 1023
    if (exponent === 0) table[code] = sign * fraction * 2 ** -24
    else if (exponent === 31) table[code] = fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY
    else table[code] = sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
  }
  return table
}
