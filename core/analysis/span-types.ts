/** What is asked of A B … A → B places in text, and what comes of it. */
import type { Progress } from '../checkpoint/types.ts'
import type { Score } from './types.ts'

export interface SpanOptions {
  /**
   * What counts as a hit: `strongest` (default): the strongest key other than the first position is one of the B;
   * `weight`: the weight on the B together is `threshold` or more.
   */
  readonly hit?: 'strongest' | 'weight'
  readonly threshold?: number // default 0.2
  /** Places below which a head has no rate. */
  readonly fewest?: number // default 20
  /** Places that are listed with every head's weight, at most; rates are of all. */
  readonly listed?: number // default 2000
  /** Hits and misses kept per head. */
  readonly examples?: number // default 3
  /** The scan beside: sequences and seed of the random repeats. */
  readonly batch?: number // default 16
  readonly seed?: number
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: Progress) => void
}

/** An A B … A place: the later A (query), an earlier B (target), in one window of one prompt. */
export interface SpanPlace {
  /** Index among `windows`. */
  readonly window: number
  readonly query: number
  readonly source: number
  readonly target: number
  /** B, the token at the target. */
  readonly token: number
  /** Whether the model's likeliest next token at the query is B. */
  readonly predicted: boolean
  /** Its probability, where B is among the ten likeliest. */
  readonly prob: number | null
  /** Whether the text goes on with B. */
  readonly follows: boolean
}

export interface SpanItem extends SpanPlace {
  readonly heads: readonly {
    readonly layer: number
    readonly head: number
    /** Weight on this B. */
    readonly weight: number
    readonly hit: boolean
  }[]
}

/** A query row of a head: what it gives to all its B together. */
export interface SpanExample {
  readonly window: number
  readonly query: number
  readonly target: number
  readonly weight: number
}

export interface SpanHead {
  readonly layer: number
  readonly head: number
  /** Share of query rows that are hits. */
  readonly rate: Score
  /** Of the hits, and of the misses, the share after which the model's likeliest token is a B. */
  readonly predicted: { readonly hits: Score; readonly misses: Score }
  readonly random_repeat: Score
  readonly examples: { readonly hits: readonly SpanExample[]; readonly misses: readonly SpanExample[] }
}

export interface Spans {
  readonly definitions: Readonly<Record<string, string>>
  readonly settings: {
    readonly hit: 'strongest' | 'weight'
    readonly threshold: number
    readonly seed: number
  }
  /** What was run: prompts, long ones cut into windows. `prompt` is the index among the prompts given. */
  readonly windows: readonly { readonly prompt: number; readonly ids: readonly number[] }[]
  /** All places, and how many query rows they have. */
  readonly places: number
  readonly queries: number
  readonly items: readonly SpanItem[]
  readonly heads: readonly SpanHead[]
  readonly warnings: readonly string[]
}
