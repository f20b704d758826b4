/** Each detector on hand-made patterns whose answer is known: L = 3, with and without BOS. */
import { describe, expect, test } from 'vitest'
import { SCORES, scoresNamed } from './index.ts'
import { type PatternScore, weightAt } from './score.ts'

/** A score's mean over its rows on one hand-made pattern of one sequence. */
function scoreOf(
  score: PatternScore,
  sequence: { ids: number[]; offset: number; length: number },
  weight: (query: number, key: number) => number,
): number {
  const size = sequence.ids.length
  const pattern = Float32Array.from({ length: size * size }, (_, i) => weight(Math.floor(i / size), i % size))
  const view = { spec: {} as never, pattern, from: 0, stride: size, scores: null, valueNorm: null }
  const rows = score.places(sequence)
  return (
    rows.reduce((sum, place) => sum + (score.measure?.(view, place) ?? weightAt(view, place)), 0) /
    rows.length
  )
}

const one = (at: (query: number) => number) => (query: number, key: number) => (key === at(query) ? 1 : 0)

describe.each([0, 1])('offset %i', (offset) => {
  const ids = [...(offset ? [9] : []), 1, 2, 3, 1, 2, 3]
  const layout = { offset, length: 3, ids }
  const value = (name: string, weight: (query: number, key: number) => number) =>
    scoreOf(scoresNamed([name])[0] as PatternScore, layout, weight)

  test('a perfect head of each kind scores 1, and 0 under the others', () => {
    const perfect = {
      induction: one((q) => q - 2),
      previous_token: one((q) => q - 1),
      duplicate_token: one((q) => q - 3),
    }
    for (const [kind, weight] of Object.entries(perfect))
      for (const name of Object.keys(perfect))
        expect(value(name, weight), `${kind} under ${name}`).toBe(kind === name ? 1 : 0)
  })

  test('a sink scores 1 on every row', () => {
    expect(
      value(
        'first_token_sink',
        one(() => 0),
      ),
    ).toBe(1)
  })

  test('uniform attention gives the mean of 1 / (q + 1)', () => {
    const uniform = (q: number) => 1 / (q + 1)
    const second = [3, 4, 5].map((i) => 1 / (offset + i + 1))
    expect(value('induction', uniform)).toBeCloseTo(second.reduce((a, b) => a + b) / 3, 6)
  })
})

test('names that are not known are refused with the known ones', () => {
  expect(() => scoresNamed(['inductoin'])).toThrow(/induction, previous_token/)
  expect(scoresNamed(['all'])).toHaveLength(SCORES.length)
})
