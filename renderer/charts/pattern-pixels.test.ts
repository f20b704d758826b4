import { expect, test } from 'vitest'
import { HALF, type Pattern } from '../api/pattern.ts'
import { rampPixels } from './color.ts'
import { type Display, paintPattern, shownWeight } from './pattern-pixels.ts'

const show: Display = { theme: 'light', log: false, bos: 'show' }
const ramp = rampPixels('light')
const [zero, one] = [ramp[0], ramp[ramp.length - 1]]

// 1 | 1 0 | .5 0 .5
const half: Pattern = {
  size: 3,
  layout: 'tri',
  data: Uint16Array.from([0x3c00, 0x3c00, 0, 0x3800, 0, 0x3800]),
}
const single: Pattern = { size: 3, layout: 'tri', data: Float32Array.from([1, 1, 0, 0.5, 0, 0.5]) }

test('0, 1 and a cell that does not exist are three different pixels', () => {
  const { side, pixels } = paintPattern(half, show)
  expect(side).toBe(3)
  expect(pixels[0]).toBe(one)
  expect(pixels[4]).toBe(zero)
  expect(pixels[1]).toBe(0)
  expect(zero).not.toBe(0)
})

test('float16 and float32 give the same picture', () => {
  for (const bos of ['show', 'hide', 'renormalise'] as const) {
    for (const log of [false, true]) {
      const display: Display = { theme: 'dark', log, bos }
      expect(paintPattern(half, display).pixels).toEqual(paintPattern(single, display).pixels)
    }
  }
})

test('hiding the first position leaves its column blank, renormalising lifts the rest', () => {
  const hidden = paintPattern(half, { ...show, bos: 'hide' }).pixels
  expect([hidden[0], hidden[3], hidden[6]]).toEqual([0, 0, 0])
  const lifted = paintPattern(half, { ...show, bos: 'renormalise' }).pixels
  expect(lifted[8]).toBe(one)
  expect(lifted[4]).toBe(0) // row 1 looks at nothing else: there is no value
  expect(shownWeight(half, 2, 2, 'renormalise')).toBe(1)
  expect(shownWeight(half, 1, 1, 'renormalise')).toBeNull()
  expect(shownWeight(half, 2, 0, 'hide')).toBeNull()
  expect(shownWeight(half, 0, 1, 'show')).toBeNull()
})

test('pooling keeps single bright cells', () => {
  const size = 9
  const data = new Uint16Array((size * (size + 1)) / 2)
  data[(7 * 8) / 2 + 4] = 0x3c00 // (7, 4)
  const { side, pixels } = paintPattern({ size, layout: 'tri', data }, show, 4)
  expect(side).toBe(3)
  expect(pixels[1 * 3 + 1]).toBe(one)
  expect(pixels[2]).toBe(0)
})

test('pooled float16 and float32 give the same picture', () => {
  const size = 23
  const codes = Uint16Array.from({ length: (size * (size + 1)) / 2 }, (_, i) => (i * 7919) % 0x3c01)
  const tri: Pattern = { size, layout: 'tri', data: codes }
  const floats: Pattern = { size, layout: 'tri', data: Float32Array.from(codes, (code) => HALF[code]!) }
  for (const bos of ['show', 'hide'] as const) {
    for (const pool of [2, 3, 5]) {
      const display = { ...show, bos }
      expect(paintPattern(tri, display, pool).pixels).toEqual(paintPattern(floats, display, pool).pixels)
    }
  }
})

test('the log scale tells 0.001 from 0', () => {
  const pattern: Pattern = { size: 1, layout: 'full', data: Float32Array.from([0.001]) }
  expect(paintPattern(pattern, { ...show, log: true }).pixels[0]).not.toBe(zero)
})
