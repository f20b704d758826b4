/** The best assignment against brute force, square, wide and tall. */
import { expect, test } from 'vitest'
import { createRandom } from '../random.ts'
import { bestAssignment } from './assignment.ts'

function bruteForce(score: readonly (readonly number[])[], row = 0, used = new Set<number>()): number {
  if (row === score.length) return 0
  let best = Number.NEGATIVE_INFINITY
  for (const [column, value] of score[row]!.entries()) {
    if (used.has(column)) continue
    used.add(column)
    best = Math.max(best, value + bruteForce(score, row + 1, used))
    used.delete(column)
  }
  return best
}

test('a table of four rows and six columns', () => {
  const score = [
    [0.549, 0.715, 0.603, 0.545, 0.424, 0.646],
    [0.438, 0.892, 0.964, 0.383, 0.792, 0.529],
    [0.568, 0.926, 0.071, 0.087, 0.02, 0.833],
    [0.778, 0.87, 0.979, 0.799, 0.461, 0.781],
  ]
  const columns = bestAssignment(score)
  expect(columns.reduce((sum, column, row) => sum + score[row]![column]!, 0)).toBeCloseTo(3.343, 10)
})

test.each([
  [5, 5],
  [3, 6],
])('random tables of %i × %i', (rows, columns) => {
  const random = createRandom(rows)
  for (let round = 0; round < 20; round++) {
    const score = Array.from({ length: rows }, () =>
      Array.from({ length: columns }, () => random.next() - 0.5),
    )
    const found = bestAssignment(score)
    expect(new Set(found).size).toBe(rows)
    expect(found.reduce((sum, column, row) => sum + score[row]![column]!, 0)).toBeCloseTo(
      bruteForce(score),
      10,
    )
  }
})

test('with fewer columns than rows some rows get none', () => {
  expect(bestAssignment([[1], [3], [2]])).toEqual([-1, 0, -1])
  expect(bestAssignment([])).toEqual([])
})
