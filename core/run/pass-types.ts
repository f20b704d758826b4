/** What one pass over a stack is asked, and what it hands out. */
import type { Tensor } from '../graph/tensor.ts'
import type { Dense, Window } from './dense.ts'
import type { ResolvedEdit } from './edits.ts'
import type { Variant } from './engine.ts'
import type { HookInfo, Segment } from './segments.ts'
import type { FetchedTensor } from './session.ts'

/** What blocks hand on, by part; rows are the pass's query rows. */
export type State = ReadonlyMap<string, Dense>

/** What the encoder of a decoder reads, and where its part of the pass begins. */
export interface Source {
  /** Right-padded with 0 [batch][source]. */
  readonly ids: readonly (readonly number[])[]
  readonly lengths: readonly number[]
  /** What the encoder hands over [batch, source, d_model]: given, it does not run. */
  readonly memory?: Dense | undefined
  /** Begin before this block of the encoder with this state. */
  readonly from?: { readonly layer: number; readonly state: State } | undefined
}

/** Keys (rotated) and values of one layer [batch, kv_head, pos, d_head], rows 0 … . */
export interface KeyValues {
  readonly k: Dense
  readonly v: Dense
  /** Of the encoder's text, where a decoder reads one: the same for every row. */
  readonly cross?: { readonly k: Dense; readonly v: Dense } | undefined
}

export interface Pass {
  /** Needed where the model has an encoder before its decoder. */
  readonly source?: Source | undefined
  /** Tokens of the query rows, right-padded with 0 [batch][rows]. */
  readonly ids: readonly (readonly number[])[]
  /** Token types of the query rows, right-padded with 0 [batch][rows]; absent: 0 everywhere. */
  readonly tokenTypes?: readonly (readonly number[])[] | undefined
  /** Own end of each item, in positions of the whole run. */
  readonly lengths: readonly number[]
  /** First query position; keys and values before it come from `past`. */
  readonly start: number
  /** Length of the whole run, for ropes that depend on it. */
  readonly total: number
  /** Added to every position: patterns of relative schemes do not change. */
  readonly shift?: number
  /** Begin before this block with this state instead of at the embedding. */
  readonly from?: { readonly layer: number; readonly state: State } | undefined
  /** End after the block before this one; default: after the last. */
  readonly to?: number
  /** Keys and values of each layer: rows 0 … start - 1 are read, and all of a source. */
  readonly past?: readonly (KeyValues | undefined)[] | undefined
  readonly wanted: ReadonlySet<string>
  readonly edits: readonly ResolvedEdit[]
  readonly keepKeyValues?: boolean
  readonly keepBorders?: boolean
  readonly signal?: AbortSignal | undefined
  readonly onTensor?: ((hook: HookInfo, tensor: Tensor) => void | Promise<void>) | undefined
  /**
   * Takes captures with a query axis chunk by chunk [batch, head, rows, keys], so that no whole pattern is in memory;
   * they then do not come through onTensor.
   */
  readonly onRows?: ((hook: HookInfo, rows: Tensor, window: Window) => void | Promise<void>) | undefined
  /** Forward values that a backward pass will read, and who takes them; blocks then run unchunked. */
  readonly saving?: Saving | undefined
  /** Called with the number of blocks done, those of the encoder first. */
  readonly onBlock?: ((done: number) => void) | undefined
}

/** What a pass hands out for a backward pass. */
export interface Saving {
  /** The graph that a block runs, and which of its results are taken; null: nothing of this block. */
  variant(segment: Segment): (Variant & { readonly outputs: readonly string[] }) | null
  take(segment: Segment, outputs: ReadonlyMap<string, FetchedTensor>): void
}

export interface PassResult {
  readonly state: State
  /** Per layer, rows 0 … start + rows - 1; empty unless kept. */
  readonly keyValues: readonly (KeyValues | undefined)[]
  /** State before each block, and after the last; empty unless kept. */
  readonly borders: readonly (State | undefined)[]
  /** The source with what the encoder handed over; absent where there is no encoder. */
  readonly source?: Source & { readonly memory: Dense }
  /** Borders of the encoder; empty unless it ran and they are kept. */
  readonly encoderBorders?: readonly (State | undefined)[]
}
