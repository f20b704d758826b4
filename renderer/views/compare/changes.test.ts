import { expect, test } from 'vitest'
import { changesBy } from './changes.ts'

const delta = (value: number | null, clear: boolean) => ({
  value,
  n: 8,
  rows: 8,
  low: null,
  high: null,
  clear,
})
const head = (index: number, distance: number | null, induction: ReturnType<typeof delta>) => ({
  layer: 0,
  head: index,
  deltas: { induction },
  pattern_distance: distance,
  pattern_interval: null,
})
const reply = {
  heads: [
    head(0, 0, delta(0.4, false)),
    head(1, 0.2, delta(-0.3, true)),
    head(2, 0.5, delta(0.1, true)),
    head(3, null, delta(null, false)),
  ],
  weights: null,
}

test('noise comes after what is clear, whatever its size', () => {
  expect(changesBy(reply, 'induction').map((change) => change.head)).toEqual([1, 2, 0, 3])
  expect(changesBy(reply, 'induction').map((change) => change.clear)).toEqual([true, true, false, false])
})

test('distances rank by size; 0 is no change, null does not exist', () => {
  expect(changesBy(reply, 'distance').map((change) => [change.head, change.clear])).toEqual([
    [2, true],
    [1, true],
    [0, false],
    [3, false],
  ])
  expect(changesBy(reply, 'ov').every((change) => change.value === null)).toBe(true)
})
