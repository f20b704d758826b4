import { expect, it } from 'vitest'
import { HeadscopeError } from '../errors.ts'
import type { JobEvent } from './contract.ts'
import { createJobQueue } from './job-queue.ts'

const ended = (queue: ReturnType<typeof createJobQueue>, job: number) =>
  new Promise<JobEvent>((resolve) => {
    queue.follow(job, (event) => event.type !== 'progress' && resolve(event))
  })

it('runs one job at a time, in order', async () => {
  const queue = createJobQueue()
  const log: string[] = []
  const work = (name: string) => async () => {
    log.push(`${name} begins`)
    await new Promise((resolve) => setTimeout(resolve, 5))
    log.push(`${name} ends`)
    return name
  }
  const first = queue.start('first', work('a'))
  const second = queue.start('second', work('b'))
  expect(queue.list().map(({ label, event }) => [label, (event as { label?: string }).label])).toEqual([
    ['first', 'first'],
    ['second', 'waiting: second'],
  ])
  expect(await ended(queue, second)).toEqual({ type: 'done', result: 'b' })
  expect(await ended(queue, first)).toEqual({ type: 'done', result: 'a' })
  expect(log).toEqual(['a begins', 'a ends', 'b begins', 'b ends'])
})

it('an error is the last event of its job, and the next job runs', async () => {
  const queue = createJobQueue()
  const bad = queue.start('bad', async () => {
    throw new HeadscopeError('no-space', 'The disk is full.')
  })
  const good = queue.start('good', async () => 1)
  expect(await ended(queue, bad)).toEqual({
    type: 'failed',
    error: { code: 'no-space', message: 'The disk is full.' },
  })
  expect(await ended(queue, good)).toEqual({ type: 'done', result: 1 })
})

it('cancels a job that runs and one that waits', async () => {
  const queue = createJobQueue()
  const running = queue.start(
    'runs',
    ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
      }),
  )
  const waits = queue.start('waits', async () => 1)
  queue.cancel(waits)
  expect(await ended(queue, waits)).toEqual({ type: 'cancelled' })
  queue.cancel(running)
  expect(await ended(queue, running)).toEqual({ type: 'cancelled' })
  expect(() => queue.cancel(99)).toThrow('There is no job 99')
})

it('forgets the oldest jobs that ended', async () => {
  const queue = createJobQueue()
  let last = 0
  for (let i = 0; i < 130; i++) last = queue.start(`job ${i}`, async () => i)
  await ended(queue, last)
  await new Promise((resolve) => setTimeout(resolve, 0))
  expect(queue.list()).toHaveLength(100)
  expect(queue.list().at(-1)?.label).toBe('job 129')
})
