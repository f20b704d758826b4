/** Messages of the routes about the residual stream, the weights and one head from first principles. Part of contract.ts. */

import type { TokenPair } from '../analysis/circuits.ts'
import type { Dla } from '../analysis/dla.ts'
import type { Neighbours } from '../analysis/embedding.ts'
import type {
  Accounting,
  AttentionMemory,
  BasisCheck,
  Nudge,
  ScoreReach,
  Sharpness,
  SharpnessPoint,
  SourceContribution,
  Spectrum,
  Step,
  StepChanges,
} from '../analysis/first-principles/index.ts'
import type { Lens } from '../analysis/lens.ts'
import type { Change } from '../analysis/residual-components.ts'
import type { ContextShift } from '../analysis/residual-context.ts'
import type { ConvergenceResult, ResidualGeometry } from '../analysis/residual-geometry.ts'
import type { Score } from '../analysis/types.ts'
import type { WeightAnalysis } from '../analysis/weights.ts'
import type { TokenView } from '../checkpoint/types.ts'
import type { AttentionOf } from '../graph/hook-names.ts'
import type { Metric } from '../run/metrics.ts'
import type { Edit, Prediction } from '../run/types.ts'
import type { PromptInput } from './contract.ts'

/** A token id, or a text that is one token. */
export type TokenGiven = number | string

/** POST /api/residual/lens: what the model would say at every block border. */
export interface LensRequest {
  readonly model: string
  readonly prompt: PromptInput
  readonly positions?: readonly number[]
  readonly layers?: readonly number[]
  readonly answer?: TokenGiven
  readonly top?: number
  readonly edits?: readonly Edit[]
}
export interface LensReply extends Lens {
  readonly definition: string
  readonly tokens: readonly TokenView[]
  /** The words of every id in `top`, by id. */
  readonly words: Readonly<Record<number, TokenView>>
}

/** POST /api/residual/dla: what every part adds to a logit. */
export interface DlaRequest {
  readonly model: string
  readonly prompt: PromptInput
  readonly answer: TokenGiven
  readonly wrong?: TokenGiven
  readonly pos?: number
  readonly edits?: readonly Edit[]
  readonly sources?: boolean
  readonly value_bias?: 'heads' | 'bias'
}
export interface DlaReply extends Dla {
  readonly definition: string
  readonly tokens: readonly TokenView[]
}

/** POST /api/residual/geometry: norms and cosines; with `border`, cosines between all positions there. */
export interface GeometryRequest {
  readonly model: string
  readonly prompt: PromptInput
  readonly border?: number
  readonly edits?: readonly Edit[]
}
export interface GeometryReply extends ResidualGeometry {
  readonly tokens: readonly TokenView[]
  readonly positions: readonly (readonly (number | null)[])[] | null
}

/** A residual: a prompt, a position in it, a block border. */
export interface CellInput {
  readonly prompt: PromptInput
  readonly pos: number
  readonly border: number
  /** Of the run whose residual it is. */
  readonly edits?: readonly Edit[]
}

/**
 * POST /api/residual/patched: the lens of the prompt of `to` with its cell set to the residual of `from`. Reply:
 * PatchedReply.
 */
export interface PatchedRequest extends Omit<LensRequest, 'prompt' | 'edits'> {
  readonly from: CellInput
  readonly to: CellInput
}
export interface PatchedReply extends LensReply {
  /** |carried residual − the one that stood there|. */
  readonly distance: number
}

/** POST /api/residual/change: who wrote the difference between two residuals. Reply: ChangeReply. */
export interface ChangeRequest {
  readonly model: string
  readonly from: CellInput
  readonly to: CellInput
}
export type ChangeReply = Change

/** POST /api/residual/contexts: one token in several prompts. Reply: ContextsReply. */
export interface ContextsRequest {
  readonly model: string
  readonly places: readonly { readonly prompt: PromptInput; readonly pos: number }[]
}
export interface ContextsReply extends ContextShift {
  readonly tokens: readonly (readonly TokenView[])[]
}

/** POST /api/residual/compound: do the pieces of one entity come together? */
export interface CompoundRequest {
  readonly model: string
  readonly prompt: PromptInput
  readonly positions: readonly number[]
}
export interface CompoundReply extends ConvergenceResult {
  readonly tokens: readonly TokenView[]
}

/** POST /api/residual/neighbours: `king - man + woman` in the embedding. */
export interface NeighboursRequest {
  readonly model: string
  readonly expression: string
  readonly count?: number
}
export interface NeighboursReply extends Neighbours {
  readonly words: Readonly<Record<number, TokenView>>
}

/** POST /api/jobs/weights: spectra, copying and composition. Job result: WeightsReply. */
export interface WeightsRequest {
  readonly model: string
  readonly fold?: boolean
  readonly composition?: boolean
}
export interface WeightsReply extends WeightAnalysis {
  /** Eigenvalue copying, [layer][head]. */
  readonly copying: { readonly definition: string; readonly heads: readonly (readonly Score[])[] }
}

/** POST /api/jobs/pairs: the strongest input–output tokens of a head. Job result: PairsReply. */
export interface PairsRequest {
  readonly model: string
  readonly layer: number
  readonly head: number
  readonly circuit: 'ov' | 'qk'
  readonly count?: number
}
export interface PairsReply {
  readonly pairs: readonly TokenPair[]
  readonly words: Readonly<Record<number, TokenView>>
}

