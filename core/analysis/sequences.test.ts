import { expect, test } from 'vitest'
import { givenRepeats, randomRepeats } from './sequences.ts'

const model = {
  spec: { dVocab: 40 },
  tokenizer: { vocabSize: 40, bosId: 0, specialIds: new Set([0, 7]) },
} as unknown as Parameters<typeof randomRepeats>[0]

test('two equal halves of different ordinary tokens behind BOS', () => {
  const { ids, layout } = randomRepeats(model, { length: 10, batch: 4, seed: 1, bos: true })
  expect(layout).toEqual({ offset: 1, length: 10, total: 21 })
  for (const row of ids) {
    expect(row).toHaveLength(21)
    expect(row[0]).toBe(0)
    expect(row.slice(1, 11)).toEqual(row.slice(11))
    expect(new Set(row.slice(1, 11)).size).toBe(10)
    expect(row.slice(1).some((id) => id === 0 || id === 7)).toBe(false)
  }
  expect(new Set(ids.map(String)).size).toBe(4)
})

test('the same seed gives the same sequences, another gives others', () => {
  const draw = (seed: number) => randomRepeats(model, { length: 5, batch: 2, seed, bos: false }).ids
  expect(draw(3)).toEqual(draw(3))
  expect(draw(3)).not.toEqual(draw(4))
})

test('a copy longer than the vocabulary is refused with numbers', () => {
  expect(() => randomRepeats(model, { length: 39, batch: 1, seed: 1, bos: false })).toThrow(
    /39 different.*38/,
  )
})

test('given sequences are checked', () => {
  expect(givenRepeats([[9, 1, 2, 1, 2]]).layout).toEqual({ offset: 1, length: 2, total: 5 })
  expect(() => givenRepeats([[1, 2, 1, 3]])).toThrow('differ at place 1')
  expect(() =>
    givenRepeats([
      [1, 2, 1, 2],
      [0, 1, 2, 1, 2],
    ]),
  ).toThrow('sequence 1 has 5 ids')
  expect(() => givenRepeats([])).toThrow('at least one')
})
