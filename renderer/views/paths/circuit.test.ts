import { expect, test } from 'vitest'
import {
  countInto,
  describeEnd,
  formatEdges,
  openEnds,
  parseEdges,
  ranked,
  receiversOf,
  type Shape,
  toggled,
} from './circuit.ts'

const shape: Shape = {
  layers: 2,
  heads: 4,
  parallel: false,
  mlpReceives: true,
  cross: false,
  source: false,
}
/** A decoder that reads an encoder, over two sources. */
const reading: Shape = { ...shape, cross: true, source: true }

test('edges of an address: each once, and none that this model lacks', () => {
  const text =
    'embed:L0H1.v,L0H1:L1H3.k,L0H1:L1H3.k,L1H0:L0H0.q,L0H9:logits,L0H1:L2H0.q,nothing,L1.mlp:logits'
  expect(formatEdges(parseEdges(text, shape))).toBe('embed:L0H1.v,L0H1:L1H3.k,L1.mlp:logits')
  expect(parseEdges('', shape)).toEqual([])
  expect(parseEdges('L0H1:L1.mlp', { ...shape, mlpReceives: false })).toEqual([])
  expect(parseEdges('L0H1:L0.mlp', shape)).toHaveLength(1)
  expect(parseEdges('L0H1:L0.mlp', { ...shape, parallel: true })).toEqual([])
})

test('a head as a receiver is its queries, keys and values', () => {
  expect(receiversOf('L1H3').map(({ name }) => name)).toEqual(['L1H3.q', 'L1H3.k', 'L1H3.v'])
  expect(receiversOf('L1H3.k').map(({ name }) => name)).toEqual(['L1H3.k'])
  expect(receiversOf('logits')).toHaveLength(1)
  expect(receiversOf('nothing')).toEqual([])
})

test('as many edges as the engine ranks', () => {
  expect(countInto('logits', shape)).toBe(1 + 2 * 5)
  expect(countInto('L1H3', shape)).toBe(3 * 6)
  expect(countInto('L0H0.q', shape)).toBe(1)
  expect(countInto('L0.mlp', shape)).toBe(1 + 4)
})

test('a click adds what is missing, then takes it out', () => {
  const one = toggled([], 'L0H1', 'L1H3.k', shape)
  expect(one).toEqual([{ from: 'L0H1', to: 'L1H3.k' }])
  const three = toggled(one, 'L0H1', 'L1H3', shape)
  expect(formatEdges(three)).toBe('L0H1:L1H3.k,L0H1:L1H3.q,L0H1:L1H3.v')
  expect(toggled(three, 'L0H1', 'L1H3', shape)).toEqual([])
  expect(toggled(one, 'L1H1', 'L1H3.k', shape)).toEqual(one)
})

test('effects into a place, the largest first, and where the circuit goes on', () => {
  const cell = (from: string, to: string, delta: number | null) => ({ from, to, value: delta, delta })
  const cells = [
    cell('L0H1', 'L1H3.k', -1),
    cell('L0H2', 'L1H3.q', 3),
    cell('L0H3', 'L1H3.k', null),
    cell('L0H0', 'logits', 9),
  ]
  const effects = new Map(cells.map((one) => [`${one.from}:${one.to}`, one]))
  expect(ranked('L1H3', effects).map(({ from }) => from)).toEqual(['L0H2', 'L0H1'])
  expect(ranked('L1H3.k', effects).map(({ from }) => from)).toEqual(['L0H1'])
  const edges = parseEdges('L1H3:logits,L0H1:L1H3.k,embed:logits', shape)
  expect(openEnds(edges)).toEqual(['L0H1'])
})

test('ends in words', () => {
  expect(['embed', 'L1H3.k', 'L0.mlp', 'logits', 'L0H1'].map(describeEnd)).toEqual([
    'embedding',
    'L1H3 keys',
    'L0 MLP',
    'logits',
    'L0H1',
  ])
})

test('heads over the source: their queries hear the decoder, their keys and values the source', () => {
  const text = 'L0H1:L0H2.cross.q,source:L1H0.cross.k,L0H1:L1H0.cross.v,source:logits,L0H3.cross:L1.mlp'
  expect(formatEdges(parseEdges(text, reading))).toBe(
    'L0H1:L0H2.cross.q,source:L1H0.cross.k,L0H3.cross:L1.mlp',
  )
  expect(formatEdges(parseEdges(text, { ...reading, source: false }))).toBe(
    'L0H1:L0H2.cross.q,L0H3.cross:L1.mlp',
  )
  expect(parseEdges(text, shape)).toEqual([])
  expect(receiversOf('L1H3.cross').map(({ name }) => name)).toEqual([
    'L1H3.cross.q',
    'L1H3.cross.k',
    'L1H3.cross.v',
  ])
  expect(countInto('L1H0.cross.k', reading)).toBe(1)
  expect(countInto('L1H0.cross.k', { ...reading, source: false })).toBe(0)
  expect(countInto('L1H0.cross.q', reading)).toBe(1 + 9 + 4)
  expect(countInto('logits', reading)).toBe(1 + 2 * 9)
  expect(openEnds(parseEdges('source:L1H0.cross.k,L1H0.cross:logits', reading))).toEqual([])
  expect(describeEnd('L1H0.cross.k')).toBe('L1H0 cross keys')
})
