/**
 * Long work: starts a job, follows its events, keeps what the status bar shows. A job ends once, as done, failed or
 * cancelled; a lost connection is a failure that says so.
 */
import { useSyncExternalStore } from 'react'
import type {
  ExperimentKind,
  JobEvent,
  JobStarted,
  PairsReply,
  PairsRequest,
  RunRequest,
  ScanReply,
  ScanRequest,
  WeightsReply,
  WeightsRequest,
} from '../../core/api/contract.ts'
import type { Progress } from '../../core/checkpoint/types.ts'
import { createStore } from '../state/store.ts'
import { ApiFailure, api } from './client.ts'
import { listenToJob } from './job-events.ts'

export type JobKind = 'run' | 'scan' | 'weights' | 'pairs' | ExperimentKind | 'other'

export interface Job {
  readonly id: number
  readonly kind: JobKind
  /** The checkpoint that it works on; null where that is not known. */
  readonly model: string | null
  readonly title: string
  readonly label: string
  readonly progress: Progress | null
  readonly state: 'running' | 'failed'
  readonly problem: string | null
}

const jobs = createStore<readonly Job[]>([])

/** Hears every change of what runs. */
export const runningJobs = { subscribe: jobs.subscribe, get: jobs.get }

export function useJobs(): readonly Job[] {
  return useSyncExternalStore(jobs.subscribe, jobs.get)
}

/** The running job of a kind on a checkpoint, if there is one. */
export function useJobOn(kind: JobKind, model: string | null): Job | undefined {
  return useJobs().find((job) => job.kind === kind && job.model === model && job.state === 'running')
}

export function dismissJob(id: number): void {
  jobs.set(jobs.get().filter((job) => job.id !== id))
}

export const runPrompt = (body: RunRequest) =>
  follow<{ run: number }>(api.startRun(body), { kind: 'run', model: body.model, title: 'Running the prompt' })

export const scanModel = (body: ScanRequest, name: string) =>
  follow<ScanReply>(api.startScan(body), {
    kind: 'scan',
    model: body.model,
    title: `Scoring the heads of ${name}`,
  })

export const analyseWeights = (body: WeightsRequest, name: string) =>
  follow<WeightsReply>(api.startWeights(body), {
    kind: 'weights',
    model: body.model,
    title: `Reading the weights of ${name}`,
  })

export const tokenPairs = (body: PairsRequest) =>
  follow<PairsReply>(api.startPairs(body), { kind: 'pairs', model: body.model, title: 'Pairs of tokens' })

/** After a reload: follows what still runs, and calls `onEnd` as each of them ends. */
export async function resumeJobs(onEnd: () => void): Promise<void> {
  for (const { job, label, event } of await api.jobs()) {
    if (event.type === 'progress')
      follow(Promise.resolve({ job }), { kind: 'other', model: null, title: label }).then(onEnd, onEnd)
  }
}

/**
 * Resolves with the job's result; rejects with ApiFailure (code `cancelled` when the user stopped it). `hear` is told
 * every event on the way.
 */
export async function follow<R, C = unknown>(
  starting: Promise<JobStarted>,
  about: Pick<Job, 'kind' | 'model' | 'title'>,
  hear: (event: JobEvent<R, C>) => void = () => undefined,
): Promise<R> {
  const { job: id } = await starting
  jobs.set([...jobs.get(), { id, ...about, label: '', progress: null, state: 'running', problem: null }])
  const patch = (change: Partial<Job>) =>
    jobs.set(jobs.get().map((job) => (job.id === id ? { ...job, ...change } : job)))
  return new Promise<R>((resolve, reject) => {
    const end = (problem: ApiFailure | null, result?: R) => {
      if (problem && problem.code !== 'cancelled') patch({ state: 'failed', problem: problem.message })
      else dismissJob(id)
      if (problem) reject(problem)
      else resolve(result as R)
    }
    listenToJob<R, C>(id, (event) => {
      if (event.type !== 'lost') hear(event)
      if (event.type === 'progress') patch({ progress: event.progress, label: event.label })
      else if (event.type === 'done') end(null, event.result)
      else if (event.type === 'failed') end(new ApiFailure(event.error.code, event.error.message))
      else if (event.type === 'cancelled') end(new ApiFailure('cancelled', 'Cancelled.'))
      else if (event.type === 'lost')
        end(
          new ApiFailure('offline', 'The connection to the engine was lost while this ran; start it again.'),
        )
    })
  })
}
