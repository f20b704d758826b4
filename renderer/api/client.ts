/**
 * The HTTP API as typed functions: the only place that knows addresses. Relative URLs and the same-origin cookie, so
 * that it works from http://127.0.0.1 and from app://headscope/ alike. Failures are ApiFailure with the engine's sentence.
 */
import type {
  About,
  AccountingReply,
  BasisReply,
  BasisRequest,
  BenchEditReply,
  BenchEditRequest,
  BenchReply,
  BenchRequest,
  ChangeReply,
  ChangeRequest,
  Compacted,
  DlaReply,
  DlaRequest,
  EdgesReply,
  EditStackDetail,
  EditStackRequest,
  EditStackSummary,
  ExperimentDetail,
  ExperimentKind,
  ExperimentSummary,
  Experiments,
  FolderListing,
  Freed,
  GenerateReply,
  GenerateRequest,
  GeometryReply,
  GeometryRequest,
  HeadGradientsReply,
  HeadGradientsRequest,
  InductionView,
  JobStarted,
  JobSummary,
  LensReply,
  LensRequest,
  Library,
  MergesReply,
  MergesRequest,
  NudgeReply,
  NudgeRequest,
  OpenCost,
  OpenedModel,
  PairsRequest,
  PatchedReply,
  PatchedRequest,
  PredictReply,
  PredictRequest,
  Reproduced,
  ReproduceRequest,
  RunDetail,
  RunRequest,
  ScanReply,
  ScanRequest,
  SqlReply,
  StoreReply,
  Tokenized,
  TokenizeRequest,
  ValueNormsReply,
  WeightsRequest,
} from '../../core/api/contract.ts'
import { decodePattern, type Pattern } from './pattern.ts'

/** What the engine said no to, or that it could not be reached (code `offline`), or knows another token (`token`). */
export class ApiFailure extends Error {
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.name = 'ApiFailure'
    this.code = code
  }
}

let unanswered: () => void = () => undefined

/** Calls back whenever the engine cannot be reached, or does not know this page. One listener. */
export function onUnanswered(listener: () => void): void {
  unanswered = listener
}

function offline(): ApiFailure {
  unanswered()
  return new ApiFailure(
    'offline',
    'The engine does not answer; it is restarted, or Headscope has to be started again.',
  )
}

/** The engine's answer to a path. Throws ApiFailure with its sentence. */
export async function request(path: string, init?: RequestInit): Promise<Response> {
  let response: Response
  try {
    response = await fetch(path, { credentials: 'same-origin', ...init })
  } catch (cause) {
    if ((cause as Error).name === 'AbortError') throw cause
    throw offline()
  }
  if (response.ok) return response
  const body = (await response.json().catch(() => null)) as {
    error?: { code?: string; message?: string }
  } | null
  if (response.status === 401) unanswered()
  throw new ApiFailure(
    response.status === 401 ? 'token' : (body?.error?.code ?? 'internal'),
    body?.error?.message ?? `The engine answered ${response.status} to ${path.split('?')[0]}.`,
  )
}

export async function get<T>(
  path: string,
  query: Record<string, string | number> = {},
  signal?: AbortSignal,
): Promise<T> {
  return (await (await request(path + search(query), signal ? { signal } : {})).json()) as T
}

export async function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  return send<T>('POST', path, body, signal ? { signal } : {})
}

/** With `keepalive` the request outlives the page that sent it, where it is small enough. */
export async function put<T>(path: string, body: unknown, keepalive = false): Promise<T> {
  return send<T>('PUT', path, body, { keepalive })
}

async function send<T>(method: string, path: string, body: unknown, more: RequestInit): Promise<T> {
  const response = await request(path, {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...more,
  })
  return (await response.json()) as T
}

/** The text of an answer: a file that is made for the person. */
export async function getText(path: string): Promise<string> {
  return (await request(path)).text()
}

export async function remove(path: string): Promise<void> {
  await request(path, { method: 'DELETE' })
}

function search(query: Record<string, string | number>): string {
  const text = new URLSearchParams(Object.entries(query).map(([k, v]) => [k, String(v)])).toString()
  return text && `?${text}`
}

/** A large body, read straight into its place: half the time of `arrayBuffer()`, which gathers pieces and copies them. */
async function bytesOf(response: Response): Promise<ArrayBuffer> {
  const length = Number(response.headers.get('content-length'))
  const reader = length > 0 ? byteReader(response) : null
  if (!reader) return response.arrayBuffer()
  let bytes = new Uint8Array(length)
  for (let filled = 0; filled < length; ) {
    const { value } = await reader.read(bytes.subarray(filled)).catch(() => ({ value: undefined })) // lends the buffer
    if (!value?.byteLength) throw offline() // it stopped halfway
    filled = value.byteOffset + value.byteLength
    bytes = new Uint8Array(value.buffer)
  }
  return bytes.buffer
}

/** null where the browser streams no bytes of answers (Safari). */
function byteReader(response: Response): ReadableStreamBYOBReader | null {
  try {
    return response.body?.getReader({ mode: 'byob' }) ?? null
  } catch {
    return null
  }
}

/** 32 × 32 bytes of every head: u8 [layer, head, 32, 32]. */
export interface Thumbnails {
  readonly layers: number
  readonly heads: number
  readonly bytes: Uint8Array
  /** Whole squares: what looks ahead, or at another text. Absent: lower triangles. */
  readonly full?: boolean
}

