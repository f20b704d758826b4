import { expect, test } from 'vitest'
import type { Lens } from '../../../core/analysis/lens.ts'
import { changedPlaces, formatCarry, parseCarry, parseCell, reaches } from './cells.ts'

const limits = { borders: 3, lengths: { this: 38, other: 5 } }

test('cells are read back, and what is not there is no cell', () => {
  expect(parseCell('t2.36', limits)).toEqual({ side: 'this', border: 2, pos: 36 })
  for (const text of ['t3.0', 'o1.5', 'x1.1', 't1', '', 't-1.0']) expect(parseCell(text, limits)).toBeNull()
  const carry = {
    from: { side: 'this', border: 2, pos: 36 },
    to: { side: 'other', border: 1, pos: 4 },
  } as const
  expect(parseCarry(formatCarry(carry), limits)).toEqual(carry)
  expect(parseCarry('t2.36', limits)).toBeNull()
})

test('a cell reaches itself and what is above it from its position on', () => {
  const from = { border: 1, pos: 3 }
  const cone = (causal: boolean) =>
    [0, 1, 2].map((border) => [2, 3, 4].map((pos) => reaches(from, { border, pos }, causal)))
  expect(cone(true)).toEqual([
    [false, false, false],
    [false, true, false],
    [false, true, true],
  ])
  expect(cone(false)[2]).toEqual([true, true, true])
})

test('changed places are those with another likeliest token', () => {
  const lens = (...ids: number[]): Lens => ({
    warnings: [],
    layers: [
      {
        layer: 1,
        positions: ids.map((id, pos) => ({
          item: 0,
          pos,
          top: [{ id, logit: 1, prob: 1 }],
          entropy: 0,
          loss: null,
          rank: null,
          prob: null,
        })),
      },
    ],
  })
  expect([...changedPlaces(lens(1, 2, 3), lens(1, 5, 3))]).toEqual(['1.1'])
  expect(changedPlaces(lens(1), lens(1, 2)).size).toBe(0)
})
