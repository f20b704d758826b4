import { expect, it } from 'vitest'
import { finite } from './finite.ts'

it('makes null of what JSON does not have, and says why', () => {
  expect(finite({ a: Number.NaN, b: [1, Number.POSITIVE_INFINITY], c: { d: 2 } })).toEqual({
    a: null,
    b: [1, null],
    c: { d: 2 },
    why: 'a is NaN: not a finite number',
  })
  expect(finite({ value: -Infinity, why: 'masked' })).toEqual({ value: null, why: 'masked' })
  expect(finite(Float32Array.of(1.5, Number.NaN))).toEqual([1.5, null])
})
