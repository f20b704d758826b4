import { expect, test } from 'vitest'
import type { View } from '../../charts/labels.ts'
import { viewOf } from './use-view.ts'

test('a shorter text is seen with cells of the same size, from the same position', () => {
  const view: View = { zoom: 4, x: 10, y: 20 }
  const [small] = viewOf(view, () => undefined, 50, 100)
  expect(small).toEqual({ zoom: 2, x: 10, y: 20 }) // 25 cells of 50, as 25 of 100
})

test('a whole text stays whole', () => {
  expect(viewOf({ zoom: 1, x: 0, y: 0 }, () => undefined, 50, 100)[0].zoom).toBe(1)
})

test('zooming in the shorter one zooms both', () => {
  let view: View = { zoom: 4, x: 0, y: 0 }
  const [, change] = viewOf(view, (next) => (view = next(view)), 50, 100)
  change((v) => ({ ...v, zoom: v.zoom * 2, x: 3 }))
  expect(view).toEqual({ zoom: 8, x: 3, y: 0 })
})
