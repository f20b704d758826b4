/** Messages of the routes about what heads do and how checkpoints differ. Part of contract.ts. */
import type { CorpusHead } from '../analysis/corpus.ts'
import type { RelationReport, RelationTemplate } from '../analysis/relation.ts'
import type { Spans } from '../analysis/spans.ts'
import type { TokenChoice } from '../analysis/token-classes.ts'
import type { TokenView } from '../checkpoint/types.ts'
import type { ComparedWeights, Comparison, Series } from '../compare/index.ts'
import type { SpanEffect } from '../intervene/span-effect.ts'
import type { EdgeSearch } from '../store/types.ts'
import type { PromptInput } from './contract.ts'

/** GET /api/heads/scores: every score that a scan knows, with its definition. */
export interface ScoreInfo {
  readonly name: string
  readonly title: string
  readonly definition: string
  readonly kind: 'pattern' | 'weights' | 'runs' | 'model'
}

/** What the workspace keeps of an analysis: GET /api/analyses/:id gives it again. */
export interface Kept {
  readonly experiment: number
}

/** POST /api/jobs/spans: A B … A → B places of texts. Job result: SpansReply. */
export interface SpansRequest {
  readonly model: string
  readonly prompts: readonly PromptInput[]
  readonly hit?: 'strongest' | 'weight'
  readonly threshold?: number
  /** Ablate heads and compare losses with matched controls. */
  readonly check?: boolean
  /** Those that are ablated; default: the three with the highest rate. */
  readonly heads?: readonly { readonly layer: number; readonly head: number }[]
}
export interface SpansReply extends Spans, Kept {
  /** Tokens of each window. */
  readonly tokens: readonly (readonly TokenView[])[]
  readonly causal: readonly SpanEffect[] | null
}

/** GET /api/heads/classes lists the names of classes. */
export type { TokenChoice } from '../analysis/token-classes.ts'

/**
 * POST /api/jobs/corpus: the strongest examples of every head over many texts. With `store` the runs are kept, so that
 * /api/heads/search finds their edges. Job result: CorpusReply.
 */
export interface CorpusRequest {
  readonly model: string
  readonly prompts: readonly PromptInput[]
  readonly keep?: number
  readonly query?: TokenChoice
  readonly key?: TokenChoice
  readonly store?: boolean
}
export interface CorpusReply extends Kept {
  readonly heads: readonly CorpusHead[]
  /** Tokens of the windows that some head's examples are in, by window; the others are empty. */
  readonly tokens: readonly (readonly TokenView[])[]
  /** Runs that hold the windows; equal windows share one. */
  readonly runs: readonly number[]
}

/** POST /api/heads/search: heads where a token attends to another above a weight, over the stored runs. Reply: EdgeSearch. */
export interface SearchRequest {
  readonly model: string
  readonly query?: TokenChoice
  readonly key?: TokenChoice
  readonly min_weight?: number
  readonly layer?: number
  readonly head?: number
  readonly limit?: number
}
export type SearchReply = EdgeSearch

/** POST /api/jobs/relation: relation probe; without a template the shipped example. Job result: RelationReport. */
export interface RelationRequest {
  readonly model: string
  readonly template?: RelationTemplate
  readonly triples?: readonly {
    readonly prompt: PromptInput
    readonly query: number
    readonly target: number
    readonly distractor: number
  }[]
}
export type RelationReply = RelationReport & Kept

/** POST /api/jobs/compare: two checkpoints on the same prompts. Job result: CompareReply. */
export interface CompareRequest {
  readonly a: string
  readonly b: string
  readonly prompts: readonly PromptInput[]
  readonly scores?: readonly string[]
  readonly length?: number
  readonly batch?: number
  readonly seed?: number
  readonly match?: boolean
  readonly weights?: readonly string[]
  /** Also the report, as the text of an HTML file. */
  readonly report?: boolean
}
export interface CompareReply extends Comparison, Kept {
  readonly a: string
  readonly b: string
  /** Tokens of the compared prompts, in A's words. */
  readonly tokens: readonly (readonly TokenView[])[]
  readonly weights: readonly ComparedWeights[] | null
  readonly report: string | null
}

/** POST /api/jobs/series: every score at every step of a series. `model` is the series or one of its members. Job result: Series. */
export interface SeriesRequest {
  readonly model: string
  readonly scores?: readonly string[]
  readonly length?: number
  readonly batch?: number
  readonly seed?: number
  readonly bos?: boolean
  readonly threshold?: number
}
export type SeriesReply = Series & Kept

/** POST /api/heads/difference: one head's pattern in two checkpoints, row by row [query, key]. */
export interface DifferenceRequest {
  readonly a: string
  readonly b: string
  readonly prompt: PromptInput
  readonly layer: number
  readonly head: number
}
export interface DifferenceReply {
  readonly tokens: readonly TokenView[]
  readonly a: readonly number[]
  readonly b: readonly number[]
  readonly difference: readonly number[]
}

/** POST /api/heads/summary: attention through all layers, with its caveats as text. */
export interface SummaryRequest {
  readonly model: string
  readonly prompt: PromptInput
  readonly kind: 'rollout' | 'flow'
  /** Output position; negative counts from the end (default the last). */
  readonly pos?: number
  /** Of a rollout only the row of `pos`. */
  readonly row?: boolean
  readonly without_first?: boolean
}
export interface SummaryReply {
  readonly definition: string
  readonly tokens: readonly TokenView[]
  /** Rollout: [query, key] row by row, or the one row. Flow: one value per input position. */
  readonly values: readonly number[]
}
