import { expect, test } from 'vitest'
import { layoutArcs, MOST_ARCS } from './arcs.ts'

test('arcs go from the later token to the earlier one, strongest on top', () => {
  const arcs = layoutArcs(
    [
      { query: 9, target: 2 },
      { query: 5, target: 3 },
    ],
    [0.9, 0.1],
    10,
    100,
  )
  expect(arcs.map((a) => a.index)).toEqual([1, 0])
  expect(arcs[1]!.path.startsWith('M 95 100')).toBe(true)
  expect(arcs[1]!.path.endsWith('25 100')).toBe(true)
  expect(arcs[1]!.width).toBeGreaterThan(arcs[0]!.width)
})

test('a miss is still seen, and a long prompt keeps the strongest', () => {
  expect(layoutArcs([{ query: 3, target: 1 }], [0], 10, 100)[0]!.opacity).toBeGreaterThan(0.1)
  const pairs = Array.from({ length: MOST_ARCS + 50 }, (_, i) => ({ query: i + 2, target: i }))
  const arcs = layoutArcs(
    pairs,
    pairs.map((_, i) => i / 1000),
    10,
    100,
  )
  expect(arcs).toHaveLength(MOST_ARCS)
  expect(arcs[0]!.index).toBe(50)
})