export const api = {
  about: () => get<About>('/api/about'),
  library: () => get<Library>('/api/library'),
  openModel: (path: string) => post<OpenedModel>('/api/models/open', { path }),
  model: (path: string) => get<OpenedModel>('/api/models', { path }),
  tokenize: (body: TokenizeRequest, signal?: AbortSignal) => post<Tokenized>('/api/tokenize', body, signal),
  merges: (body: MergesRequest, signal?: AbortSignal) =>
    post<MergesReply>('/api/tokenize/merges', body, signal),
  openCost: (path: string, signal?: AbortSignal) => get<OpenCost>('/api/models/cost', { path }, signal),
  run: (id: number) => get<RunDetail>(`/api/runs/${id}`),
  induction: (id: number) => get<InductionView>(`/api/runs/${id}/induction`),
  edgesAt: (run: number, place: { query?: number; key?: number }, signal?: AbortSignal) =>
    get<EdgesReply>(`/api/runs/${run}/edges`, { ...place }, signal),
  valueNorms: (run: number, layer: number, kind: ValueNormsReply['kind'], signal?: AbortSignal) =>
    get<ValueNormsReply>(`/api/runs/${run}/value-norms`, { layer, kind }, signal),
  predict: (body: PredictRequest, signal?: AbortSignal) => post<PredictReply>('/api/predict', body, signal),
  generate: (body: GenerateRequest, signal?: AbortSignal) =>
    post<GenerateReply>('/api/generate', body, signal),
  benchHead: (body: BenchRequest, signal?: AbortSignal) => post<BenchReply>('/api/bench/head', body, signal),
  benchEdit: (body: BenchEditRequest, signal?: AbortSignal) =>
    post<BenchEditReply>('/api/bench/edit', body, signal),
  benchBasis: (body: BasisRequest, signal?: AbortSignal) =>
    post<BasisReply>('/api/bench/basis', body, signal),
  headGradients: (body: HeadGradientsRequest, signal?: AbortSignal) =>
    post<HeadGradientsReply>('/api/bench/gradients', body, signal),
  nudge: (body: NudgeRequest, signal?: AbortSignal) => post<NudgeReply>('/api/bench/nudge', body, signal),
  accounting: (model: string) => get<AccountingReply>('/api/bench/accounting', { model }),
  folders: (path: string) => get<FolderListing>('/api/folders', path ? { path } : {}),
  startRun: (body: RunRequest) => post<JobStarted>('/api/jobs/run', body),
  startWeights: (body: WeightsRequest) => post<JobStarted>('/api/jobs/weights', body),
  startPairs: (body: PairsRequest) => post<JobStarted>('/api/jobs/pairs', body),
  startScan: (body: ScanRequest) => post<JobStarted>('/api/jobs/scan', body),
  startExperiment: <K extends ExperimentKind>(kind: K, body: Experiments[K]['request']) =>
    post<JobStarted>(`/api/jobs/${kind}`, body),
  experiments: () => get<ExperimentSummary[]>('/api/experiments'),
  experiment: (id: number) => get<ExperimentDetail>(`/api/experiments/${id}`),
  deleteExperiment: (id: number) => remove(`/api/experiments/${id}`),
  editStacks: () => get<EditStackSummary[]>('/api/edit-stacks'),
  editStack: (id: number) => get<EditStackDetail>(`/api/edit-stacks/${id}`),
  keepEdits: (body: EditStackRequest) => post<{ id: number }>('/api/edit-stacks', body),
  deleteEditStack: (id: number) => remove(`/api/edit-stacks/${id}`),
  reproduce: (body: ReproduceRequest) => post<Reproduced>('/api/reproduce', body),
  lens: (body: LensRequest, signal?: AbortSignal) => post<LensReply>('/api/residual/lens', body, signal),
  patched: (body: PatchedRequest, signal?: AbortSignal) =>
    post<PatchedReply>('/api/residual/patched', body, signal),
  geometry: (body: GeometryRequest, signal?: AbortSignal) =>
    post<GeometryReply>('/api/residual/geometry', body, signal),
  dla: (body: DlaRequest, signal?: AbortSignal) => post<DlaReply>('/api/residual/dla', body, signal),
  change: (body: ChangeRequest, signal?: AbortSignal) =>
    post<ChangeReply>('/api/residual/change', body, signal),
  store: () => get<StoreReply>('/api/store'),
  compact: () => post<Compacted>('/api/store/compact', {}),
  deleteRun: (id: number) => remove(`/api/runs/${id}`),
  keepScores: (id: number) => post<Freed>(`/api/runs/${id}/keep-scores`, {}),
  sql: (sql: string) => post<SqlReply>('/api/sql', { sql }),
  jobs: () => get<JobSummary[]>('/api/jobs'),
  cancelJob: (id: number) => post<unknown>(`/api/jobs/${id}/cancel`, {}),
  jobEvents: (id: number) => new EventSource(`/api/jobs/${id}/events`),

  /** The newest scan of a checkpoint; null when it was never scanned. */
  async scan(model: string): Promise<ScanReply | null> {
    try {
      return await get<ScanReply>('/api/scans', { model })
    } catch (error) {
      if (error instanceof ApiFailure && error.code === 'not-found') return null
      throw error
    }
  },

  /** Past the browser's cache, which would cost a ms a megabyte on the way in: patterns.ts keeps the last ones. */
  async pattern(run: number, layer: number, head: number): Promise<Pattern> {
    const response = await request(`/api/runs/${run}/pattern${search({ layer, head })}`, {
      cache: 'no-store',
    })
    return decodePattern(response.headers, await bytesOf(response))
  },

  async thumbnails(run: number): Promise<Thumbnails> {
    const response = await request(`/api/runs/${run}/thumbnails`)
    const shape = JSON.parse(response.headers.get('x-headscope-shape') ?? '[]') as number[]
    return {
      layers: shape[0] ?? 0,
      heads: shape[1] ?? 0,
      bytes: new Uint8Array(await response.arrayBuffer()),
    }
  },
}
