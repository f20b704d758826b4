import { expect, test } from 'vitest'
import { reaches, readReceiver, readSender } from './path-names.ts'

const joined = (from: string, to: string, parallel = false) =>
  reaches(readSender(from)!, readReceiver(to)!, parallel)

test('names of both ends, and what is none', () => {
  expect(readSender('L12H3')).toEqual({ name: 'L12H3', layer: 12, head: 3, part: 'head' })
  expect(readSender('L1H3.cross')).toMatchObject({ part: 'cross', head: 3 })
  expect(readSender('L0.mlp')).toMatchObject({ part: 'mlp', layer: 0, head: null })
  expect(readSender('embed')).toMatchObject({ part: 'embed', layer: -1 })
  expect(readReceiver('L7H2.k')).toEqual({ name: 'L7H2.k', layer: 7, head: 2, part: 'k', cross: false })
  expect(readReceiver('L7H2.cross.q')).toMatchObject({ part: 'q', head: 2, cross: true })
  expect(readSender('source')).toMatchObject({ part: 'source', layer: -1 })
  expect(readReceiver('L7.mlp')).toMatchObject({ part: 'mlp', head: null })
  for (const name of ['', 'L1', 'L1H2.q', 'l1h2', 'L1H', 'logits', 'L-1H0'])
    expect(readSender(name)).toBeNull()
  for (const name of ['', 'L1H2', 'L1H2.z', 'embed', 'L1.attn']) expect(readReceiver(name)).toBeNull()
})

test('a sender reaches what is computed after it', () => {
  expect(joined('embed', 'L0H1.q')).toBe(true)
  expect(joined('L0H1', 'L1H0.k')).toBe(true)
  expect(joined('L0H1', 'L0H0.k')).toBe(false)
  expect(joined('L1H0', 'L0H0.k')).toBe(false)
  expect(joined('L5.mlp', 'logits')).toBe(true)
  expect(joined('L1H0', 'L1.mlp')).toBe(true)
  expect(joined('L1H0', 'L1.mlp', true)).toBe(false)
  expect(joined('L1.mlp', 'L1.mlp')).toBe(false)
})

test('cross-attention asks after its block has looked at its own text; its keys and values are the source', () => {
  expect(joined('L1H0', 'L1H0.cross.q')).toBe(true)
  expect(joined('L1H1.cross', 'L1H0.cross.q')).toBe(false)
  expect(joined('L1.mlp', 'L1H0.cross.q')).toBe(false)
  expect(joined('L0.mlp', 'L1H0.cross.q')).toBe(true)
  expect(joined('L1H1.cross', 'L1.mlp')).toBe(true)
  expect(joined('source', 'L1H0.cross.k')).toBe(true)
  expect(joined('source', 'L1H0.cross.q')).toBe(false)
  expect(joined('source', 'L1H0.k')).toBe(false)
  expect(joined('source', 'logits')).toBe(false)
  expect(joined('L0H0', 'L1H0.cross.v')).toBe(false)
})
