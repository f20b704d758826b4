/** Quantiles against a library, and what counts as more than noise. */
import { expect, test } from 'vitest'
import { createRandom } from '../random.ts'
import { clearBeyond, normalQuantile } from './noise.ts'

test('quantiles of the normal distribution', () => {
  expect(normalQuantile(0.975)).toBeCloseTo(1.9599639845400536, 8)
  expect(normalQuantile(1 - 0.05 / 2160)).toBeCloseTo(4.073578201851794, 7)
  expect(normalQuantile(0.5)).toBeCloseTo(0, 10)
})

test('a thousand heads that differ by noise alone: hardly any is clear; one that moved is', () => {
  const random = createRandom(3)
  const noise = () => Array.from({ length: 32 }, () => 0.1 * (random.next() + random.next() - 1))
  const clear = Array.from({ length: 1000 }, () => clearBeyond(noise(), 1000)).filter(Boolean)
  expect(clear.length).toBeLessThan(3)
  expect(
    clearBeyond(
      noise().map((value) => value + 0.1),
      1000,
    ),
  ).toBe(true)
})

test('rounding is not movement, and four sequences are too few', () => {
  expect(clearBeyond([2e-6, 2e-6, 2e-6, 2e-6, 2e-6, 2e-6], 1)).toBe(false)
  expect(clearBeyond([0.5, 0.5, 0.5, 0.5], 1)).toBe(false)
  expect(clearBeyond([Number.NaN, 0.5, 0.5, 0.5, 0.5], 1)).toBe(false)
})
