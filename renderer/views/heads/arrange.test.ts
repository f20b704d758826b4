import { expect, test } from 'vitest'
import type { HeadScores } from '../../../core/analysis/types.ts'
import { byGroups, byLayers, groupsOf, headAt, neighbour } from './arrange.ts'

const score = (value: number | null) => ({ value, n: 1, rows: 1, low: null, high: null })
const head = (layer: number, h: number, induction: number | null, previous: number): HeadScores => ({
  layer,
  head: h,
  scores: { induction: score(induction), previous_token: score(previous) },
})
const heads = [head(0, 0, 0.1, 0.9), head(0, 1, null, 0.2), head(1, 0, 0.9, 0.1), head(1, 1, 0.5, 0.6)]

test('layers upwards: the highest is on top, and arrows walk', () => {
  const grid = byLayers({ n_layers: 2, n_heads: 2 }, 10)
  expect(headAt(grid, 10, 5, 5)).toEqual({ layer: 1, head: 0 })
  expect(headAt(grid, 10, 15, 15)).toEqual({ layer: 0, head: 1 })
  expect(headAt(grid, 10, 25, 5)).toBeNull()
  expect(neighbour(grid, { layer: 0, head: 0 }, 'ArrowUp')).toMatchObject({ layer: 1, head: 0 })
  expect(neighbour(grid, { layer: 1, head: 1 }, 'ArrowRight')).toMatchObject({ layer: 1, head: 1 })
  expect(neighbour(grid, null, 'ArrowRight')).toMatchObject({ layer: 0, head: 0 })
  expect(neighbour(grid, null, 'x')).toBeNull()
})

test('classes: the largest score decides, and a head without one is said', () => {
  const groups = groupsOf('class', heads, 'induction', [])
  expect(
    groups.map(({ title, heads: members }) => [title, members.map((m) => `${m.layer}.${m.head}`)]),
  ).toEqual([
    ['induction', ['1.0']],
    ['previous token', ['0.0', '1.1']],
    ['none from 0.4 on', ['0.1']],
  ])
})

test('groups wrap within the width and stand below their headings', () => {
  const field = byGroups('score', groupsOf('score', heads, 'induction', []), 10, 25)
  expect(field.placed.map((p) => [p.layer, p.head, p.x, p.y])).toEqual([
    [1, 0, 0, 20],
    [1, 1, 10, 20],
    [0, 0, 0, 30],
    [0, 1, 10, 30],
  ])
  expect(field.headings).toEqual([{ text: 'by induction · 4', y: 0 }])
  expect(neighbour(field, { layer: 1, head: 1 }, 'ArrowDown')).toMatchObject({ layer: 0, head: 1 })
})

test('pinned heads come first', () => {
  expect(groupsOf('pinned', heads, 'induction', ['L1H1'])[0]!.heads).toHaveLength(1)
})
