import { expect, test } from 'vitest'
import { decodeFloats } from './dtypes.ts'

/** The value of a 16-bit pattern by the definition of the format, for comparison with the fast ways. */
function byDefinition(bits: number, exponentBits: number, fractionBits: number): number {
  const sign = bits >> 15 ? -1 : 1
  const exponent = (bits >> fractionBits) & (2 ** exponentBits - 1)
  const fraction = bits & (2 ** fractionBits - 1)
  const bias = 2 ** (exponentBits - 1) - 1
  if (exponent === 2 ** exponentBits - 1) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY
  if (exponent === 0) return sign * fraction * 2 ** (1 - bias - fractionBits)
  return sign * (1 + fraction / 2 ** fractionBits) * 2 ** (exponent - bias)
}

test.each([
  ['F16', 5, 10],
  ['BF16', 8, 7],
] as const)('every %s pattern is decoded exactly', (dtype, exponentBits, fractionBits) => {
  const bits = Uint16Array.from({ length: 65536 }, (_, i) => i)
  const out = new Float32Array(65536)
  decodeFloats(dtype, new Uint8Array(bits.buffer), out)
  const wrong = [...bits].filter(
    (pattern) => !Object.is(out[pattern], byDefinition(pattern, exponentBits, fractionBits)),
  )
  expect(wrong).toEqual([])
})

test('F64 rounds to the nearest float32', () => {
  const out = new Float32Array(3)
  decodeFloats('F64', new Uint8Array(Float64Array.of(0.1, 1e300, -3).buffer), out)
  expect([...out]).toEqual([Math.fround(0.1), Number.POSITIVE_INFINITY, -3])
})

test('every F8_E5M2 pattern is the upper half of a float16', () => {
  const out = new Float32Array(256)
  decodeFloats(
    'F8_E5M2',
    Uint8Array.from({ length: 256 }, (_, i) => i),
    out,
  )
  expect([...out]).toEqual(Array.from({ length: 256 }, (_, bits) => byDefinition(bits << 8, 5, 10)))
})

test('every F8_E4M3 pattern: bias 7, no infinity, all ones are NaN', () => {
  const out = new Float32Array(256)
  decodeFloats(
    'F8_E4M3',
    Uint8Array.from({ length: 256 }, (_, i) => i),
    out,
  )
  const want = Array.from({ length: 256 }, (_, bits) => {
    const [sign, exponent, fraction] = [bits >> 7 ? -1 : 1, (bits >> 3) & 15, bits & 7]
    if (exponent === 15 && fraction === 7) return Number.NaN
    return sign * (exponent === 0 ? (fraction / 8) * 2 ** -6 : (1 + fraction / 8) * 2 ** (exponent - 7))
  })
  expect([...out]).toEqual(want)
  expect(Math.max(...out.filter(Number.isFinite))).toBe(448)
})
