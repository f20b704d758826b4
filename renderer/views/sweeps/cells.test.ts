import { expect, test } from 'vitest'
import { cellGrid } from './cells.ts'

test('a grid tells what is not computed from what is undefined, and ranks by magnitude', () => {
  const grid = cellGrid(
    [
      { layer: 0, pos: 0, v: 0.25 },
      { layer: 1, pos: 2, v: -4 },
      { layer: 1, pos: 1, v: null },
      { layer: 0, pos: 0, v: 0.5 },
    ],
    3,
    (cell) => cell.v,
  )
  expect(grid.value(0, 0)).toBe(0.5)
  expect(grid.value(1, 1)).toBeNull()
  expect(grid.value(0, 1)).toBeUndefined()
  expect(grid.most).toBe(4)
  expect(grid.strongest.map((c) => c.v)).toEqual([-4, 0.5])
})
