import { expect, test } from 'vitest'
import { align } from './alignment.ts'

const views = (...ids: number[]) => ids.map((id) => ({ id, text: String(id), special: false, group: null }))

test('prompts align token over token, or the reason is said', () => {
  expect(align(views(1, 2, 3), views(1, 9, 3))).toEqual({ differing: [1], problem: null })
  expect(align(views(1, 2), views(1, 2)).problem).toMatch(/same/)
  expect(align(views(1, 2, 3), views(1, 2)).problem).toMatch(/3 tokens and corrupt 2/)
  expect(align(views(1), []).problem).toBeNull()
  expect(align(views(1), views(1, 2), false).differing).toEqual([1])
  expect(align(views(1, 2), views(1, 2), false)).toEqual({ differing: [], problem: null })
})
