/**
 * POST /api/verify: the identities of a checkpoint (“self-consistent”) and, with `golden`, a comparison with reference
 * values in a safetensors file on this machine (“matches a reference”).
 */
import type { Metric } from '../run/metrics.ts'

export interface VerifyRequest {
  readonly model: string
  /** Path of a file with input_ids and hooks. */
  readonly golden?: string
  /** What `grad.<hook>` of that file are gradients of. */
  readonly metric?: Metric
}

export interface VerifyReply {
  readonly checks: readonly {
    readonly name: string
    readonly max_error: number | null
    readonly tolerance: number
    /** null: does not apply to this model, with a `why`. */
    readonly ok: boolean | null
    readonly why?: string
  }[]
  readonly ok: boolean
}
