import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createSaver, type Saving } from './use-autosave.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('saves once after the last key, the newest text, and at once when asked', async () => {
  const saved: string[] = []
  const states: Saving[] = []
  const saver = createSaver(
    async (text) => void saved.push(text),
    (state) => states.push(state),
    500,
  )
  for (const text of ['a', 'ab', 'abc']) saver.change(text)
  await vi.advanceTimersByTimeAsync(499)
  expect(saved).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  expect(saved).toEqual(['abc'])
  expect(states.at(-1)).toBe('saved')
  saver.change('abcd')
  saver.flush()
  await vi.advanceTimersByTimeAsync(0)
  expect(saved).toEqual(['abc', 'abcd'])
  saver.flush()
  expect(saved).toHaveLength(2)
})

test('never saves two texts at once: what is typed meanwhile follows', async () => {
  const saved: string[] = []
  let finish = () => {}
  const saver = createSaver(
    (text) => {
      saved.push(text)
      return new Promise<void>((resolve) => {
        finish = resolve
      })
    },
    () => undefined,
    500,
  )
  saver.change('one')
  saver.flush()
  saver.change('two')
  saver.flush()
  expect(saved).toEqual(['one'])
  finish()
  await vi.advanceTimersByTimeAsync(0)
  expect(saved).toEqual(['one', 'two'])
})

test('a text that could not be saved is said, kept, and saved with the next change or when asked', async () => {
  const states: Saving[] = []
  const saved: string[] = []
  let broken = true
  const saver = createSaver(
    async (text) => {
      if (broken) throw new Error('no space')
      saved.push(text)
    },
    (state) => states.push(state),
    500,
  )
  saver.change('kept')
  await vi.advanceTimersByTimeAsync(500)
  expect(states.at(-1)).toEqual({ problem: 'no space' })
  broken = false
  saver.flush()
  await vi.advanceTimersByTimeAsync(0)
  expect(saved).toEqual(['kept'])
})
