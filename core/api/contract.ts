/**
 * The messages of the HTTP API, as plain data. Routes are listed beside their types; handlers live in the files
 * named after their noun. Tensors travel as application/octet-stream with the headers x-headscope-shape (JSON array),
 * x-headscope-dtype (f32 | f16 | u8) and x-headscope-codec (full | tri). Errors are {error: {code, message}}.
 */
import type { HeadScores, ScanResult } from '../analysis/types.ts'
import type { ValueNormKind } from '../analysis/value-norms.ts'
import type { Merge, Progress, TokenView } from '../checkpoint/types.ts'
import type { ErrorCode } from '../errors.ts'
import type { Ablated, AblateKind, AblateOver } from '../intervene/ablate.ts'
import type { Attributed, AttributionCell, AttributionSite } from '../intervene/attribute.ts'
import type { PatchBy, Patched, PatchSite } from '../intervene/patch.ts'
import type { PathCell, PathPatched, PathPlan } from '../intervene/path.ts'
import type { AblationCell, PatchCell, SweepEstimate } from '../intervene/types.ts'
import type { Metric } from '../run/metrics.ts'
import type { Edit, Prediction, Provenance } from '../run/types.ts'
import type { EdgesAt } from '../store/edges-at.ts'
import type * as Heads from './contract-heads.ts'
import type * as Inside from './contract-inside.ts'

export type * from './contract-analyses.ts'
export type * from './contract-edits.ts'
export type * from './contract-heads.ts'
export type * from './contract-inside.ts'
export type * from './contract-notebook.ts'

export interface ApiError {
  readonly error: { readonly code: ErrorCode; readonly message: string }
}

/** GET /api/about */
export interface About {
  readonly headscope: string
  readonly node: string
  readonly onnxruntime: string
  readonly platform: string
  readonly device: string
  readonly threads: number
  readonly store: string // path of the workspace database
  readonly families: readonly string[]
  /** Where a fresh app begins: a bundled checkpoint and a prompt with a repeat. */
  readonly start: { readonly model: string; readonly prompt: string } | null
}

/** GET /api/library: checkpoints that are known, without opening them. */
export interface Library {
  readonly models: readonly LibraryModel[]
  readonly prompts: readonly StoredPrompt[]
  readonly runs: readonly StoredRun[]
}

export interface LibraryModel {
  /** What to open: a bundled name such as `induction-2l`, or an absolute path. */
  readonly path: string
  readonly name: string
  readonly origin: 'bundled' | 'recent' | 'library'
  /** Members of a training series, in natural order. */
  readonly series: readonly { readonly at: string; readonly path: string }[]
}

export interface StoredPrompt {
  readonly id: number
  readonly text: string | null
  readonly ids: readonly number[]
  /** What a decoder read beside this text of its encoder. */
  readonly decoder?: { readonly id: number; readonly text: string | null; readonly ids: readonly number[] }
}

export interface StoredRun {
  readonly id: number
  readonly model: string
  readonly modelName: string
  /** The prompt's; of an encoder–decoder that of the encoder. */
  readonly text: string | null
  readonly tokens: number
  readonly created: string // ISO time
  readonly bytes: number
  readonly edits: number
  /** False when only its scores were kept: no pattern, no residual stream. */
  readonly captures: boolean
}

/**
 * GET /api/store: what the workspace holds and costs. DELETE /api/runs/:id removes a run; POST /api/runs/:id/keep-scores
 * drops its captures and keeps provenance, losses and predictions; POST /api/store/compact gives free bytes back.
 */
export interface StoreReply {
  readonly path: string
  readonly bytes: number // on disk
  readonly free: number // of these, what compacting would give back
  readonly runs: number
  readonly scans: number
  readonly experiments: number
  readonly analyses: number
  readonly prompts: number
  readonly checkpoints: number
}
export interface Freed {
  /** Bytes that are free now, for later runs or to compact. */
  readonly freed: number
}
export interface Compacted {
  readonly before: number
  readonly after: number
}

/** GET /api/cache: float32 working copies and hashes. POST /api/cache/clear removes them: {freed}; 409 while a model works. */
export interface CacheReply {
  readonly path: string
  readonly bytes: number
}

/** GET /api/models/cost?path=: what opening writes, to be shown before it is opened. */
export interface OpenCost {
  /** Bytes of the float32 working copy that would be written; 0 when none is needed, or when it is there. */
  readonly writes: number
  /** Bytes that are free where it goes; null when the system does not say. */
  readonly free: number | null
  readonly cache: string // that folder
}

