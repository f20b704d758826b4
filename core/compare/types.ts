/** What comparisons give, as plain data. */
import type { HeadScores, Score } from '../analysis/types.ts'

export interface HeadPlace {
  readonly layer: number
  readonly head: number
}

/** A paired difference, B − A. `clear`: beyond the noise of the sequences, corrected for the number of heads. */
export interface Delta extends Score {
  readonly clear: boolean
}

export interface ComparedHead extends HeadPlace {
  /** B − A of each score, paired by sequence. */
  readonly deltas: Readonly<Record<string, Delta>>
  /** Mean total variation of the attention rows over the same prompts, 0 to 1; null where prompts do not compare. */
  readonly pattern_distance: number | null
  /** Its 95 % interval over prompts, from five prompts on. */
  readonly pattern_interval: { readonly low: number; readonly high: number } | null
  readonly why?: string
}

export interface PromptPrediction {
  readonly ids: readonly number[]
  /** KL(A‖B) of the next-token distributions at each position, nats. */
  readonly kl: readonly (number | null)[]
  readonly top1_equal: readonly boolean[]
}

export interface PredictionComparison {
  /** Mean over positions of KL(A‖B), nats. */
  readonly kl: number | null
  readonly kl_interval: { readonly low: number; readonly high: number } | null
  /** Share of positions with the same likeliest token. */
  readonly top1_agreement: number | null
  readonly positions: number
  /** Over how many token ids the distributions were compared. */
  readonly vocabulary: number
  readonly prompts: readonly PromptPrediction[]
  readonly why?: string
}

export interface VocabularyDifference {
  readonly same: boolean
  readonly sizes: readonly [number, number]
  /** Ids that stand for different texts, or exist in one only: how many, and the first of them. */
  readonly different: number
  readonly examples: readonly { readonly id: number; readonly a: string | null; readonly b: string | null }[]
  /** What can still be compared, as sentences. */
  readonly comparable: readonly string[]
}

export interface HeadMatch {
  readonly a: HeadPlace
  readonly b: HeadPlace
  /** 1 − mean total variation of their patterns. */
  readonly similarity: number
}

export interface Comparison {
  readonly definitions: Readonly<Record<string, string>>
  readonly identical: boolean
  readonly sameShape: boolean
  readonly vocabulary: VocabularyDifference
  readonly seed: number
  readonly heads: readonly ComparedHead[]
  /** Heads with a clear delta, largest first: the score that moved most, and by how much. */
  readonly moved: readonly (HeadPlace & { readonly score: string; readonly delta: number })[]
  readonly prediction: PredictionComparison
  /** Heads of A and B matched by behaviour; null unless asked for, or where shapes differ. */
  readonly matches: readonly HeadMatch[] | null
  readonly scans: { readonly a: readonly HeadScores[]; readonly b: readonly HeadScores[] }
  readonly warnings: readonly string[]
}
