import { expect, test } from 'vitest'
import { mostChangedHeads } from './most-changed.ts'
import { difference, largestOf } from './pictures.ts'
import type { ComparedHead } from './types.ts'

const head = (layer: number, index: number, distance: number | null): ComparedHead => ({
  layer,
  head: index,
  deltas: {},
  pattern_distance: distance,
  pattern_interval: null,
})

test('heads beyond the noise come first, then the farthest; each once, and none that is alike', () => {
  const heads = [head(0, 0, 0.1), head(0, 1, 0), head(1, 0, 0.7), head(1, 1, null), head(1, 2, 0.3)]
  const moved = [
    { layer: 1, head: 2 },
    { layer: 0, head: 1 },
    { layer: 1, head: 2 },
  ]
  expect(mostChangedHeads(heads, moved).map((one) => `${one.layer}.${one.head}`)).toEqual([
    '1.2',
    '0.1',
    '1.0',
    '0.0',
  ])
})

test('a difference is drawn to its own largest magnitude, which is said', () => {
  const values = [0, 0, -0.02, 0.01]
  expect(largestOf(values)).toBe(0.02)
  expect(difference(values, 2, 'L0H0')).toContain('±0.020')
  expect(difference([0, 0, 0, 0], 2, 'L0H0')).toContain('no difference')
})
