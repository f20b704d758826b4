/** Plain data of interventions: what comes back, what the store keeps, what the app draws. */
import type { Progress } from '../checkpoint/types.ts'
import type { Metric } from '../run/metrics.ts'

/** One measured place. `head`, `pos` where the sweep goes over them. */
export interface Cell {
  readonly layer: number
  readonly head?: number
  readonly pos?: number
  /** Metric of the edited run. null with a `why` where it does not exist. */
  readonly value: number | null
  readonly why?: string
}

export interface AblationCell extends Cell {
  /** value - base. */
  readonly delta: number | null
  /** What removing the head's direct path to the logits alone would do: total effect beside it shows self-repair. */
  readonly direct?: number | null
}

export interface PatchCell extends Cell {
  /** (value - corrupt) / (clean - corrupt), never clipped; null where the two hardly differ. */
  readonly normalized: number | null
}

/** Estimate of a sweep, before it runs. */
export interface SweepEstimate {
  readonly cells: number
  /** Σ over cells of blocks × rows that are computed. */
  readonly blockRows: number
  /** Bytes of the base run that is kept. */
  readonly baseBytes: number
  /** From the time of the base run; null before it. */
  readonly seconds: number | null
}

export interface SweepOptions<C> {
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: Progress) => void
  /** Called with cells as they come. */
  readonly onCells?: (cells: readonly C[]) => void
  /** Cells that are known already (a resumed sweep): they are not computed again. */
  readonly known?: readonly C[]
  /** Cells of these layers only: a share of a sweep. The others are left out of the result. */
  readonly layers?: readonly number[]
  /** Weights repacked for long sweeps; default: decided by the rows of all layers. */
  readonly mode?: 'explore' | 'sweep'
}

export type { Metric }
