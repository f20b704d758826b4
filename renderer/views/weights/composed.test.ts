import { expect, test } from 'vitest'
import { composedWith } from './composed.ts'

const cell = (from: [number, number], to: [number, number], value: number | null) => ({
  from: { layer: from[0], head: from[1] },
  to: { layer: to[0], head: to[1] },
  value,
})

test('reads below, is read above, and nothing in its own layer', () => {
  const cells = [
    cell([0, 0], [1, 1], 0.5),
    cell([0, 1], [1, 1], null),
    cell([1, 1], [2, 0], 0.125),
    cell([0, 0], [2, 0], 0.9),
  ]
  const around = composedWith(cells, { layer: 1, head: 1 }, 2, 0.25)
  expect(around.value(0, 0)).toBe(0.25)
  expect(around.value(0, 1)).toBeNull()
  expect(around.value(2, 0)).toBe(-0.125)
  expect(around.value(1, 0)).toBeUndefined()
  expect(around.most).toBe(0.25)
})
