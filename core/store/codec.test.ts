import { describe, expect, it } from 'vitest'
import {
  bytesOf,
  entriesOf,
  floatsOf,
  layoutOf,
  type PatternSource,
  packRows,
  type StoredDtype,
  unpackPattern,
} from './codec.ts'

/** One square head from rows. */
function sourceOf(rows: readonly (readonly number[])[]): PatternSource {
  const [queries, keys] = [rows.length, rows[0]!.length]
  return {
    data: Float32Array.from(rows.flat()),
    start: 0,
    heads: 1,
    headStride: queries * keys,
    rowStride: keys,
    queries,
    keys,
  }
}

/** Square heads whose rows sum to 1, with a repeatable wobble. */
function made(
  T: number,
  heads: number,
  kind: 'causal' | 'window' | 'both-ways',
  span: number,
): PatternSource {
  const data = new Float32Array(heads * T * T)
  for (let row = 0; row < heads * T; row++) {
    const q = row % T
    const first = kind === 'window' ? Math.max(0, q + 1 - span) : 0
    const end = kind === 'both-ways' ? T : q + 1
    const raw = Array.from({ length: end - first }, (_, i) => 1.5 + Math.sin(37 * row + 11 * i))
    const sum = raw.reduce((a, b) => a + b, 0)
    data.set(
      raw.map((w) => w / sum),
      row * T + first,
    )
  }
  return { data, start: 0, heads, headStride: T * T, rowStride: T, queries: T, keys: T }
}

function throughStore(source: PatternSource, dtype: StoredDtype) {
  const layout = layoutOf(source)
  const size = entriesOf(layout)
  const packed =
    dtype === 'f16' ? new Float16Array(source.heads * size) : new Float32Array(source.heads * size)
  packRows(source, layout, 0, source.heads, packed)
  const bytes = bytesOf(packed)
  const width = bytes.byteLength / source.heads
  const heads = Array.from({ length: source.heads }, (_, h) =>
    unpackPattern(bytes.subarray(h * width, (h + 1) * width), layout, dtype),
  )
  return { layout, bytes, heads }
}

describe('float16', () => {
  it('holds every float16 value exactly (S17)', () => {
    const bits = Uint16Array.from({ length: 0x10000 }, (_, i) => i)
    const floats = floatsOf(bytesOf(bits), 'f16')
    const back = new Uint16Array(new Float16Array(floats).buffer)
    for (let i = 0; i < 0x10000; i++) {
      const isNaN16 = (i & 0x7c00) === 0x7c00 && (i & 0x3ff) !== 0
      if (isNaN16) expect(Number.isNaN(floats[i])).toBe(true)
      else if (back[i] !== i || floats[i] !== valueOf16(i))
        throw new Error(`float16 ${i.toString(16)} became ${floats[i]}`)
    }
  })

  it('rounds to nearest, ties to even, subnormals and overflow included (S17)', () => {
    // Halfway points between neighbours, and their closest float32 neighbours on both sides, for every finite value.
    for (let i = 0; i < 0x7bff; i++) {
      const middle = (valueOf16(i) + valueOf16(i + 1)) / 2
      const [below, above] = [floatBelow(middle), floatAbove(middle)]
      const stored = floatsOf(bytesOf(Float16Array.of(below, middle, above, -middle)), 'f16')
      const even = valueOf16(i % 2 === 0 ? i : i + 1)
      if (
        stored[0] !== valueOf16(i) ||
        stored[1] !== even ||
        stored[2] !== valueOf16(i + 1) ||
        stored[3] !== -even
      )
        throw new Error(`rounding near ${middle}: ${[...stored]}`)
    }
    expect([
      ...floatsOf(bytesOf(Float16Array.of(65519.99, 65520, -1e9, 2 ** -25, 2 ** -25 * 1.001)), 'f16'),
    ]).toEqual([65504, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, 2 ** -24])
  })
})

describe('layouts', () => {
  it('stores a causal head as its lower triangle (S19)', () => {
    const { layout, bytes, heads } = throughStore(
      sourceOf([
        [1, 0, 0],
        [0.5, 0.5, 0],
        [0.25, 0.25, 0.5],
      ]),
      'f16',
    )
    expect(layout.codec).toBe('tri')
    expect(bytes.byteLength).toBe(2 * 6)
    expect([...floatsOf(bytes, 'f16')]).toEqual([1, 0.5, 0.5, 0.25, 0.25, 0.5])
    expect([...heads[0]!]).toEqual([1, 0, 0, 0.5, 0.5, 0, 0.25, 0.25, 0.5])
  })

  it('keeps one weight above the diagonal, whatever the model is said to be (S19)', () => {
    const rows = [
      [0.5, 0.5],
      [0.25, 0.75],
    ]
    const { layout, heads } = throughStore(sourceOf(rows), 'f32')
    expect(layout.codec).toBe('full')
    expect([...heads[0]!]).toEqual(rows.flat())
  })

  it('stores cross-attention, which is not square, in full (S19)', () => {
    const { layout, heads } = throughStore(
      sourceOf([
        [1, 0, 0],
        [0, 1, 0],
      ]),
      'f16',
    )
    expect(layout).toEqual({ codec: 'full', queries: 2, keys: 3, band: null })
    expect([...heads[0]!]).toEqual([1, 0, 0, 0, 1, 0])
  })

  it.each(['causal', 'window', 'both-ways'] as const)('gives %s heads back (S19)', (kind) => {
    for (const T of [1, 2, 7, 33, 64]) {
      const source = made(T, 3, kind, 5)
      const exact = throughStore(source, 'f32')
      const half = throughStore(source, 'f16')
      for (let h = 0; h < 3; h++) {
        const own = source.data.subarray(h * T * T, (h + 1) * T * T)
        expect(exact.heads[h]).toEqual(own)
        expect(half.heads[h]).toEqual(own.map(Math.f16round))
      }
      if (kind === 'window' && T > 7) expect(exact.layout).toMatchObject({ codec: 'band', band: 5 })
    }
  })

  it('widens a band for the one head that needs it (S19)', () => {
    const source = made(40, 2, 'window', 4)
    source.data[40 * 40 + 30 * 40 + 20] = 0.5 // head 1, query 30 looks 10 back
    const { layout, heads } = throughStore(source, 'f32')
    expect(layout.band).toBe(11)
    expect(heads[1]).toEqual(source.data.subarray(1600))
  })
})

// --- Internal helpers ---

/** A float16 value from its bits, written out independently. */
function valueOf16(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1
  const exponent = (bits >> 10) & 0x1f
  const fraction = bits & 0x3ff
  if (exponent === 0x1f) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}

function floatStep(value: number, step: number): number {
  const float = Float32Array.of(value)
  new Int32Array(float.buffer)[0]! += step
  return float[0]!
}
const floatBelow = (value: number) => floatStep(value, -1)
const floatAbove = (value: number) => floatStep(value, 1)
