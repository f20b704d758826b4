import { expect, test } from 'vitest'
import { fittingLength, givenRepeats, randomRepeats } from './sequences.ts'

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

test('unasked, a copy is as long as tokens and positions allow, and says when it is short', () => {
  const of = (positional: string, nCtx: number) =>
    [{ spec: { positional, nCtx } }] as unknown as Parameters<typeof fittingLength>[0]
  expect(fittingLength(of('learned', 1024), 8000, true)).toEqual({ length: 48, note: null })
  expect(fittingLength(of('learned', 97), 48, true)).toEqual({ length: 48, note: null })
  // 1 + 2 · 15 = 31 of 32 positions.
  const short = fittingLength(of('learned', 32), 8000, true)
  expect(short.length).toBe(15)
  expect(short.note).toMatch(/15 tokens instead of 48: there are only 32 positions/)
  const few = fittingLength(of('rotary', 32), 38, true)
  expect(few.length).toBe(38)
  expect(few.note).toMatch(/38 tokens instead of 48: there are only 38 ordinary tokens/)
  expect(() => fittingLength(of('learned', 1024), 1, false)).toThrow('only 1 ordinary tokens')
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
