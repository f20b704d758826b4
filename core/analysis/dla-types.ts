/** What is asked of direct logit attribution, and what it gives. */
import type { Dense } from '../run/dense.ts'
import type { Edit } from '../run/types.ts'

export interface DlaOptions {
  readonly answer: number
  readonly wrong?: number
  /** Position; negative counts from the end; default the last. */
  readonly pos?: number
  readonly tokenTypes?: readonly number[]
  readonly edits?: readonly Edit[]
  /** Values of z that are read in the place of the run's own, [1, pos | 1, head, d_head]; the norms stay the run's. */
  readonly replace?: (layer: number) => Dense
  /** Also per head and source position: what α_j v_j W_O adds. */
  readonly sources?: boolean
  /**
   * b_V reaches the output whatever the pattern, since its rows sum to 1. `heads` leaves it with its head; `bias` counts
   * it with b_O, as TransformerLens does.
   */
  readonly valueBias?: 'heads' | 'bias'
  readonly signal?: AbortSignal
}

export interface DlaComponent {
  /** `embed`, `pos_embed`, `token_type_embed`, `L0H0`, `L0 b_O`, `L0 mlp`, `norm bias`, `unembed bias`. */
  readonly name: string
  readonly layer: number | null
  readonly head: number | null
  readonly value: number
}

export interface DlaSource {
  readonly layer: number
  readonly head: number
  /** By source position. Their sum is the head's component. */
  readonly values: readonly number[]
}

export interface Dla {
  readonly pos: number
  readonly answer: number
  readonly wrong: number | null
  /** Empty where attribution is undefined. */
  readonly components: readonly DlaComponent[]
  readonly sum: number | null
  /** The model's own logit before the final cap (answer minus wrong). */
  readonly logit: number | null
  readonly logit_after_cap: number | null
  readonly sources: readonly DlaSource[]
  /** The same of heads over what an encoder read, by its positions; empty where there is no encoder. */
  readonly cross_sources: readonly DlaSource[]
  /** Why there are no components. */
  readonly why?: string
}