/** POST /api/models/open {path}: opens (or finds open) and describes. GET /api/models?path= describes it again. */
export interface OpenRequest {
  readonly path: string
}

export interface OpenedModel {
  readonly path: string
  readonly name: string
  readonly spec: SpecSummary
  readonly hooks: readonly { readonly name: string; readonly shape: readonly (string | number)[] }[]
  readonly parameters: number
  readonly tokenizer: {
    readonly vocabSize: number
    readonly bosToken: string | null
    readonly addsBos: boolean
    /** Whether there is a chat template for `chat` of /api/generate. */
    readonly chats: boolean
  } | null
  readonly tokenizerProblem: string | null
  readonly warnings: readonly string[]
  /** null while the background pass is still reading. */
  readonly contentHash: string | null
  /** Position of this checkpoint in its training series, when it is a member of one. */
  readonly series: readonly { readonly at: string; readonly path: string }[]
}

export interface SpecSummary {
  readonly family: string
  readonly n_layers: number
  readonly d_model: number
  readonly n_heads: number
  readonly n_kv_heads: number
  readonly d_head: number
  readonly d_mlp: number
  readonly d_vocab: number
  readonly n_ctx: number
  readonly norm: string
  readonly act: string
  readonly positional: string
  readonly parallel: boolean
  readonly tied: boolean
  /** Set where a token sees later ones. */
  readonly causal?: false
  /** The encoder that the decoder reads, and the token that a decoder's text begins with; else absent. */
  readonly encoder?: { readonly n_layers: number; readonly n_heads: number; readonly start: number }
}

/** POST /api/tokenize: the tokens of a text, or of ids as they are. */
export type TokenizeRequest =
  | {
      readonly model: string
      readonly text: string
      readonly bos: 'auto' | 'yes' | 'no'
      /** Whether the spelling of a special token in the text is that token (the default) or plain characters. */
      readonly specials?: 'tokens' | 'text'
      /** As a decoder's own text beside its encoder's: its start token, then the text without special tokens. */
      readonly decoder?: boolean
    }
  | { readonly model: string; readonly ids: readonly number[] }
export interface Tokenized {
  readonly tokens: readonly TokenView[]
}

/** POST /api/tokenize/merges {model, id}: the merges of a BPE vocabulary that build a token, first to last. */
export interface MergesRequest {
  readonly model: string
  readonly id: number
}
export interface MergesReply {
  readonly merges: readonly Merge[]
}

export interface PromptInput {
  readonly text?: string
  readonly ids?: readonly number[]
  readonly bos?: 'auto' | 'yes' | 'no'
  readonly specials?: 'tokens' | 'text'
  /** The decoder's own text, or ids with its start token, where the model reads this prompt with an encoder. */
  readonly decoder?: { readonly text?: string; readonly ids?: readonly number[] }
}

/** POST /api/jobs/run: runs, captures every pattern and the residual stream, and stores. Job result: {run: number}. */
export interface RunRequest {
  readonly model: string
  readonly prompt: PromptInput
  readonly edits?: readonly Edit[]
}

/** POST /api/predict: one pass, nothing stored: what the model says with and without edits. */
export interface PredictRequest {
  readonly model: string
  readonly prompt: PromptInput
  readonly edits: readonly Edit[]
  /** Position looked at; negative counts from the end. */
  readonly pos?: number
  /** Positions whose top tokens are wanted before and after; negative counts from the end. */
  readonly positions?: readonly number[]
}
export interface PredictReply {
  readonly base: NamedPrediction
  readonly edited: NamedPrediction
  /** Of the asked positions, in that order. */
  readonly positions: readonly PredictedPosition[]
}
export interface PredictedPosition {
  readonly pos: number
  readonly base: NamedPrediction['top']
  readonly edited: NamedPrediction['top']
  /** KL(unedited ‖ edited) of the next token, nats; null where some logit is not a finite number. */
  readonly kl: number | null
}
export interface NamedPrediction {
  readonly pos: number
  readonly top: readonly { readonly token: TokenView; readonly prob: number | null; readonly logit: number }[]
  readonly loss: number | null // mean over the prompt
}

