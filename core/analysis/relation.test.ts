/** Sign test and correction against exact binomials, templates against a tokenizer of words. */
import { describe, expect, test } from 'vitest'
import { holm, relationTriples, signTest } from './relation.ts'
import { RELATION_EXAMPLE } from './relation-example.ts'

const words = new Map<string, number>()
const model = {
  encode: (text: string) =>
    (text.match(/\S+/g) ?? []).map((word) => {
      if (!words.has(word)) words.set(word, words.size)
      return words.get(word)!
    }),
  tokenizer: null,
}

test('the sign test is twice the smaller binomial tail', () => {
  expect(signTest(8, 2)).toBeCloseTo(0.109375, 10)
  expect(signTest(5, 5)).toBe(1)
  expect(signTest(20, 0)).toBeCloseTo(1.9073486328125e-6, 12)
  expect(signTest(150, 106)).toBeCloseTo(0.007081274057885294, 10)
  expect(signTest(0, 1)).toBe(1)
  expect(signTest(100_000, 0)).toBe(0) // below what a double holds
})

test('Holm multiplies the smallest by their number, keeps the order, and leaves out what does not exist', () => {
  const corrected = holm([0.01, null, 0.04, 0.03, 0.9])
  for (const [i, value] of [0.04, null, 0.09, 0.09, 0.9].entries())
    if (value === null) expect(corrected[i]).toBeNull()
    else expect(corrected[i]).toBeCloseTo(value, 12)
  expect(holm([0.6, 0.7])).toEqual([1, 1])
})

describe('templates', () => {
  test('every combination of words, and the places of its slots', () => {
    const triples = relationTriples(model, {
      name: 'test',
      template: 'the {target} {query} and the {distractor} one met the {query}',
      slots: { target: ['blue', 'red'], distractor: ['green'], query: ['frog', 'fox'] },
    })
    expect(triples).toHaveLength(4)
    for (const triple of triples) expect(triple).toMatchObject({ target: 1, distractor: 5, query: 9 })
  })

  test('a token that the tokenizer puts behind a text is no part of a word', () => {
    const bert = { ...model, encode: (text: string) => [-1, ...model.encode(text), -2] }
    const [triple] = relationTriples(bert, {
      name: 'test',
      template: 'the {target} {query} and the {distractor} one',
      slots: { target: ['blue'], distractor: ['green'], query: ['frog'] },
    })
    expect(triple).toMatchObject({ target: 2, query: 3, distractor: 6 })
    expect(triple!.ids.at(-1)).toBe(-2)
  })

  test('the shipped example has the right adjective nearer in one sentence and farther in the other', () => {
    const triples = relationTriples(model, RELATION_EXAMPLE)
    const nearer = triples.filter(({ target, distractor }) => target > distractor)
    expect(nearer).toHaveLength(triples.length / 2)
    for (const { query, target, distractor } of triples)
      expect(query).toBeGreaterThan(Math.max(target, distractor))
  })

  test('a missing slot, or a slot without words, is said', () => {
    const slots = { target: ['a'], distractor: ['b'], query: [] }
    expect(() => relationTriples(model, { name: '', template: '{target} {query}', slots })).toThrow(
      /lacks \{distractor\}/,
    )
    expect(() =>
      relationTriples(model, { name: '', template: '{target} {distractor} {query}', slots }),
    ).toThrow(/\{query\} without words/)
  })
})
