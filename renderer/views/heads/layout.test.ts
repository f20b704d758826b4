import { expect, test } from 'vitest'
import { gridLayout } from './layout.ts'

const at = (n_layers: number, n_heads: number, width = 950, height = 660) =>
  gridLayout({ n_layers, n_heads }, { width, height }, 30, 26)

test('flat models are large and above the pattern, deep ones beside it', () => {
  expect(at(2, 8)).toMatchObject({ beside: false })
  expect(at(2, 8).pitch).toBeGreaterThan(60)
  expect(at(12, 12).beside).toBe(true)
  expect(at(30, 9).beside).toBe(true)
})

test('30 × 9 and 12 × 12 fit without scrolling at 1440 × 900', () => {
  expect(30 * at(30, 9).pitch + 26).toBeLessThanOrEqual(660)
  expect(12 * at(12, 12).pitch + 26).toBeLessThanOrEqual(660)
})

test('a narrow place has one column: tiles use its whole width', () => {
  const { beside, pitch } = at(4, 6, 560, 900)
  expect(beside).toBe(false)
  expect(pitch).toBeGreaterThan(at(4, 6, 700, 900).pitch)
})

test('two grids beside each other fit where one does', () => {
  const spec = { n_layers: 2, n_heads: 8 }
  const { pitch } = gridLayout(spec, { width: 950, height: 660 }, 30, 26, spec)
  expect(2 * (30 + 8 * pitch) + 20).toBeLessThanOrEqual(950 - 226)
  expect(pitch).toBeGreaterThan(28) // patterns can still be seen
})

test('many heads leave the pattern its room: smaller tiles first, then the grid scrolls', () => {
  const { pitch, widest } = at(48, 48)
  expect(pitch).toBe(7)
  expect(30 + 48 * pitch).toBeLessThanOrEqual(widest!)
  expect(at(48, 48, 800, 400)).toMatchObject({ pitch: 7, widest: 800 - 24 - 226 - 32 - 260 })
  expect(at(48, 48, 2400, 1400).pitch).toBeGreaterThan(11)
  expect(at(2, 8).widest).toBeNull()
})

test('tiles in a place without a pattern beside them never shrink below what a pointer can hit', () => {
  expect(at(48, 48, 600, 400).pitch).toBe(11)
})
