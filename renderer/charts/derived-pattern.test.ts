import { expect, test } from 'vitest'
import type { Pattern } from '../api/pattern.ts'
import { leftOutPixel, rampPixels } from './color.ts'
import { bosOfDerived, derivePattern, onOneScale } from './derived-pattern.ts'
import { paintPattern, shownWeight } from './pattern-pixels.ts'
import { weightReading } from './reading.ts'

// 1 | .75 .25 | .5 .125 .375
const weights: Pattern = {
  size: 3,
  layout: 'tri',
  data: Float32Array.from([1, 0.75, 0.25, 0.5, 0.125, 0.375]),
}
const half: Pattern = {
  ...weights,
  data: Uint16Array.from([0x3c00, 0x3a00, 0x3400, 0x3800, 0x3000, 0x3600]),
}
const plain = { norms: null, mass: null, bos: 'show' as const }

test('nothing asked: the stored pattern itself', () => {
  expect(derivePattern(half, plain)).toBe(half)
  expect(bosOfDerived({ ...plain, bos: 'renormalise' })).toBe('renormalise')
})

test('weights times lengths of values, from both codecs, with the end of the scale', () => {
  for (const pattern of [weights, half]) {
    const made = derivePattern(pattern, { ...plain, norms: [0, 8, 2] })
    expect([...made.data]).toEqual([0, 0, 2, 0, 1, 0.75])
    expect(made.most).toBe(2)
    expect(weightReading(made, 'show').most).toBe(2)
    expect(derivePattern(pattern, { ...plain, norms: [0, 8, 2] })).not.toBe(pattern)
  }
})

test('the largest value has the darkest pixel, whatever its size', () => {
  const made = derivePattern(weights, { ...plain, norms: [0, 8, 2] })
  const { pixels } = paintPattern(made, { theme: 'light', log: false, bos: 'show' })
  const ramp = rampPixels('light')
  expect([pixels[0], pixels[4], pixels[1]]).toEqual([ramp[0], ramp.at(-1), 0])
})

test('renormalising comes before the lengths, and the first key is then hidden', () => {
  const of = { ...plain, norms: [1, 2, 1], bos: 'renormalise' as const }
  const made = derivePattern(weights, of)
  expect(bosOfDerived(of)).toBe('hide')
  expect(shownWeight(made, 2, 1, 'hide')).toBeCloseTo((0.125 / 0.5) * 2)
  expect(shownWeight(made, 2, 2, 'hide')).toBeCloseTo(0.75)
  expect(shownWeight(made, 2, 0, 'hide')).toBeNull()
})

test('the fewest keys that hold a share of the row stay; the others are left out, which is not 0', () => {
  const made = derivePattern(weights, { ...plain, mass: 0.7 })
  expect(shownWeight(made, 1, 0, 'show')).toBe(0.75)
  expect(shownWeight(made, 1, 1, 'show')).toBeNull()
  expect(shownWeight(made, 2, 0, 'show')).toBe(0.5)
  expect(shownWeight(made, 2, 1, 'show')).toBeNull()
  expect(shownWeight(made, 2, 2, 'show')).toBe(0.375)
  const { pixels } = paintPattern(made, { theme: 'light', log: false, bos: 'show' })
  expect(pixels[4]).toBe(leftOutPixel('light'))
  expect(pixels[5]).toBe(0)
  expect(leftOutPixel('light')).not.toBe(rampPixels('light')[0])
  // A block keeps its largest value beside what is left out.
  expect(paintPattern(made, { theme: 'light', log: false, bos: 'show' }, 3).pixels[0]).toBe(
    rampPixels('light').at(-1),
  )
})

test('a share is of what is shown: without the first token', () => {
  const made = derivePattern(weights, { ...plain, mass: 0.7, bos: 'hide' })
  expect(shownWeight(made, 2, 2, 'hide')).toBe(0.375)
  expect(shownWeight(made, 2, 1, 'hide')).toBeNull()
})

test('a head without a number for a key has no value there', () => {
  const made = derivePattern(weights, { ...plain, norms: [1, null, 1] })
  expect(shownWeight(made, 2, 1, 'show')).toBeNull()
})

test('two that are compared have one scale', () => {
  const a = derivePattern(weights, { ...plain, norms: [0, 8, 2] })
  const b = derivePattern(half, { ...plain, norms: [1, 1, 1] })
  const [left, right] = onOneScale(a, b)
  expect(left).toBe(a)
  expect([right.most, right.data]).toEqual([2, b.data])
  expect(onOneScale(a, b)[1]).toBe(right) // its picture is kept
  expect(onOneScale(weights, half)).toEqual([weights, half])
})
