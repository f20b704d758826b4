/** Rollout and flow of three tokens, two layers and two heads; expected values from numpy and a maximum-flow library. */
import { expect, test } from 'vitest'
import { flow, rollout, rolloutRow } from './summaries.ts'

const patterns = [
  { heads: 2, data: [1, 0, 0, 0.5, 0.5, 0, 0.2, 0.3, 0.5, 1, 0, 0, 0.1, 0.9, 0, 0.6, 0.2, 0.2] },
  { heads: 2, data: [1, 0, 0, 0.3, 0.7, 0, 0.1, 0.1, 0.8, 1, 0, 0, 0.9, 0.1, 0, 0.3, 0.4, 0.3] },
]

test('rollout', () => {
  const expected = [1, 0, 0, 0.405, 0.595, 0, 0.27375, 0.203125, 0.523125]
  for (const [i, value] of rollout(patterns, 3).entries()) expect(value).toBeCloseTo(expected[i]!, 12)
})

test('flow', () => {
  const expected = [
    [1, 0, 0],
    [0.45, 0.7, 0],
    [0.425, 0.25, 0.675],
  ]
  for (const [query, row] of expected.entries())
    for (const [key, value] of flow(patterns, 3, query).entries()) expect(value).toBeCloseTo(row[key]!, 10)
})

test('without the first position the rows still sum to 1, and it receives nothing from the others', () => {
  const result = rollout(patterns, 3, { withoutFirst: true })
  for (let q = 0; q < 3; q++)
    expect(result.slice(3 * q, 3 * q + 3).reduce((a, b) => a + b)).toBeCloseTo(1, 12)
  expect([result[3], result[6]]).toEqual([0, 0])
})

test('no layer is the identity; a position outside is refused', () => {
  expect([...rollout(patterns, 3, { layers: 0 })]).toEqual([1, 0, 0, 0, 1, 0, 0, 0, 1])
  expect(() => flow(patterns, 3, 3)).toThrow(/outside/)
})

test('one row of the rollout is that row of the whole', () => {
  const patterns = [3, 5].map((seed) => {
    // Two heads of four positions: any causal rows that sum to 1.
    const data = new Float64Array(2 * 16)
    for (let row = 0; row < 8; row++) {
      const q = row % 4
      const raw = Array.from({ length: q + 1 }, (_, k) => ((seed * (row + 1) * (k + 2)) % 7) + 1)
      const sum = raw.reduce((a, b) => a + b)
      for (let k = 0; k <= q; k++) data[row * 4 + k] = raw[k]! / sum
    }
    return { heads: 2, data }
  })
  for (const withoutFirst of [false, true]) {
    const whole = rollout(patterns, 4, { withoutFirst })
    for (let q = 0; q < 4; q++)
      for (const [k, value] of rolloutRow(patterns, 4, q, { withoutFirst }).entries())
        expect(value).toBeCloseTo(whole[q * 4 + k]!, 12)
  }
})
