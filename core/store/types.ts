/** What goes into the store and comes out of it, as plain data. Interfaces of the files beside this one. */
import type { ScanResult } from '../analysis/types.ts'
import type { TokenView } from '../checkpoint/types.ts'
import type { Tensor } from '../graph/tensor.ts'
import type { Prediction, Provenance } from '../run/types.ts'
import type { PatternLayout, StoredDtype } from './codec.ts'

/** A token sequence with what is known about it. */
export interface SequenceInput {
  readonly ids: readonly number[]
  readonly text?: string | null
  readonly tokens?: readonly TokenView[]
}

/** One item of a run. `source` is what the encoder reads, where a decoder reads `ids`. */
export interface ItemInput extends SequenceInput {
  readonly source?: SequenceInput
}

export interface RunInfo {
  readonly provenance: Provenance
  readonly items: readonly ItemInput[]
  /** A summary of the model that is kept with its checkpoint and its runs. */
  readonly spec?: unknown
  readonly config?: unknown
  readonly tokenizerHash?: string
  readonly warnings?: readonly string[]
  /** How patterns are kept (default f16). */
  readonly dtype?: StoredDtype
}

export interface RunOutcome {
  /** Losses and predictions, item by item, as `run.items` has them. */
  readonly items?: readonly { readonly loss: number | null; readonly positions?: readonly Prediction[] }[]
  /** When the hash came while the run was going. */
  readonly contentHash?: string
  readonly warnings?: readonly string[]
}

/** Takes the captures of one run as they come. Each `write` is one short transaction. */
export interface RunWriter {
  readonly id: number
  /** Stores one capture [batch, …]; each item's own part only. */
  write(hook: string, tensor: Tensor): void
  /** Sets `run.complete`, last of all; the run's id. */
  complete(outcome?: RunOutcome): number
  /** Removes what was written. Does nothing once the run is complete. */
  abort(): void
}

export interface RunSummary {
  readonly id: number
  readonly model: string // path
  readonly modelName: string
  readonly contentHash: string | null
  readonly text: string | null // of the first item
  readonly items: number
  readonly tokens: number
  readonly created: string
  readonly bytes: number
  readonly edits: number
  /** False when only its scores were kept. */
  readonly captures: boolean
}

export interface StoredSequence {
  readonly prompt: number
  readonly ids: readonly number[]
  readonly text: string | null
  /** null when the run was stored without a tokenizer. */
  readonly tokens: readonly TokenView[] | null
}

export interface StoredItem extends StoredSequence {
  readonly loss: number | null
  readonly positions: readonly Prediction[]
  readonly source: StoredSequence | null
}

export interface StoredRunDetail extends RunSummary {
  readonly provenance: Provenance
  readonly spec: unknown
  readonly warnings: readonly string[]
  readonly itemList: readonly StoredItem[]
  readonly hooks: readonly string[]
}

/** One head as it lies in the store. */
export interface PatternBytes extends PatternLayout {
  readonly bytes: Uint8Array
  readonly dtype: StoredDtype
  readonly shape: readonly [query: number, key: number]
  readonly querySequence: 'main' | 'source'
  readonly keySequence: 'main' | 'source'
}

/** All heads of an item, 32 × 32 bytes each: [layer, head, 32, 32]. */
export interface Thumbnails {
  readonly hook: string // with * in place of the layer
  readonly layers: readonly number[]
  readonly heads: number
  readonly side: 32
  readonly data: Uint8Array
}

export interface StoredPromptRow {
  readonly id: number
  readonly text: string | null
  readonly ids: readonly number[]
  /** What a decoder read beside this text of its encoder. */
  readonly decoder?: { readonly id: number; readonly text: string | null; readonly ids: readonly number[] }
}

export interface StoredScan extends ScanResult {
  readonly id: number
  readonly created: string
  readonly contentHash: string
}

/** Which checkpoint a scan belongs to. */
export interface CheckpointInput {
  readonly contentHash: string
  readonly path: string
  readonly name: string
  readonly family: string
  readonly config?: unknown
  readonly spec?: unknown
  readonly tokenizerHash?: string
}

export interface StoredCheckpoint {
  readonly contentHash: string
  readonly path: string
  readonly name: string
  readonly family: string
  readonly spec: unknown
  readonly created: string
}

/** What an edge search looks for. Absent means any. */
export interface EdgeQuery {
  /** Token ids at the query, or at the key. */
  readonly query?: readonly number[]
  readonly key?: readonly number[]
  readonly minWeight?: number // default 0.2; below it the stored patterns are read
  readonly layer?: number
  readonly head?: number
  readonly contentHash?: string
  readonly run?: number
  /** Kind of attention, as a hook name with * for the layer; absent: all. */
  readonly hook?: string
  /** Also runs with edits (default: clean runs only). */
  readonly edited?: boolean
  /** How many of the strongest edges to return (default 100). */
  readonly limit?: number
}

export interface EdgeHit {
  readonly run: number
  readonly item: number
  readonly hook: string
  readonly layer: number
  readonly head: number
  readonly query: number
  readonly key: number
  readonly weight: number
}

export interface EdgeSearch {
  /** Where the answer was read: packed edges, or (below 0.2) the patterns. */
  readonly source: 'edges' | 'patterns'
  /** Items looked at, and edges found in all of them. */
  readonly items: number
  readonly total: number
  /** Heads by number of edges, most first. `largest` is the strongest weight. */
  readonly heads: readonly {
    readonly contentHash: string | null
    readonly hook: string
    readonly layer: number
    readonly head: number
    readonly count: number
    readonly items: number
    readonly largest: number
  }[]
  /** The strongest edges, strongest first. */
  readonly examples: readonly EdgeHit[]
}
