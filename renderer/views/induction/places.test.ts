import { expect, test } from 'vitest'
import type { Pattern } from '../../api/pattern.ts'
import { placesOf } from './places.ts'

// Tokens: bos A B A; the later A is query 3, its B is key 2.
const pattern = (last: number[]): Pattern => ({
  size: 4,
  layout: 'tri',
  data: Float32Array.from([1, 0.5, 0.5, 0.4, 0.3, 0.3, ...last]),
})
const view = { pairs: [{ query: 3, source: 1, target: 2 }], heads: [] }

test('hit: B is the strongest key, the first position left out', () => {
  expect(placesOf(view, [0.3], pattern([0.6, 0.05, 0.3, 0.05]))[0]).toMatchObject({ hit: true, weight: 0.3 })
  expect(placesOf(view, [0.1], pattern([0.2, 0.6, 0.1, 0.1]))[0]!.hit).toBe(false)
})

test('no verdict before the pattern is there', () => {
  expect(placesOf(view, [0.3], null)[0]!.hit).toBeNull()
})

test('another B of the same A counts', () => {
  const two = {
    pairs: [
      { query: 3, source: 1, target: 2 },
      { query: 3, source: 0, target: 1 },
    ],
    heads: [],
  }
  const places = placesOf(two, [0.1, 0.6], pattern([0.2, 0.6, 0.1, 0.1]))
  expect(places.map((p) => p.hit)).toEqual([true, true])
})
