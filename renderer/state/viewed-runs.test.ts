import { expect, test } from 'vitest'
import { readViewed, sameRun, VIEWED_KEPT, type ViewedRun, withViewed, writeViewed } from './viewed-runs.ts'

const HOUR = 3600 * 1000
const run = (id: number, window = 'a', made = id, created = `at ${id}`): ViewedRun => ({
  id,
  created,
  window,
  made,
})

test('the last few of a window stay, older ones go, and what is on the screen never does', () => {
  let list: readonly ViewedRun[] = []
  const gone: number[] = []
  for (let id = 1; id <= VIEWED_KEPT + 3; id++) {
    const step = withViewed(list, run(id), [2])
    list = step.kept
    gone.push(...step.gone.map(({ id }) => id))
  }
  expect(gone).toEqual([1, 3])
  expect(list.map(({ id }) => id)).toContain(2)
  // One that is shown again is young again.
  expect(withViewed(list, run(4), []).kept.at(-1)!.id).toBe(4)
})

test('runs of another window go after half a day', () => {
  const list = [run(1, 'b', 0), run(2, 'b', 10 * HOUR)]
  const { kept, gone } = withViewed(list, run(3, 'a', 13 * HOUR), [])
  expect(gone).toEqual([{ id: 1, created: 'at 1' }])
  expect(kept.map(({ id }) => id)).toEqual([2, 3])
})

test('a run of the same number in another workspace is another run', () => {
  const { kept, gone } = withViewed([run(3)], run(3, 'a', 9, 'later'), [])
  expect(kept.map(({ created }) => created)).toEqual(['at 3', 'later'])
  expect(gone).toEqual([])
  expect(sameRun(run(3), run(3, 'b', 5))).toBe(true)
})

test('a list that cannot be read is empty', () => {
  const stored = (text: string | null) => readViewed({ getItem: () => text })
  expect(stored(null)).toEqual([])
  expect(stored('[1, {"id": 3}, {"id": 3, "created": "at 3", "window": "a", "made": 1}]')).toEqual([
    run(3, 'a', 1),
  ])
  expect(stored('{')).toEqual([])
  let text = ''
  writeViewed({ setItem: (_, value) => void (text = value) }, [run(7)])
  expect(stored(text)).toEqual([run(7)])
})
