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

describe('detectors on hand-made patterns', () => {
  const named = (name: string) => scoresNamed([name])[0] as PatternScore
  // a b c a b c a b c: queries 3 to 8 have targets; the last three have two of them.
  const three = { ids: [1, 2, 3, 1, 2, 3, 1, 2, 3], offset: 0, length: 3 }

  test('prefix matching sums over all earlier copies, the occurrences are told apart', () => {
    const half = (q: number, k: number) => (k === q - 2 || k === q - 5 ? 0.5 : 0)
    // Queries 3, 4, 5 have one target, 6, 7, 8 two.
    expect(scoreOf(named('prefix_matching'), three, half)).toBeCloseTo((3 * 0.5 + 3 * 1) / 6, 6)
    expect(scoreOf(named('induction_first'), three, half)).toBeCloseTo(0.5, 6)
    expect(
      scoreOf(
        named('induction_last'),
        three,
        one((q) => q - 2),
      ),
    ).toBe(1)
    expect(
      scoreOf(
        named('induction_first'),
        three,
        one((q) => q - 2),
      ),
    ).toBe(0)
  })

  test('bigram induction: 1 for the copy with the same context, -1 for the other, 0 for both alike', () => {
    // x A B y A C x A: the query is the last A (7); B stands at 2, C at 5.
    const ids = [10, 1, 11, 12, 1, 13, 10, 1]
    const sequence = { ids, offset: 0, length: 0 }
    const score = named('ngram_induction')
    expect(score.places(sequence)).toEqual([{ query: 7, keys: [2], against: [5] }])
    expect(
      scoreOf(
        score,
        sequence,
        one(() => 2),
      ),
    ).toBe(1)
    expect(
      scoreOf(
        score,
        sequence,
        one(() => 5),
      ),
    ).toBe(-1)
    expect(scoreOf(score, sequence, () => 0.4)).toBe(0)
  })

  test('entropy and saturation of uniform and of one-hot rows', () => {
    const uniform = (q: number, k: number) => (k <= q ? 1 / (q + 1) : 0)
    const rows = [1, 2, 3, 4, 5, 6, 7, 8]
    const mean = (values: number[]) => values.reduce((a, b) => a + b) / values.length
    expect(scoreOf(named('entropy'), three, uniform)).toBeCloseTo(mean(rows.map((q) => Math.log(q + 1))), 5)
    expect(scoreOf(named('saturation'), three, uniform)).toBeCloseTo(mean(rows.map((q) => 1 / (q + 1))), 6)
    expect(
      scoreOf(
        named('entropy'),
        three,
        one((q) => q - 1),
      ),
    ).toBe(0)
    expect(
      scoreOf(
        named('saturation'),
        three,
        one((q) => q - 1),
      ),
    ).toBe(1)
  })

  test('score variance divides the scale out and leaves masked keys out', () => {
    const score = named('score_variance')
    const scores = Float32Array.from([1, 3, Number.NEGATIVE_INFINITY])
    const spec = { scoreScale: 0.5, dHead: 4 } as never
    const view = { spec, pattern: scores, from: 0, stride: 3, scores, valueNorm: null }
    // Var(1, 3) = 2 with n - 1; divided by 0.25 · 4.
    expect(score.measure!(view, { query: 0, keys: [] })).toBeNull()
    expect(score.measure!({ ...view, stride: 0 }, { query: 2, keys: [] })).toBeCloseTo(2, 12)
  })

  test('value-weighted induction counts what is moved', () => {
    const pattern = new Float32Array(36)
    pattern.set([0.5, 0, 0.25, 0.25], 4 * 6) // row 4 of six; its key is 2
    const valueNorm = (key: number) => [0, 9, 3, 1][key] ?? 1
    const view = { spec: {} as never, pattern, from: 0, stride: 6, scores: null, valueNorm }
    expect(named('value_weighted_induction').measure!(view, { query: 4, keys: [2] })).toBeCloseTo(0.75, 6)
    const silent = { ...view, valueNorm: () => 0 }
    expect(named('value_weighted_induction').measure!(silent, { query: 4, keys: [2] })).toBeNull()
  })
})

test('names that are not known are refused with the known ones', () => {
  expect(() => scoresNamed(['inductoin'])).toThrow(/induction, previous_token/)
  expect(scoresNamed(['all'])).toHaveLength(SCORES.length)
})
