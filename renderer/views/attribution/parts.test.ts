import { expect, test } from 'vitest'
import { MOST_PARTS, partsBySource, partsOf } from './parts.ts'

const component = (name: string, layer: number | null, head: number | null, value: number) => ({
  name,
  layer,
  head,
  value,
})
const few = [
  component('embed', null, null, 1),
  component('L0H0', 0, 0, -3),
  component('L0 mlp', 0, null, 0.5),
  component('L1H0', 1, 0, 2),
]
const sum = (parts: readonly { value: number }[]) => parts.reduce((total, part) => total + part.value, 0)

test('parts in depth, by size, and by layer have one sum', () => {
  expect(partsOf(few, 'part', 'depth').map((p) => p.name)).toEqual(['embed', 'L0H0', 'L0 mlp', 'L1H0'])
  expect(partsOf(few, 'part', 'size').map((p) => p.name)).toEqual(['L0H0', 'L1H0', 'embed', 'L0 mlp'])
  expect(partsOf(few, 'layer', 'depth')).toEqual([
    { name: 'embed', value: 1, head: null },
    { name: 'layer 0', value: -2.5, head: null },
    { name: 'layer 1', value: 2, head: null },
  ])
  expect(partsOf(few, 'part', 'depth')[1]!.head).toEqual({ layer: 0, head: 0 })
})

test('the smallest of many are one bar, so that nothing is lost', () => {
  const many = Array.from({ length: 300 }, (_, i) => component(`L${i}H0`, i, 0, i / 10 - 12))
  const parts = partsOf(many, 'part', 'depth')
  expect(parts).toHaveLength(MOST_PARTS + 1)
  expect(parts.at(-1)!.name).toBe('210 smaller')
  expect(sum(parts)).toBeCloseTo(sum(many))
})

test('by source position: what heads bring from each token, and the rest beside it, with the same sum', () => {
  const sources = [
    { layer: 0, head: 0, values: [-4, 1] },
    { layer: 1, head: 0, values: [0.5, 1.5] },
  ]
  const parts = partsBySource([...few, component('L0 b_O', 0, null, 0.25)], sources, ['a', 'b'], 'depth')
  expect(parts).toEqual([
    { name: 'embed', value: 1, head: null },
    { name: '0 a', value: -3.5, head: null, source: 0 },
    { name: '1 b', value: 2.5, head: null, source: 1 },
    { name: 'MLPs', value: 0.5, head: null },
    { name: 'biases', value: 0.25, head: null },
  ])
  expect(partsBySource(few, sources, ['a', 'b'], 'size')[0]!.name).toBe('0 a')
  // A head whose output was set to zero still reads: the difference is a bar of its own.
  const zeroed = few.map((one) => (one.name === 'L0H0' ? { ...one, value: 0 } : one))
  const edited = partsBySource(zeroed, sources, ['a', 'b'], 'depth')
  expect(edited.at(-1)).toEqual({ name: 'edited heads', value: 3, head: null })
  expect(sum(edited)).toBeCloseTo(sum(zeroed))
})
