import { expect, test } from 'vitest'
import type { Pattern } from '../api/pattern.ts'
import { LEVELS, signedPixels } from './color.ts'
import { paintDifference } from './difference-pixels.ts'
import { differenceReading, meanOfRows, weightReading } from './reading.ts'

const tri = (...data: number[]): Pattern => ({
  size: (Math.sqrt(8 * data.length + 1) - 1) / 2,
  layout: 'tri',
  data: new Float32Array(data),
})
const before = tri(1, 0.75, 0.25, 0.5, 0.5, 0)
const after = tri(1, 0.25, 0.75, 0.5, 0.25, 0.25)
const show = { theme: 'light', log: false, bos: 'show' } as const

test('the scale is symmetric about 0, and its ends are the largest difference', () => {
  const { pixels, most, side } = paintDifference(before, after, show)
  const ramp = signedPixels('light')
  expect(most).toBe(0.5)
  expect(side).toBe(3)
  expect(ramp[LEVELS - 1]).toBe(0xffffffff)
  expect(pixels[0]).toBe(0xffffffff)
  expect(pixels[3]).toBe(ramp[0]) // -0.5
  expect(pixels[4]).toBe(ramp[2 * LEVELS - 2]) // +0.5
  expect(pixels[1]).toBe(0) // above the diagonal: transparent
})

test('a pooled block keeps the largest difference with its sign', () => {
  const { pixels, side } = paintDifference(before, after, show, 2)
  const ramp = signedPixels('light')
  expect(side).toBe(2)
  expect([ramp[0], ramp[2 * LEVELS - 2]]).toContain(pixels[0])
})

test('hidden cells have no difference; equal patterns have no scale', () => {
  expect(paintDifference(before, after, { ...show, bos: 'hide' }).pixels[3]).toBe(0)
  expect(paintDifference(before, before, show).most).toBe(0)
})

test('readings', () => {
  expect(differenceReading(before, after, 'show').at(1, 1)).toBe(0.5)
  expect(differenceReading(before, after, 'hide').at(1, 0)).toBeNull()
  expect(meanOfRows(weightReading(before, 'show'), [0, 1, 2], 1)).toBeCloseTo(0.375)
  expect(meanOfRows(weightReading(before, 'show'), [0, 1], 2)).toBeNull()
})