/** POST /api/jobs/scan: scores every head on repeated random tokens and stores. Job result: ScanReply. */
export interface ScanRequest {
  readonly model: string
  /** Names of scores (GET /api/heads/scores), or all; default: the first four. */
  readonly scores?: readonly string[]
  readonly bos?: boolean
  /** Texts for the scores that read any text. */
  readonly prompts?: readonly PromptInput[]
  readonly length?: number
  readonly batch?: number
  readonly seed?: number
}
export interface ScanReply extends ScanResult {
  readonly model: string
}

/** GET /api/scans?model=: the newest stored scan of this checkpoint, or 404. Reply: ScanReply. */

/** GET /api/runs/:id */
export interface RunDetail extends StoredRun {
  readonly provenance: Provenance
  readonly spec: SpecSummary
  readonly views: readonly TokenView[]
  /** What the encoder read, where `views` are the decoder's own. */
  readonly source?: readonly TokenView[]
  /** The decoder's own text, where it was given as one. */
  readonly decoderText?: string | null
  readonly predictions: readonly (Prediction & { readonly topTokens: readonly TokenView[] })[]
  readonly loss: number | null
  readonly hooks: readonly string[]
}

/**
 * GET /api/runs/:id/pattern?layer=&head=   octet-stream, one head as stored: codec tri (row q holds q + 1 weights),
 *                                          dtype f16 or f32, shape [query, key]
 *                                          of an encoder–decoder &of=encoder|decoder|cross (default decoder)
 * GET /api/runs/:id/thumbnails             octet-stream u8 [layer, head, 32, 32]: max-pooled, 255 = weight 1
 * GET /api/runs/:id/residual?hook=         octet-stream f32 [pos, d_model]
 */

/**
 * GET /api/runs/:id/value-norms?layer=&kind=value|output: what turns a stored pattern into a value-weighted one,
 * computed from the run's checkpoint, tokens and edits. A[q, k] · norms[head][k] is the value-weighted pattern.
 */
export interface ValueNormsReply {
  readonly kind: ValueNormKind
  readonly layer: number
  readonly definition: string
  /** [head][pos]; null where it is not a finite number, or where there is no such head. */
  readonly norms: readonly (readonly (number | null)[])[]
}

/**
 * GET /api/runs/:id/edges?key=: the heads in which another token looks at this position with a weight of 0.2 or more;
 * ?query=: in which this token looks at another one; both: in which this edge is. Strongest first.
 */
export type EdgesReply = EdgesAt

/** GET /api/runs/:id/induction: A B … A places of this prompt, and what every head does there. */
export interface InductionView {
  /** query: the later A; target: the earlier B; source: the earlier A. */
  readonly pairs: readonly { readonly query: number; readonly source: number; readonly target: number }[]
  readonly heads: readonly {
    readonly layer: number
    readonly head: number
    /** Weight on each pair's target, in the order of `pairs`. */
    readonly weights: readonly number[]
    /** Mean over query tokens of the weight on all targets of that query: general prefix matching. */
    readonly prefix_matching: HeadScores['scores'][string]
  }[]
}

/**
 * POST /api/jobs/ablate, /patch, /path and /attribute: sweeps of interventions. Their stream gives one `begun` event,
 * then `cells` as they come; the job's result is an ExperimentDetail. Each is stored as an experiment from its first
 * cell on. `resume` goes on with a stored experiment: the request that is stored there counts, not the other fields,
 * and its known cells come at once. Where a decoder reads an encoder, a sweep goes over the decoder: prompts may
 * differ in the encoder's text, in the decoder's own part (of equal lengths), or in both.
 */
export interface AblateRequest {
  readonly model: string
  readonly prompt: PromptInput
  readonly over: AblateOver
  readonly kind: AblateKind
  readonly metric: Metric
  /** mean: the corpus; resample: one prompt of the same length. Of a decoder its own texts, over the prompt's source. */
  readonly reference?: readonly PromptInput[]
  readonly meanOver?: 'all' | 'pos'
  readonly resume?: number
}
export interface PatchRequest {
  readonly model: string
  readonly clean: PromptInput
  readonly corrupt: PromptInput
  readonly site: PatchSite
  readonly by?: PatchBy
  readonly direction?: 'denoise' | 'noise'
  readonly metric: Metric
  readonly resume?: number
}
/** `from` and `to`: every sender with every receiver; or `edges`: those of a circuit. */
export type PathRequest = PathPlan & {
  readonly model: string
  readonly clean: PromptInput
  readonly corrupt: PromptInput
  readonly metric: Metric
  readonly mlps?: 'freeze' | 'recompute'
  readonly resume?: number
}
export interface AttributeRequest {
  readonly model: string
  readonly clean: PromptInput
  readonly corrupt: PromptInput
  readonly metric: Metric
  readonly sites?: readonly AttributionSite[]
  /** Exact runs for the K largest estimates. */
  readonly verify?: number
  readonly gradDrop?: boolean
  readonly resume?: number
}

