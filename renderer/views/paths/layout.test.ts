import { expect, test } from 'vitest'
import { curveOf, layoutOf, placeLabels } from './layout.ts'

const shape = (layers: number, heads: number, cross = false) => ({
  layers,
  heads,
  parallel: false,
  mlpReceives: true,
  cross,
  source: cross,
})
const ROOM = { width: 640, height: 420 }

test('a small model stands in full: rows from below, ports inside their heads, nothing outside the room', () => {
  const { nodes, width, height } = layoutOf(shape(2, 8), ROOM, new Set())
  expect([width, height]).toEqual([640, 420])
  expect(nodes.size).toBe(2 * 9 + 2)
  const [low, high] = [nodes.get('L0H3')!, nodes.get('L1H3')!]
  expect(low.y).toBeGreaterThan(high.y + high.height)
  expect(nodes.get('embed')!.y).toBeGreaterThan(low.y + low.height)
  expect(nodes.get('logits')!.y + nodes.get('logits')!.height).toBeLessThan(high.y)
  expect(high.ports.map(({ name }) => name)).toEqual(['L1H3.q', 'L1H3.k', 'L1H3.v'])
  for (const { x, y, width: w, height: h, ports } of nodes.values()) {
    expect(x).toBeGreaterThanOrEqual(0)
    expect(x + w).toBeLessThanOrEqual(640)
    expect(y).toBeGreaterThanOrEqual(0)
    expect(y + h).toBeLessThanOrEqual(420)
    for (const port of ports) {
      expect(port.x).toBeGreaterThanOrEqual(x - 1e-9)
      expect(port.x + port.width).toBeLessThanOrEqual(x + w + 1e-9)
    }
  }
})

test('a large model: layers that matter in full, the others as dots; it scrolls rather than overlaps', () => {
  const { nodes, height } = layoutOf(shape(30, 9), ROOM, new Set([3, 29]))
  expect(nodes.get('L3H0')!.small).toBe(false)
  expect(nodes.get('L4H0')!.small).toBe(true)
  const column = Array.from({ length: 30 }, (_, layer) => nodes.get(`L${layer}H0`)!)
  for (let i = 1; i < 30; i++) expect(column[i]!.y + column[i]!.height).toBeLessThan(column[i - 1]!.y)
  expect(height).toBeGreaterThanOrEqual(420)
  const wide = layoutOf(shape(48, 48), ROOM, new Set())
  expect(wide.width).toBeGreaterThan(640)
  const row = Array.from({ length: 48 }, (_, head) => wide.nodes.get(`L0H${head}`)!)
  for (let i = 1; i < 48; i++) expect(row[i]!.x).toBeGreaterThanOrEqual(row[i - 1]!.x + row[i - 1]!.width)
})

test('a curve begins above its sender and ends at its port', () => {
  const layout = layoutOf(shape(2, 8), ROOM, new Set())
  const curve = curveOf(layout, 'L0H2', 'L1H7.k')!
  expect(curveOf(layout, 'L0H2', 'L1H7.v')!.at(0).x).toBeGreaterThan(curve.at(0).x)
  const [sender, port] = [layout.nodes.get('L0H2')!, layout.nodes.get('L1H7')!.ports[1]!]
  expect(curve.at(0)).toEqual({ x: sender.x + sender.width / 2, y: sender.y })
  expect(curve.at(1).x).toBeCloseTo(port.x + port.width / 2)
  expect(curve.at(1).y).toBeCloseTo(port.y + port.height)
  expect(curveOf(layout, 'L0H2', 'L9H7.k')).toBeNull()
})

test('numbers cover neither each other nor a node', () => {
  const layout = layoutOf(shape(2, 8), ROOM, new Set())
  const ends = ['L1H2.q', 'L1H2.k', 'L1H2.v', 'logits']
  const curves = ends.map((to) => curveOf(layout, 'L0H2', to)!)
  const spots = placeLabels(curves, { width: 40, height: 14 }, layout.nodes.values())
  for (const { x, y } of spots)
    for (const box of layout.nodes.values())
      expect(
        x + 20 <= box.x || x - 20 >= box.x + box.width || y + 7 <= box.y || y - 7 >= box.y + box.height,
      ).toBe(true)
  for (const [i, one] of spots.entries())
    for (const other of spots.slice(i + 1))
      expect(Math.abs(one.x - other.x) >= 40 || Math.abs(one.y - other.y) >= 14).toBe(true)
})

test('heads over the source stand above those over the own text, the source beside the embedding', () => {
  const { nodes, rows } = layoutOf(shape(2, 4, true), { width: 640, height: 520 }, new Set())
  expect(nodes.size).toBe(2 * 9 + 3)
  const [own, cross] = [nodes.get('L0H1')!, nodes.get('L0H1.cross')!]
  expect(cross.y + cross.height).toBeLessThan(own.y)
  expect(cross.ports.map(({ name }) => name)).toEqual(['L0H1.cross.q', 'L0H1.cross.k', 'L0H1.cross.v'])
  expect(nodes.get('L1H0')!.y + nodes.get('L1H0')!.height).toBeLessThan(cross.y)
  const [embed, source] = [nodes.get('embed')!, nodes.get('source')!]
  expect(source.y).toBe(embed.y)
  expect(source.x).toBeGreaterThan(embed.x + embed.width)
  expect(rows.map(({ name }) => name)).toEqual(['L0', 'L0 src', 'L1', 'L1 src'])
  const layout = layoutOf(shape(2, 4, true), { width: 640, height: 520 }, new Set())
  const curve = curveOf(layout, 'source', 'L1H2.cross.k')!
  const port = nodes.get('L1H2.cross')!.ports[1]!
  expect(curve.at(1).x).toBeCloseTo(port.x + port.width / 2)
})
