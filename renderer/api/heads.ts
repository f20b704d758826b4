/**
 * What heads do, and how checkpoints differ: starts such work, keeps the newest of each kind while the tabs change, and
 * asks the short questions. In: requests of the contract. Out: replies; failures are ApiFailure with the engine's sentence.
 */
import { useSyncExternalStore } from 'react'
import type {
  AnalysisKind,
  CompareReply,
  CompareRequest,
  CorpusReply,
  CorpusRequest,
  DifferenceReply,
  DifferenceRequest,
  JobStarted,
  RelationReply,
  RelationRequest,
  SearchReply,
  SearchRequest,
  SeriesReply,
  SeriesRequest,
  SpansReply,
  SpansRequest,
  SummaryReply,
  SummaryRequest,
} from '../../core/api/contract.ts'
import type { Progress } from '../../core/checkpoint/types.ts'
import { createStore, setTool, useSelection } from '../state/store.ts'
import { useAnalysis } from './analyses.ts'
import { ApiFailure, api, get, post } from './client.ts'
import { follow } from './jobs.ts'
import { queryClient } from './query-client.ts'

/** What each kind of work is asked and gives. `examples` and `kept` are both the corpus job, without and with its runs kept. */
interface Works {
  readonly spans: { readonly request: SpansRequest; readonly reply: SpansReply }
  readonly examples: { readonly request: CorpusRequest; readonly reply: CorpusReply }
  readonly kept: { readonly request: CorpusRequest; readonly reply: CorpusReply }
  readonly relation: { readonly request: RelationRequest; readonly reply: RelationReply }
  readonly compare: { readonly request: CompareRequest; readonly reply: CompareReply }
  readonly series: { readonly request: SeriesRequest; readonly reply: SeriesReply }
}
export type WorkKind = keyof Works

export interface Work<K extends WorkKind> {
  readonly request: Works[K]['request']
  /** null until the engine has named it. */
  readonly job: number | null
  readonly progress: Progress | null
  readonly state: 'running' | 'done' | 'stopped'
  /** Why it stopped; null when the person stopped it. */
  readonly problem: string | null
  readonly reply: Works[K]['reply'] | null
}

type AllWork = { readonly [K in WorkKind]?: Work<K> }

const KINDS: Record<WorkKind, AnalysisKind> = {
  spans: 'spans',
  examples: 'corpus',
  kept: 'corpus',
  relation: 'relation',
  compare: 'compare',
  series: 'series',
}

const works = createStore<AllWork>({})

/** The newest work of a kind. */
export function useWork<K extends WorkKind>(kind: K): Work<K> | undefined {
  return useSyncExternalStore(works.subscribe, () => works.get()[kind]) as Work<K> | undefined
}

/** The tab's setting that names the stored analysis which is shown. */
export const resultTool = (kind: WorkKind): string => `${kind}-result`

/**
 * What a tab shows of a checkpoint (null: of any): work that runs or has just ended, or the stored analysis that the
 * address names, as if it had just ended. Nothing is computed for the latter.
 */
export function useShown<K extends WorkKind>(kind: K, model: string | null): Work<K> | undefined {
  const newest = useWork(kind)
  const named = Number(useSelection((s) => s.tool[resultTool(kind)])) || null
  const own = newest && (model === null || modelOf(newest.request) === model) ? newest : undefined
  const isLive = own && (named === null || own.state !== 'done' || own.reply?.experiment === named)
  const stored = useAnalysis(KINDS[kind], isLive ? null : named)
  if (isLive) return own
  const ended = { job: null, progress: null }
  if (stored.data) {
    const { request, reply } = stored.data
    if (model !== null && stored.data.model !== model) return undefined
    return { ...ended, request, reply, state: 'done', problem: null } as Work<K>
  }
  const problem = stored.data === null ? `Analysis ${named} is of another kind.` : stored.error?.message
  if (problem === undefined) return undefined
  return { ...ended, request: {}, reply: null, state: 'stopped', problem } as unknown as Work<K>
}

function modelOf(request: Works[WorkKind]['request']): string {
  return 'model' in request ? request.model : request.a
}

/** Forgets ended work, so that a stored analysis is shown in its place. */
export function forgetWork(kind: WorkKind): void {
  if (works.get()[kind]?.state !== 'running') works.set({ ...works.get(), [kind]: undefined })
}

/** Starts work; its progress and its end are in `useWork`. Work of the same kind that still runs is cancelled. */
export async function startWork<K extends WorkKind>(
  kind: K,
  request: Works[K]['request'],
  title: string,
  hear: (cells: readonly unknown[]) => void = () => undefined,
): Promise<void> {
  cancelWork(kind)
  const current = () => works.get()[kind]?.request === request
  const patch = (change: Partial<Work<K>>) => {
    if (current()) works.set({ ...works.get(), [kind]: { ...works.get()[kind], ...change } })
  }
  const first: Work<K> = { request, job: null, progress: null, state: 'running', problem: null, reply: null }
  works.set({ ...works.get(), [kind]: first })
  try {
    const starting = post<JobStarted>(`/api/jobs/${KINDS[kind]}`, request)
    starting.then(
      ({ job }) => patch({ job }),
      () => undefined, // follow rejects with the same
    )
    const model = modelOf(request)
    const reply = await follow<Works[K]['reply']>(starting, { kind: 'other', model, title }, (event) => {
      if (event.type === 'progress') patch({ progress: event.progress })
      if (event.type === 'cells') hear(event.cells)
    })
    patch({ state: 'done', reply })
    if (current() && kind !== 'kept') setTool(resultTool(kind), String(reply.experiment))
    void queryClient.invalidateQueries({ queryKey: ['analyses'] })
  } catch (error) {
    const cancelled = error instanceof ApiFailure && error.code === 'cancelled'
    patch({ state: 'stopped', problem: cancelled ? null : (error as Error).message })
  }
}

/** Asks the engine to end it; that it has ended is told as an event. */
export function cancelWork(kind: WorkKind): void {
  const work = works.get()[kind]
  if (work?.state === 'running' && work.job !== null) void api.cancelJob(work.job).catch(() => undefined)
}

export const headsApi = {
  summary: (body: SummaryRequest, signal?: AbortSignal) =>
    post<SummaryReply>('/api/heads/summary', body, signal),
  classes: (): Promise<string[]> => get('/api/heads/classes'),
  relationExample: (): Promise<NonNullable<RelationRequest['template']>> =>
    get('/api/heads/relation-example'),
  search: (body: SearchRequest, signal?: AbortSignal) => post<SearchReply>('/api/heads/search', body, signal),
  difference: (body: DifferenceRequest, signal?: AbortSignal) =>
    post<DifferenceReply>('/api/heads/difference', body, signal),
}
