import { expect, it } from 'vitest'
import { shareDone } from './desktop.ts'

const job = (done: number, total: number) => ({
  state: 'running' as const,
  progress: { done, total, secondsLeft: null },
})

it('the share of all running work: nothing, one, several, one that has said nothing yet, a failed one', () => {
  expect(shareDone([])).toBeNull()
  expect(shareDone([job(1, 4)])).toBe(0.25)
  expect(shareDone([job(1, 4), job(3, 4)])).toBe(0.5)
  expect(shareDone([job(1, 2), { state: 'running', progress: null }])).toBe(0.25)
  expect(shareDone([job(1, 2), { state: 'failed', progress: null }])).toBe(0.5)
  expect(shareDone([job(0, 0)])).toBe(0)
})
