/** Plain data that analyses return, the store keeps, and the app draws. */

/** A score of one head: n sequences, rows queries, a bootstrap interval; null with a `why` where it does not exist. */
export interface Score {
  readonly value: number | null
  readonly n: number
  readonly rows: number
  readonly low: number | null
  readonly high: number | null
  readonly why?: string
}

export const DEFAULT_SCORES = ['induction', 'previous_token', 'duplicate_token', 'first_token_sink'] as const
export type ScoreName = (typeof DEFAULT_SCORES)[number]

export interface HeadScores {
  readonly layer: number
  readonly head: number
  readonly scores: Readonly<Record<string, Score>>
}

export interface ScanSettings {
  readonly scores: readonly string[]
  readonly length: number
  readonly batch: number
  readonly seed: number | null // null: the sequences were given
  readonly bos: boolean
}

export interface ScanResult {
  readonly definitions: Readonly<Record<string, string>>
  readonly settings: ScanSettings
  readonly heads: readonly HeadScores[]
  /** Scores of the whole model, where some were asked for. */
  readonly ofModel?: Readonly<Record<string, Score>>
  readonly loss: { readonly first: number | null; readonly second: number | null } // mean nats on each copy
  readonly warnings: readonly string[]
}
