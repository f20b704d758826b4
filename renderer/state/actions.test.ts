import { expect, test } from 'vitest'
import { type Action, findActions } from './actions.ts'

const named = (title: string, group = 'View'): Action => ({ id: title, group, title, run: () => undefined })
const actions = [
  named('Open the heads'),
  named('Open the pattern'),
  named('Switch to dark', 'Window'),
  named('Pattern: log scale', 'Pattern'),
  named('step 256', 'Checkpoint'),
]
const titles = (typed: string) => findActions(actions, typed).map(({ title }) => title)

test('nothing typed: all of them, in order', () => {
  expect(titles('  ')).toEqual(actions.map((a) => a.title))
})

test('every word must be found; beginnings come first', () => {
  expect(titles('pattern')).toEqual(['Pattern: log scale', 'Open the pattern'])
  expect(titles('open heads')).toEqual(['Open the heads'])
  expect(titles('dark window')).toEqual(['Switch to dark'])
  expect(titles('256 check')).toEqual(['step 256'])
  expect(titles('zebra')).toEqual([])
})
