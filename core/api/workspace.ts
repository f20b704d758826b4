/** What the server reads of the workspace, as types: see workspace-store.ts for the store behind it. */
import type { AttentionOf } from '../graph/hook-names.ts'
import type { Prediction } from '../run/types.ts'
import type { EdgePlace, EdgesAt } from '../store/edges-at.ts'
import type { PinnedFigure, StoredFigure } from '../store/figures.ts'
import type { HeadNote } from '../store/notes.ts'
import type { EdgeQuery, EdgeSearch } from '../store/types.ts'
import type {
  AnalysisDetail,
  AnalysisSummary,
  EditStackDetail,
  EditStackSummary,
  ExperimentDetail,
  ExperimentSummary,
  RunDetail,
  ScanReply,
  SqlReply,
  StoredPrompt,
  StoredRun,
  StoreReply,
} from './contract.ts'

/** Bytes as they lie in the store. */
export interface StoredTensor {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly shape: readonly number[]
  readonly dtype: 'f32' | 'f16' | 'u8'
  readonly codec: 'full' | 'tri'
}

/** A run without the words for its likely next tokens, which only a tokenizer has. */
export type WorkspaceRun = Omit<RunDetail, 'predictions'> & { readonly positions: readonly Prediction[] }

/** A sweep without the forms that need names of models. */
export type WorkspaceExperiment = Omit<ExperimentDetail, 'command' | 'script'>

/** Every method throws not-found for a run that does not exist. `model` of a run is the folder it was opened from. */
export interface WorkspaceReads {
  prompts(): StoredPrompt[]
  runs(): StoredRun[]
  run(id: number): WorkspaceRun
  /** `of` where an encoder and a decoder have three kinds of attention; default: the decoder's own. */
  pattern(id: number, layer: number, head: number, of?: AttentionOf): StoredTensor
  thumbnails(id: number, of?: AttentionOf): StoredTensor
  residual(id: number, hook: string): StoredTensor
  /** Heads of a run with an edge at a place. */
  edgesAt(id: number, place: EdgePlace): EdgesAt
  /** The newest scan of the checkpoint with these weights, or null. */
  newestScan(contentHash: string): Omit<ScanReply, 'model'> | null
  /** Edges of the stored runs. */
  search(query: EdgeQuery): EdgeSearch
  /** Stored sweeps, newest first; `model` is the folder. */
  experiments(): ExperimentSummary[]
  experiment(id: number): WorkspaceExperiment
  /** Finished analyses, newest first; models are folders. */
  analyses(): AnalysisSummary[]
  analysis(id: number): AnalysisDetail
  /** Stacks of edits that are kept, newest first; models are folders. */
  editStacks(): EditStackSummary[]
  editStack(id: number): EditStackDetail
  /** Notes on the heads of the checkpoint with these weights. */
  headNotes(contentHash: string): HeadNote[]
  /** Pinned figures, in order; one whole. */
  figures(): PinnedFigure[]
  figure(id: number): StoredFigure
  /** What the workspace holds and costs. */
  use(): StoreReply
  sql(text: string, signal?: AbortSignal): Promise<SqlReply>
  close(): void
}