/** GET /api/exchange?what=&format=: a run (12) or experiment:3 as a file to download. */
export interface ExportRequest {
  readonly what: string
  readonly format: 'safetensors' | 'npz' | 'csv' | 'json'
}

/** POST /api/jobs/import: a capture made elsewhere becomes a stored run. Job result: ImportReply. */
export interface ImportRequest {
  readonly model: string
  /** Absolute path of a safetensors file. */
  readonly file: string
}
export interface ImportReply {
  readonly run: number
  readonly hooks: readonly string[]
  readonly prompts: number
  readonly warnings: readonly string[]
}

/** One head of one prompt. */
export interface HeadInput {
  readonly model: string
  readonly prompt: PromptInput
  readonly layer: number
  readonly head: number
}

/** A head on the bench; `cross`: of a decoder's attention over its encoder's text. */
export interface BenchHeadInput extends HeadInput {
  readonly cross?: boolean
}

/** Rows of width numbers; null where there is none (a hidden score). */
export interface GridReply {
  readonly shape: readonly [number, number]
  readonly values: readonly (number | null)[]
}

/** POST /api/bench/head: a head taken apart. `query`, `key` choose the row and the score that are looked at. */
export interface BenchRequest extends BenchHeadInput {
  readonly query?: number
  readonly key?: number
  readonly answer?: TokenGiven
  readonly wrong?: TokenGiven
}
export interface BenchReply {
  readonly tokens: readonly TokenView[]
  /** What keys and values are of: the same tokens, or the source's. */
  readonly key_tokens: readonly TokenView[]
  readonly kv_head: number
  readonly query: number
  readonly key: number
  readonly steps: readonly Step[]
  readonly sharpness: Sharpness
  /** α_j v_j W_O of every source of the chosen row. */
  readonly sources: readonly SourceContribution[]
  /** |∂o/∂s_j| of every visible score of the row, and over α for the chosen one. */
  readonly reach: readonly ScoreReach[]
  readonly curve: readonly { readonly alpha: number; readonly size: number }[]
  readonly spectra: { readonly ov: Spectrum; readonly qk: Spectrum; readonly pattern: Spectrum }
  /** Largest difference between the sum of the heads and the concatenated form, over the largest value. */
  readonly heads_add: number
  /** Loss of the next token at every position, and their mean. */
  readonly losses: readonly (number | null)[]
  readonly loss: number | null
}

/** POST /api/bench/edit: steps changed, everything downstream run again. `cells` are numbers typed into any step. */
export interface BenchEditRequest
  extends BenchHeadInput,
    Pick<StepChanges, 'noMask' | 'temperature' | 'typed' | 'cells'> {
  /** Drop the score scale (√d_k): q · k as it is. */
  readonly noScale?: boolean
}
export interface BenchEditReply {
  readonly tokens: readonly TokenView[]
  readonly key_tokens: readonly TokenView[]
  /** Every step of the changed head, in the order of `BenchReply.steps`. */
  readonly steps: readonly Step[]
  readonly pattern: { readonly before: GridReply; readonly after: GridReply }
  readonly moved: readonly number[]
  readonly predictions: { readonly before: readonly Prediction[]; readonly after: readonly Prediction[] }
  readonly loss: { readonly before: number | null; readonly after: number | null }
  readonly words: Readonly<Record<number, TokenView>>
}

/** POST /api/bench/basis: another basis of queries and keys. */
export interface BasisRequest extends BenchHeadInput {
  readonly seed?: number
}
export type BasisReply = Omit<BasisCheck, 'b'>

/** POST /api/bench/gradients: how the head learns where to look, under a metric. */
export interface HeadGradientsRequest extends BenchHeadInput {
  readonly metric: Metric
  /** Also ∂L/∂W_Q, W_K, W_V, W_O. */
  readonly parameters?: boolean
}
export interface HeadGradientsReply {
  readonly tokens: readonly TokenView[]
  readonly value: number
  readonly pattern: GridReply
  readonly routing: GridReply
  /** For every receiving position: what sharpening its scores does to |β|. */
  readonly sharpening: readonly (readonly SharpnessPoint[])[]
  readonly upstream: GridReply
  readonly query: GridReply
  readonly key: GridReply
  readonly value_path: GridReply
  /** Each path at what it reads (the residual, or the memory of a source), and what goes past the attention. */
  readonly at_residual: Readonly<Record<'query' | 'key' | 'value' | 'residual', GridReply>>
  readonly parameters: Readonly<Record<'q' | 'k' | 'v' | 'o', GridReply>> | null
}

/**
 * POST /api/bench/pattern-gradient: ∂metric/∂weight of one head's pattern, of the encoder, the decoder or its view of the
 * encoder's text. `prompt.decoder` is the decoder's own part.
 */
export interface PatternGradientRequest extends HeadInput {
  readonly of: AttentionOf
  readonly metric: Metric
}
export interface PatternGradientReply {
  readonly value: number
  readonly gradient: GridReply
}

/** POST /api/bench/nudge: one score raised; the linear prediction beside the exact run. */
export interface NudgeRequest extends BenchHeadInput {
  readonly query: number
  readonly key: number
  readonly epsilon: number
  readonly metric: Metric
}
export type NudgeReply = Nudge

/** GET /api/bench/accounting?model=: parameters and attention memory, with GPT-3 beside. */
export interface AccountingReply {
  readonly model: { readonly counts: Accounting; readonly memory: readonly AttentionMemory[] }
  readonly gpt3: { readonly counts: Accounting; readonly memory: readonly AttentionMemory[] }
}
