import { expect, test } from 'vitest'
import { repeatLoss } from './repeat-loss.ts'

// A B C A B A D A B: B follows A again at the second and the fourth A, not at the third.
const views = [1, 2, 3, 1, 2, 1, 4, 1, 2].map((id) => ({ id }))
const pair = (query: number, source: number) => ({ query, source, target: source + 1 })
const pairs = [pair(3, 0), pair(5, 0), pair(5, 3), pair(7, 0), pair(7, 3), pair(7, 5)]
const losses = [6, 1, 1, 2, 1, 9, 1, 0.5, null].map((loss) => ({ loss }))

test('B the first time, and again after each later A that it follows', () => {
  expect(repeatLoss(pairs, views, losses)).toEqual({ first: 6, again: 1.25, n: 2 })
})

test('nothing where no repeat goes on as before, or at the end of the prompt', () => {
  expect(repeatLoss([], views, losses)).toBeNull()
  expect(repeatLoss([pair(5, 0)], views, losses)).toBeNull()
  expect(repeatLoss([pair(8, 1)], views, losses)).toBeNull()
})
