/** Messages of the sweeps (ablation, patching, path patching, attribution) and of experiments that are kept. */
import type { TokenView } from '../checkpoint/types.ts'
import type { Ablated, AblateKind, AblateOver } from '../intervene/ablate.ts'
import type { Attributed, AttributionCell, AttributionSite } from '../intervene/attribute.ts'
import type { PatchBy, Patched, PatchSite } from '../intervene/patch.ts'
import type { PathCell, PathPatched, PathPlan } from '../intervene/path.ts'
import type { AblationCell, PatchCell, SweepEstimate } from '../intervene/types.ts'
import type { Metric } from '../run/metrics.ts'
import type { PromptInput } from './contract-runs.ts'

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
  /** What it does, to what, and on which prompt, in a few words. */
  readonly title: string
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

/** What a sweep tells beside its progress. */
export type SweepNews<C = unknown> =
  | { readonly type: 'begun'; readonly experiment: number; readonly estimate: SweepEstimate | null }
  | { readonly type: 'cells'; readonly cells: readonly C[] }
