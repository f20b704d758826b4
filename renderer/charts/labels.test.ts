import { expect, test } from 'vitest'
import { bringInto, clampView, FIT, gutter, labelStep, visibleLabels, zoomAt } from './labels.ts'

test('labels thin out by 1, 2, 5, 10 …', () => {
  expect([20, 8, 3, 1.5, 0.5].map((cell) => labelStep(cell, 13))).toEqual([1, 2, 5, 10, 50])
})

test('no two labels stand closer than asked, whatever is locked', () => {
  for (const cell of [0.6, 2.2, 5, 9, 14]) {
    const shown = visibleLabels(1024, cell, 3.7, 600, 13, [17])
    for (let i = 1; i < shown.length; i++) {
      expect((shown[i]! - shown[i - 1]!) * cell).toBeGreaterThanOrEqual(13 - 1e-9)
    }
    if ((17.5 - 3.7) * cell <= 600) expect(shown).toContain(17)
  }
})

test('only positions inside the window are labelled', () => {
  const shown = visibleLabels(100, 20, 40, 200, 13)
  expect(shown[0]).toBeGreaterThanOrEqual(40)
  expect(shown.at(-1)).toBeLessThanOrEqual(50)
})

test('zooming keeps the cell under the pointer, and the window inside the cells', () => {
  const view = zoomAt(FIT, 4, 0.25, 0.75, 100, 500)
  expect(view.zoom).toBe(4)
  expect(view.x + 0.25 * (100 / 4)).toBeCloseTo(25)
  expect(view.y + 0.75 * (100 / 4)).toBeCloseTo(75)
  expect(zoomAt(view, 0.01, 0.5, 0.5, 100, 500)).toEqual(FIT)
  expect(clampView({ zoom: 2, x: -5, y: 90 }, 100, 500)).toEqual({ zoom: 2, x: 0, y: 50 })
})

test('the gutter fits ordinary tokens and stays below its limit', () => {
  const token = (text: string, special = false) => ({ text, special })
  expect(gutter([token('·a'), token('<|endoftext|>', true)], 100)).toBeLessThan(60)
  expect(gutter([token('x'.repeat(60))], 100)).toBe(100)
})

test('a window moves as little as brings a cell into it', () => {
  const view = { zoom: 4, x: 50, y: 0 } // 25 of 100 cells
  expect(bringInto(view, 100, 400, 60, 10)).toEqual(view)
  expect(bringInto(view, 100, 400, 40, 30)).toEqual({ zoom: 4, x: 40, y: 6 })
  expect(bringInto(view, 100, 400, 99, 99)).toEqual({ zoom: 4, x: 75, y: 75 })
})
