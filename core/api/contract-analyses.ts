/** Messages about finished analyses that the workspace keeps. Part of contract.ts. */
import type { Provenance } from '../run/types.ts'
import type {
  CompareReply,
  CompareRequest,
  CorpusReply,
  CorpusRequest,
  RelationReply,
  RelationRequest,
  SeriesReply,
  SeriesRequest,
  SpansReply,
  SpansRequest,
} from './contract-heads.ts'

/** What each kind is asked and gives. The kinds are the names of their jobs. */
export interface Analyses {
  readonly spans: { readonly request: SpansRequest; readonly reply: SpansReply }
  readonly corpus: { readonly request: CorpusRequest; readonly reply: CorpusReply }
  readonly relation: { readonly request: RelationRequest; readonly reply: RelationReply }
  readonly compare: { readonly request: CompareRequest; readonly reply: CompareReply }
  readonly series: { readonly request: SeriesRequest; readonly reply: SeriesReply }
}
export type AnalysisKind = keyof Analyses

/** GET /api/analyses: newest first. DELETE /api/analyses/:id removes one. */
export interface AnalysisSummary {
  readonly id: number
  readonly kind: AnalysisKind
  /** The model's folder, or its bundled name; of a comparison A, of a series its last step. */
  readonly model: string
  readonly modelName: string
  /** Of the weights of that model. */
  readonly contentHash: string
  /** What it is about, in a few words. */
  readonly title: string
  readonly created: string // ISO time
}

/** A checkpoint that an analysis read. */
export interface AnalysedModel {
  readonly path: string
  readonly name: string
  readonly family: string
  readonly contentHash: string
}

/** GET /api/analyses/:id: what the job gave, and what was asked. Nothing is computed. */
export type AnalysisDetail<K extends AnalysisKind = AnalysisKind> = {
  readonly [P in K]: AnalysisSummary & {
    readonly kind: P
    readonly request: Analyses[P]['request']
    readonly reply: Analyses[P]['reply']
    readonly models: readonly AnalysedModel[]
    readonly versions: Provenance['versions']
  }
}[K]
