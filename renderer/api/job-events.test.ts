import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type HeardEvent, listenToJob } from './job-events.ts'

class Source {
  static readonly CLOSED = 2
  static made: Source
  readyState = 1
  onmessage: ((event: { data: string }) => void) | null = null
  onerror: (() => void) | null = null
  readonly url: string
  constructor(url: string) {
    this.url = url
    Source.made = this
  }
  close() {
    this.readyState = Source.CLOSED
  }
  say(event: unknown) {
    this.onmessage?.({ data: JSON.stringify(event) })
  }
}

const progress = { type: 'progress', label: '', progress: { done: 1, total: 2, secondsLeft: null } }
const done = { type: 'done', result: { run: 7 } }
let heard: HeardEvent<unknown>[]

beforeEach(() => {
  vi.useFakeTimers()
  vi.stubGlobal('EventSource', Source)
  heard = []
  listenToJob(3, (event) => heard.push(event))
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

test('events are passed on, and the stream closes with the last one', () => {
  expect(Source.made.url).toBe('/api/jobs/3/events')
  Source.made.say(progress)
  Source.made.say(done)
  expect(heard).toEqual([progress, done])
  expect(Source.made.readyState).toBe(Source.CLOSED)
})

test('a broken connection may come back within its patience, else the job is lost', () => {
  Source.made.readyState = 0
  Source.made.onerror?.()
  vi.advanceTimersByTime(5000)
  Source.made.onerror?.() // the browser's own next try
  Source.made.say(progress)
  vi.advanceTimersByTime(20_000)
  expect(heard).toEqual([progress])
  Source.made.onerror?.()
  vi.advanceTimersByTime(5000)
  Source.made.onerror?.()
  vi.advanceTimersByTime(3001)
  expect(heard.at(-1)).toEqual({ type: 'lost' })
})

test('where there are no server-sent events the job is asked for', async () => {
  const replies = [[{ job: 3, label: '', event: progress }], [{ job: 3, label: '', event: done }]]
  vi.stubGlobal('fetch', async () => new Response(JSON.stringify(replies.shift())))
  Source.made.close()
  Source.made.onerror?.()
  await vi.advanceTimersByTimeAsync(1000)
  expect(heard).toEqual([progress, done])
})

test('a job that nobody knows is lost', async () => {
  vi.stubGlobal('fetch', async () => new Response('[]'))
  Source.made.close()
  Source.made.onerror?.()
  await vi.advanceTimersByTimeAsync(10)
  expect(heard).toEqual([{ type: 'lost' }])
})
