import { expect, test } from 'vitest'
import { type Named, sideNames } from './side-names.ts'

const side = (id: number, text: string | null, more: Partial<Named> = {}, edits = 0): Named => ({
  run: { id, text, views: [{ id: 1, text: 'a', special: false, group: null }], edits },
  head: { layer: 1, head: 7 },
  model: 'small',
  ...more,
})

test('two heads of one run are their names', () => {
  expect(sideNames(side(1, 'x'), side(1, 'x', { head: { layer: 0, head: 2 } }))).toEqual(['L1H7', 'L0H2'])
})

test('two checkpoints of one prompt are named by their steps', () => {
  expect(sideNames(side(1, 'x', { model: 'small · step 64' }), side(2, 'x'))).toEqual([
    'L1H7 · small · step 64',
    'L1H7 · small',
  ])
})

test('two prompts are cut shortly before they differ', () => {
  const [a, b] = sideNames(
    side(1, 'The king spoke to the queen Zorblat of the land'),
    side(2, 'The king spoke to the queen Bex'),
  )
  expect(a).toBe('L1H7 · “…to the queen Zorblat of the land”')
  expect(b).toBe('L1H7 · “…to the queen Bex”')
  expect(sideNames(side(1, 'ab'), side(2, 'ac'))[1]).toBe('L1H7 · “ac”')
})

test('the same prompt with and without edits, and twice', () => {
  expect(sideNames(side(1, 'x'), side(2, 'x', {}, 2))).toEqual(['L1H7 · no edits', 'L1H7 · 2 edited'])
  expect(sideNames(side(1, 'x'), side(2, 'x'))).toEqual(['L1H7 · run 1', 'L1H7 · run 2'])
})
