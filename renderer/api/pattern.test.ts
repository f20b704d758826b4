import { expect, test } from 'vitest'
import { columnOf, decodePattern, HALF, rowOf, weightAt } from './pattern.ts'

const headers = (shape: number[], dtype: string, codec: string) =>
  new Map([
    ['x-headscope-shape', JSON.stringify(shape)],
    ['x-headscope-dtype', dtype],
    ['x-headscope-codec', codec],
  ]) as unknown as { get(name: string): string | null }

test('the float16 table knows normal, subnormal and special codes', () => {
  expect(HALF[0x3c00]).toBe(1)
  expect(HALF[0x3800]).toBe(0.5)
  expect(HALF[0x3555]).toBeCloseTo(1 / 3, 3)
  expect(HALF[0x0001]).toBe(2 ** -24)
  expect(HALF[0x03ff]).toBe(1023 * 2 ** -24)
  expect(HALF[0x8000]).toBe(-0)
  expect(HALF[0x7c00]).toBe(Number.POSITIVE_INFINITY)
  expect(HALF[0x7e00]).toBeNaN()
})

test('a triangular float16 pattern is read by query and key', () => {
  const codes = Uint16Array.from([0x3c00, 0x3800, 0x3800, 0x3400, 0x3800, 0x3400]) // 1 | .5 .5 | .25 .5 .25
  const pattern = decodePattern(headers([3, 3], 'f16', 'tri'), codes.buffer)
  expect(pattern.size).toBe(3)
  expect(weightAt(pattern, 2, 1)).toBe(0.5)
  expect(weightAt(pattern, 0, 2)).toBe(0)
  expect([...rowOf(pattern, 1)]).toEqual([0.5, 0.5, Number.NaN])
  expect([...columnOf(pattern, 1)]).toEqual([Number.NaN, 0.5, 0.5])
})

test('a full float32 pattern keeps what is above the diagonal', () => {
  const weights = Float32Array.from([0.25, 0.75, 1, 0])
  const pattern = decodePattern(headers([2, 2], 'f32', 'full'), weights.buffer)
  expect(weightAt(pattern, 0, 1)).toBe(0.75)
  expect([...rowOf(pattern, 0)]).toEqual([0.25, 0.75])
})

test('a length that does not fit the shape is refused', () => {
  expect(() => decodePattern(headers([3, 3], 'f16', 'tri'), new Uint16Array(5).buffer)).toThrow(/expected 6/)
  expect(() => decodePattern(headers([], 'f16', 'tri'), new ArrayBuffer(0))).toThrow(/pattern/)
})
