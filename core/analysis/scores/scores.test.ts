/** Each detector on hand-made patterns whose answer is known: L = 3, with and without BOS. */
import { describe, expect, test } from 'vitest'
import type { RepeatLayout } from '../sequences.ts'
import { REPEAT_SCORES, scoresNamed } from './index.ts'
import type { RepeatScore } from './score.ts'

function scoreOf(
  score: RepeatScore,
  layout: RepeatLayout,
  weight: (query: number, key: number) => number,
): number {
  const rows = Array.from(
    { length: layout.total - score.firstRow(layout) },
    (_, i) => score.firstRow(layout) + i,
  )
  return rows.reduce((sum, query) => sum + weight(query, score.key(query, layout)), 0) / rows.length
}

const one = (at: (query: number) => number) => (query: number, key: number) => (key === at(query) ? 1 : 0)

describe.each([0, 1])('offset %i', (offset) => {
  const layout = { offset, length: 3, total: offset + 6 }
  const value = (name: string, weight: (query: number, key: number) => number) =>
    scoreOf(scoresNamed([name])[0]!, layout, weight)

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
    expect(value('induction', uniform)).toBeCloseTo(second.reduce((a, b) => a + b) / 3, 12)
  })
})

test('names that are not known are refused with the known ones', () => {
  expect(() => scoresNamed(['inductoin'])).toThrow(/induction, previous_token/)
  expect(scoresNamed(['all'])).toHaveLength(REPEAT_SCORES.length)
})
