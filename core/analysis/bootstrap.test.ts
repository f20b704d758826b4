import { expect, test } from 'vitest'
import { meanScore } from './bootstrap.ts'

test('equal values have an interval of width 0', () => {
  expect(meanScore([0.5, 0.5, 0.5, 0.5, 0.5], 10, 1)).toEqual({
    value: 0.5,
    n: 5,
    rows: 10,
    low: 0.5,
    high: 0.5,
  })
})

test('the interval holds the mean, shrinks with n, and is the same for the same seed', () => {
  const few = Array.from({ length: 8 }, (_, i) => i / 7)
  const many = Array.from({ length: 200 }, (_, i) => (i % 8) / 7)
  const a = meanScore(few, 8, 3)
  expect(a.low!).toBeLessThan(a.value!)
  expect(a.high!).toBeGreaterThan(a.value!)
  expect(meanScore(few, 8, 3)).toEqual(a)
  const b = meanScore(many, 200, 3)
  expect(b.high! - b.low!).toBeLessThan((a.high! - a.low!) / 3)
})

test('the width is that of the normal approximation', () => {
  const values = Array.from({ length: 400 }, (_, i) => (i % 2 === 0 ? 0 : 1))
  const { low, high } = meanScore(values, 400, 1)
  // 2 · 1.96 · 0.5 / √400
  expect(high! - low!).toBeCloseTo(0.098, 2)
})

test('too few, none, or broken values say why', () => {
  expect(meanScore([1, 2], 2, 1)).toMatchObject({
    value: 1.5,
    low: null,
    why: expect.stringContaining('needs 5'),
  })
  expect(meanScore([], 0, 1)).toMatchObject({ value: null, why: expect.any(String) })
  expect(meanScore([Number.NaN, 1, 1, 1, 1], 5, 1)).toMatchObject({ value: null, why: expect.any(String) })
})