/** What each kind of sweep is asked, gives cell by cell, and gives in the end. */
export interface Experiments {
  readonly ablate: { readonly request: AblateRequest; readonly cell: AblationCell; readonly result: Ablated }
  readonly patch: { readonly request: PatchRequest; readonly cell: PatchCell; readonly result: Patched }
  readonly path: { readonly request: PathRequest; readonly cell: PathCell; readonly result: PathPatched }
  readonly attribute: {
    readonly request: AttributeRequest
    readonly cell: AttributionCell
    readonly result: Attributed
  }
}
export type ExperimentKind = keyof Experiments

/** GET /api/experiments: newest first. DELETE /api/experiments/:id removes one. */
export interface ExperimentSummary {
  readonly id: number
  readonly kind: ExperimentKind
  /** The model's folder, or its bundled name. */
  readonly model: string
  readonly modelName: string
  readonly created: string // ISO time
  /** Cells that the plan has (0 until known), and those that are there. */
  readonly cells: number
  readonly done: number
  readonly complete: boolean
}

/** GET /api/experiments/:id. `result` is null until it is complete; `cellList` has the cells that are there. */
export type ExperimentDetail<K extends ExperimentKind = ExperimentKind> = {
  readonly [P in K]: ExperimentSummary & {
    readonly kind: P
    readonly request: Experiments[P]['request']
    readonly cellList: readonly Experiments[P]['cell'][]
    readonly result: Omit<Experiments[P]['result'], 'cells'> | null
    /** Tokens of the prompt (of patch, path and attribute: clean, then corrupt). */
    readonly prompts: readonly (readonly TokenView[])[]
    /** The same as a command line and as a script. */
    readonly command: string
    readonly script: string
  }
}[K]

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
export type InsideAnalysis =
  | { readonly kind: 'lens'; readonly request: Inside.LensRequest }
  | { readonly kind: 'dla'; readonly request: Inside.DlaRequest }
  | { readonly kind: 'weights'; readonly request: Inside.WeightsRequest }
  | { readonly kind: 'pairs'; readonly request: Inside.PairsRequest }
  | { readonly kind: 'geometry'; readonly request: Inside.GeometryRequest }
  | { readonly kind: 'contexts'; readonly request: Inside.ContextsRequest }
  | { readonly kind: 'compound'; readonly request: Inside.CompoundRequest }
  | { readonly kind: 'bench'; readonly request: Inside.BenchHeadInput }

/** What a sweep tells beside its progress. */
export type SweepNews<C = unknown> =
  | { readonly type: 'begun'; readonly experiment: number; readonly estimate: SweepEstimate | null }
  | { readonly type: 'cells'; readonly cells: readonly C[] }

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

/** POST /api/generate: a continuation, greedy unless a temperature is given. */
export interface GenerateRequest {
  readonly model: string
  readonly prompt: PromptInput
  readonly max: number
  /** The prompt's text is what a person says in the checkpoint's chat template. */
  readonly chat?: boolean
  /** 0 (default) is greedy. */
  readonly temperature?: number
  /** Of the draws; default 0. */
  readonly seed?: number
}
export interface GenerateReply {
  /** The prompt as it ran. */
  readonly prompt: readonly TokenView[]
  readonly tokens: readonly TokenView[]
  readonly text: string
  /** log p of each new token under the model (temperature 1), nats, as decoded with the key/value cache. */
  readonly log_probs: readonly number[]
  /** The same from one run of the whole text without a cache; null where a decoder reads an encoder. */
  readonly uncached: readonly (number | null)[] | null
  readonly stopped: 'max' | 'eos' | 'context'
  readonly cache_bytes: number
}

/**
 * GET /api/folders?path=: subfolders and GGUF files of a folder, for the open dialog. `checkpoint` marks those that can
 * be opened, `file` those that have nothing inside to list.
 */
export interface FolderListing {
  readonly path: string
  readonly parent: string | null
  readonly entries: readonly {
    readonly name: string
    readonly path: string
    readonly checkpoint: boolean
    readonly file: boolean
  }[]
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
