/**
 * Long work, one at a time. In: a label and a function. Out: a number, under which the events can be followed from
 * anywhere and again after a reload: the cells that were told and the newest event are repeated to whoever begins to
 * listen. An error in a job is
 * its last event and nothing else. Finished jobs are remembered for a while, so that a late listener hears the end.
 */

import type { Progress } from '../checkpoint/types.ts'
import { HeadscopeError, isCancelled } from '../errors.ts'
import type { JobEvent, JobSummary, SweepNews } from './contract.ts'
import { toApiError } from './http.ts'

export type JobWork<R = unknown> = (context: {
  readonly signal: AbortSignal
  readonly onProgress: (progress: Progress) => void
  /** Cells and the like: every listener hears all of it, also one that comes late. */
  readonly tell: (news: SweepNews) => void
}) => Promise<R>

export interface JobQueue {
  /** Queues work and returns the job's number. */
  start(label: string, work: JobWork): number
  /** Jobs that wait or run, oldest first, then those that ended lately. */
  list(): JobSummary[]
  /** Calls `listener` with the newest event at once and with every later one. Returns the way out. Throws not-found. */
  follow(job: number, listener: (event: JobEvent) => void): () => void
  /** Cancels a job that waits or runs; one that ended stays as it is. Throws not-found. */
  cancel(job: number): void
  cancelAll(): void
}

interface Job {
  readonly id: number
  readonly label: string
  readonly work: JobWork
  readonly controller: AbortController
  readonly listeners: Set<(event: JobEvent) => void>
  /** What is told again to late listeners, before the newest event. */
  readonly told: SweepNews[]
  event: JobEvent
  ended: boolean
}

const REMEMBERED = 100

/** Makes an empty queue. */
export function createJobQueue(): JobQueue {
  const jobs = new Map<number, Job>()
  const waiting: Job[] = []
  let running: Job | null = null
  let last = 0

  function emit(job: Job, event: JobEvent): void {
    if (job.ended) return
    job.event = event
    job.ended = event.type !== 'progress'
    for (const listener of [...job.listeners]) listener(event)
  }

  function tell(job: Job, news: SweepNews): void {
    if (job.ended) return
    job.told.push(news)
    for (const listener of [...job.listeners]) listener(news)
  }

  async function next(): Promise<void> {
    if (running) return
    const job = waiting.shift()
    if (!job) return
    running = job
    try {
      emit(job, starting(job.label))
      const onProgress = (progress: Progress) => emit(job, { type: 'progress', progress, label: job.label })
      const result = await job.work({
        signal: job.controller.signal,
        onProgress,
        tell: (news) => tell(job, news),
      })
      emit(job, { type: 'done', result })
    } catch (error) {
      emit(
        job,
        isCancelled(error) ? { type: 'cancelled' } : { type: 'failed', error: toApiError(error).error },
      )
    } finally {
      running = null
      forget(jobs)
      void next()
    }
  }

  function find(id: number): Job {
    const job = jobs.get(id)
    if (!job)
      throw new HeadscopeError(
        'not-found',
        `There is no job ${id}; jobs are forgotten when the engine restarts.`,
      )
    return job
  }

  function cancel(job: Job): void {
    job.controller.abort()
    const place = waiting.indexOf(job)
    if (place < 0) return
    waiting.splice(place, 1)
    emit(job, { type: 'cancelled' })
  }

  return {
    start(label, work) {
      const id = ++last
      const event = starting(running ? `waiting: ${label}` : label)
      const job: Job = {
        id,
        label,
        work,
        controller: new AbortController(),
        listeners: new Set(),
        told: [],
        event,
        ended: false,
      }
      jobs.set(id, job)
      waiting.push(job)
      void next()
      return id
    },
    list: () => [...jobs.values()].map(({ id, label, event }) => ({ job: id, label, event: light(event) })),
    follow(id, listener) {
      const job = find(id)
      job.listeners.add(listener)
      for (const news of job.told) listener(news)
      listener(job.event)
      return () => job.listeners.delete(listener)
    },
    cancel: (id) => cancel(find(id)),
    cancelAll() {
      for (const job of [...jobs.values()]) if (!job.ended) cancel(job)
    },
  }
}

/** Results can be large, and a list is asked for often: the stream has them. */
function light(event: JobEvent): JobEvent {
  return event.type === 'done' ? { type: 'done', result: null } : event
}

function starting(label: string): JobEvent {
  return { type: 'progress', progress: { done: 0, total: 0, secondsLeft: null }, label }
}

function forget(jobs: Map<number, Job>): void {
  for (const [id, job] of jobs) {
    if (jobs.size <= REMEMBERED) return
    if (job.ended && job.listeners.size === 0) jobs.delete(id)
  }
}
