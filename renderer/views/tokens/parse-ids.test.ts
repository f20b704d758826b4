import { expect, test } from 'vitest'
import { parseIds } from './parse-ids.ts'

test('ids are read with commas, spaces and brackets', () => {
  expect(parseIds('[0, 5  9\n2]', 10)).toEqual({ ids: [0, 5, 9, 2], problem: null })
  expect(parseIds('', 10)).toEqual({ ids: [], problem: null })
})

test('words and ids out of range are named', () => {
  expect(parseIds('1, two', 10).problem).toMatch(/two/)
  expect(parseIds('1, -2', 10).problem).toMatch(/-2/)
  expect(parseIds('1, 10', 10).problem).toMatch(/id 10 is out of range.*0 to 9/)
})
