import { expect, test } from 'vitest'
import { edgeKey, edgeWidth, networkCurve, networkEdges, networkLayout } from './network.ts'

const cell = (from: [number, number], to: [number, number], value: number | null) => ({
  from: { layer: from[0], head: from[1] },
  to: { layer: to[0], head: to[1] },
  value,
})

test('an edge begins at the random baseline: what is at it or below, or has no value, is none', () => {
  const cells = [
    cell([0, 0], [1, 1], 0.5),
    cell([0, 1], [1, 1], 0.25),
    cell([0, 0], [1, 0], 0.1),
    cell([0, 1], [1, 0], null),
    cell([0, 1], [2, 0], 0.75),
  ]
  const found = networkEdges(cells, 0.25, { layer: 1, head: 0 })
  expect(found.edges.map((edge) => [edgeKey(edge), edge.over])).toEqual([
    ['0.0>1.1', 0.25],
    ['0.1>2.0', 0.5],
  ])
  expect([found.above, found.pairs]).toEqual([2, 4])
  expect(edgeWidth(0.5, 0.5)).toBeGreaterThan(edgeWidth(0.25, 0.5))
})

test('of many pairs the strongest are drawn, and those of the chosen head beside them', () => {
  const cells = Array.from({ length: 500 }, (_, i) => cell([0, i], [1, i % 7], 1 + ((i * 37) % 500) / 500))
  const weak = cells.reduce((a, b) => (b.value! < a.value! ? b : a))
  const { edges, above } = networkEdges(cells, 0.5, weak.from)
  expect(above).toBe(500)
  expect(edges).toHaveLength(61)
  expect(edges[0]).toMatchObject({ from: weak.from })
  const values = cells.map(({ value }) => value!).sort((a, b) => b - a)
  expect(edges.slice(1).map(({ value }) => value)).toEqual(values.slice(0, 60).reverse())
})

test('the lowest layer stands at the bottom, and a point is the head that stands there', () => {
  const layout = networkLayout({ layers: 3, heads: 4 }, { width: 434, height: 300 })
  expect(layout.top(0)).toBeGreaterThan(layout.top(2))
  const { left, top, box } = layout
  expect(layout.at(left(3) + box.width / 2, top(1) + box.height / 2)).toEqual({ layer: 1, head: 3 })
  expect(layout.at(4, 4)).toBeNull()
  const curve = networkCurve(layout, { from: { layer: 0, head: 0 }, to: { layer: 2, head: 3 } })
  expect(curve).toMatch(/^M[\d.]+ [\d.]+C[-\d. ]+$/)
  // Thirty layers do not fit: the sheet grows instead of the rows vanishing.
  expect(networkLayout({ layers: 30, heads: 4 }, { width: 400, height: 300 }).height).toBe(600)
})
