import { expect, test } from 'vitest'
import { LEVELS, signedPixels } from './color.ts'
import { effectPixels } from './effect-grid.tsx'

test('0, undefined and not computed are three different pixels; the lowest layer is at the bottom', () => {
  const values = [
    [0, 2, undefined],
    [null, -2, 1],
  ]
  const pixels = effectPixels(2, 3, (layer, column) => values[layer]![column], 2, 'light')
  const ramp = signedPixels('light')
  expect(pixels[3]).toBe(ramp[LEVELS - 1]) // 0
  expect(pixels[4]).toBe(ramp[2 * LEVELS - 2]) // +2
  expect(pixels[5]).toBe(0) // not computed
  expect(pixels[1]).toBe(ramp[0]) // -2
  expect(new Set([pixels[0], pixels[3], pixels[5]]).size).toBe(3)
})

test('beyond the ends the colour is the end; with nothing to scale by it is the middle', () => {
  const ramp = signedPixels('dark')
  expect(effectPixels(1, 1, () => 7, 2, 'dark')[0]).toBe(ramp[2 * LEVELS - 2])
  expect(effectPixels(1, 1, () => 0, 0, 'dark')[0]).toBe(ramp[LEVELS - 1])
})
