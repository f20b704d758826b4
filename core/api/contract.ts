/**
 * The messages of the HTTP API, as plain data. Routes are listed beside their types; handlers live in the files
 * named after their noun. Tensors travel as application/octet-stream with the headers x-headscope-shape (JSON array),
 * x-headscope-dtype (f32 | f16 | u8) and x-headscope-codec (full | tri). Errors are {error: {code, message}}.
 */
import type { Progress } from '../checkpoint/types.ts'
import type { ErrorCode } from '../errors.ts'
import type * as Heads from './contract-heads.ts'
import type * as Inside from './contract-inside.ts'
import type { GenerateRequest, RunRequest, ScanRequest } from './contract-runs.ts'
import type { ExperimentKind, Experiments, SweepNews } from './contract-sweeps.ts'

export type * from './contract-analyses.ts'
export type * from './contract-edits.ts'
export type * from './contract-heads.ts'
export type * from './contract-inside.ts'
export type * from './contract-library.ts'
export type * from './contract-notebook.ts'
export type * from './contract-runs.ts'
export type * from './contract-sweeps.ts'

export interface ApiError {
  readonly error: { readonly code: ErrorCode; readonly message: string }
}

/** POST /api/reproduce {kind, request}: the command line and the script that give the same. */
export interface Reproduced {
  /** null: only a script does this. */
  readonly command: string | null
  readonly script: string
}
export type ReproduceRequest =
  | { readonly kind: 'run'; readonly request: RunRequest }
  | { readonly kind: 'scan'; readonly request: ScanRequest }
  | {
      readonly [K in ExperimentKind]: { readonly kind: K; readonly request: Experiments[K]['request'] }
    }[ExperimentKind]
  | AnalysisRequest

/** Analyses that a figure shows. `series` names a series or one of its members, `bench` is one head taken apart. */
export type AnalysisRequest =
  | InsideAnalysis
  | { readonly kind: 'compare'; readonly request: Heads.CompareRequest }
  | { readonly kind: 'spans'; readonly request: Heads.SpansRequest }
  | { readonly kind: 'relation'; readonly request: Heads.RelationRequest }
  | { readonly kind: 'series'; readonly request: Heads.SeriesRequest }
  | { readonly kind: 'summary'; readonly request: Heads.SummaryRequest }
  | { readonly kind: 'generate'; readonly request: GenerateRequest }
export type InsideAnalysis =
  | { readonly kind: 'lens'; readonly request: Inside.LensRequest }
  | { readonly kind: 'dla'; readonly request: Inside.DlaRequest }
  | { readonly kind: 'weights'; readonly request: Inside.WeightsRequest }
  | { readonly kind: 'pairs'; readonly request: Inside.PairsRequest }
  | { readonly kind: 'geometry'; readonly request: Inside.GeometryRequest }
  | { readonly kind: 'contexts'; readonly request: Inside.ContextsRequest }
  | { readonly kind: 'compound'; readonly request: Inside.CompoundRequest }
  | { readonly kind: 'bench'; readonly request: Inside.BenchHeadInput }

/**
 * POST /api/jobs → {job}. GET /api/jobs/:id/events: server-sent events of this type. POST /api/jobs/:id/cancel.
 * `begun` and `cells` are of sweeps only; a late listener hears them all again, then the newest event.
 */
export type JobEvent<R = unknown, C = unknown> =
  | SweepNews<C>
  | { readonly type: 'progress'; readonly progress: Progress; readonly label: string }
  | { readonly type: 'done'; readonly result: R }
  | { readonly type: 'failed'; readonly error: { readonly code: ErrorCode; readonly message: string } }
  | { readonly type: 'cancelled' }

export interface JobStarted {
  readonly job: number
}

/**
 * GET /api/jobs: what waits, runs, or ended lately. `event` is the newest one, but a done event has
 * result null here. The stream of events repeats the newest
 * event first and ends after done, failed or cancelled: close it then. A job that waits has total 0 in its progress.
 */
export interface JobSummary {
  readonly job: number
  readonly label: string
  readonly event: JobEvent
}

/** POST /api/sql {sql}: read-only, at most 1,000 rows. */
export interface SqlRequest {
  readonly sql: string
}

export interface SqlReply {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly (string | number | null)[])[]
  readonly truncated: boolean
}
