/**
 * What a score is. Four kinds, each said in one file with its definition text:
 *   pattern  rows of attention patterns: which rows count, and one number a row; the mean over rows, then sequences
 *   weights  made of the weights alone
 *   runs     made of what heads write while prompts run
 *   model    one number for the whole model
 */
import type { LayerSpec, ModelSpec } from '../../graph/model-spec.ts'
import type { Model } from '../../run/model.ts'
import type { HeadMaps } from '../head-maps.ts'
import type { ScoreSequence, SequenceKind } from '../sequences.ts'
import type { Score } from '../types.ts'

export interface Described {
  readonly name: string
  /** What a person calls it. */
  readonly title: string
  /** The formula in words, shown wherever the number is. */
  readonly definition: string
  /** What is to be said of this model beside the numbers. */
  caveat?(spec: ModelSpec): string | null
}

/** A query row, the keys that it reads, and those that count against them. */
export interface Place {
  readonly query: number
  readonly keys: readonly number[]
  readonly against?: readonly number[]
}

/** What one head did in one sequence. Entry (query, key) of an array is `from + query * stride + key`. */
export interface HeadView {
  readonly spec: LayerSpec
  readonly pattern: Float32Array
  readonly from: number
  readonly stride: number
  /** hook_attn_scores, laid out as the pattern; only where the score needs `scores`. */
  readonly scores: Float32Array | null
  /** |v_key W_O|; only where the score needs `values`. */
  readonly valueNorm: ((key: number) => number) | null
}

export interface PatternScore extends Described {
  readonly kind: 'pattern'
  readonly sequences: SequenceKind
  /** What is captured beside the pattern. */
  readonly needs: readonly ('scores' | 'values')[]
  /** Rows that count, made once a sequence. */
  places(sequence: ScoreSequence): readonly Place[]
  /** The number of a row; null: it does not exist. Absent: weight on the keys minus weight on those against. */
  measure?(view: HeadView, place: Place): number | null
  /** Why heads of such a layer have no score, or null. */
  absent?(layer: LayerSpec): string | null
}

/** What scores of weights and runs stand on. */
export interface ScoreContext {
  readonly model: Model
  readonly maps: HeadMaps
  readonly seed: number
  /** Sequences of a kind, or the reason why there are none. */
  sequences(kind: SequenceKind): readonly ScoreSequence[] | string
  /** The prompts given to the scan. */
  readonly prompts: readonly (readonly number[])[]
  readonly signal: AbortSignal | undefined
}

export interface ComputedScore extends Described {
  readonly kind: 'weights' | 'runs'
  /** [layer][head] */
  heads(context: ScoreContext): Promise<Score[][]>
}

export interface ModelScore extends Described {
  readonly kind: 'model'
  value(context: ScoreContext): Promise<Score>
}

export type AnyScore = PatternScore | ComputedScore | ModelScore

/** A score that does not exist, with the reason. */
export function noScore(why: string, n = 0, rows = 0): Score {
  return { value: null, n, rows, low: null, high: null, why }
}

/** Weight on the keys of a place minus weight on those against. */
export function weightAt({ pattern, from, stride }: HeadView, { query, keys, against }: Place): number {
  const row = from + query * stride
  let sum = 0
  for (const key of keys) sum += pattern[row + key]!
  if (against) for (const key of against) sum -= pattern[row + key]!
  return sum
}
