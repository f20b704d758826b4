import { expect, test } from 'vitest'
import { spanRows } from './span-rows.ts'

const item = (query: number, target: number, weight: number, hit: boolean, predicted = false) => ({
  window: 0,
  query,
  source: target - 1,
  target,
  token: 7,
  predicted,
  prob: null,
  follows: false,
  heads: [
    { layer: 0, head: 0, weight: 0, hit: false },
    { layer: 1, head: 2, weight, hit },
  ],
})
const items = [
  item(5, 2, 0.125, false),
  item(5, 4, 0.5, true, true),
  item(8, 3, 0.875, true),
  item(9, 4, 0.0625, false),
]
const settings = { hit: 'strongest', threshold: 0.2, seed: 1 } as const

test('a query is one row, with the weight on all its B and the strongest of them', () => {
  const { hits, misses } = spanRows({ items, settings }, { layer: 1, head: 2 })
  expect(hits.map(({ query, target, weight, predicted }) => [query, target, weight, predicted])).toEqual([
    [8, 3, 0.875, false],
    [5, 4, 0.625, true],
  ])
  expect(misses.map(({ query }) => query)).toEqual([9])
})

test('by weight, the sum counts', () => {
  const heavy = { items, settings: { ...settings, hit: 'weight', threshold: 0.6 } } as const
  expect(spanRows(heavy, { layer: 1, head: 2 }).hits.map(({ query }) => query)).toEqual([8, 5])
  expect(spanRows(heavy, { layer: 0, head: 0 }).misses).toHaveLength(3)
})
