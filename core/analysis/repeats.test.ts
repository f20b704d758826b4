import { expect, test } from 'vitest'
import { repeatPairs } from './repeats.ts'

test('A B … A points at B', () => {
  expect(repeatPairs([5, 6, 7, 5])).toEqual([{ query: 3, source: 0, target: 1 }])
})

test('adjacent copies have no token between them', () => {
  expect(repeatPairs([5, 5])).toEqual([])
  expect(repeatPairs([5, 5, 5])).toEqual([{ query: 2, source: 0, target: 1 }])
})

test('every earlier copy counts, in order', () => {
  expect(repeatPairs([1, 2, 1, 3, 1]).filter((pair) => pair.query === 4)).toEqual([
    { query: 4, source: 0, target: 1 },
    { query: 4, source: 2, target: 3 },
  ])
})
