/**
 * Long work: starts a job, follows its events, keeps what the status bar shows. A job ends once, as done, failed or
 * cancelled; a lost connection is a failure that says so.
 */
import { useSyncExternalStore } from 'react'
import type { JobEvent, JobStarted, RunRequest, ScanReply, ScanRequest } from '../../core/api/contract.ts'
import type { Progress } from '../../core/checkpoint/types.ts'
import { createStore } from '../state/store.ts'
import { ApiFailure, api } from './client.ts'

export interface Job {
  readonly id: number
  readonly title: string
  readonly label: string
  readonly progress: Progress | null
  readonly state: 'running' | 'failed'
  readonly problem: string | null
}

const jobs = createStore<readonly Job[]>([])

export function useJobs(): readonly Job[] {
  return useSyncExternalStore(jobs.subscribe, jobs.get)
}

export function dismissJob(id: number): void {
  jobs.set(jobs.get().filter((job) => job.id !== id))
}

export const runPrompt = (body: RunRequest) =>
  follow<{ run: number }>(api.startRun(body), 'Running the prompt')

export const scanModel = (body: ScanRequest, name: string) =>
  follow<ScanReply>(api.startScan(body), `Scoring the heads of ${name}`)

/** After a reload: follows what still runs, and calls `onEnd` as each of them ends. */
export async function resumeJobs(onEnd: () => void): Promise<void> {
  for (const { job, label, event } of await api.jobs()) {
    if (event.type === 'progress') follow(Promise.resolve({ job }), label).then(onEnd, onEnd)
  }
}

/** Resolves with the job's result; rejects with ApiFailure (code `cancelled` when the user stopped it). */
async function follow<R>(starting: Promise<JobStarted>, title: string): Promise<R> {
  const { job: id } = await starting
  jobs.set([...jobs.get(), { id, title, label: '', progress: null, state: 'running', problem: null }])
  const patch = (change: Partial<Job>) =>
    jobs.set(jobs.get().map((job) => (job.id === id ? { ...job, ...change } : job)))
  return new Promise<R>((resolve, reject) => {
    const events = api.jobEvents(id)
    const end = (problem: ApiFailure | null, result?: R) => {
      events.close()
      if (problem && problem.code !== 'cancelled') patch({ state: 'failed', problem: problem.message })
      else dismissJob(id)
      if (problem) reject(problem)
      else resolve(result as R)
    }
    const read = (message: MessageEvent<string>) => {
      const event = JSON.parse(message.data) as JobEvent<R>
      if (event.type === 'progress') patch({ progress: event.progress, label: event.label })
      else if (event.type === 'done') end(null, event.result)
      else if (event.type === 'failed') end(new ApiFailure(event.error.code, event.error.message))
      else end(new ApiFailure('cancelled', 'Cancelled.'))
    }
    for (const name of ['message', 'progress', 'done', 'failed', 'cancelled']) {
      events.addEventListener(name, read as (event: Event) => void)
    }
    events.onerror = () => {
      if (events.readyState === EventSource.CLOSED) {
        end(new ApiFailure('offline', `${title}: the connection to the engine was lost; start it again.`))
      }
    }
  })
}
