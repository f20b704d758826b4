/**
 * What the cells of a picture say: a pattern's weights, or the difference of two patterns. In: patterns and the BOS mode.
 * Out: a number for each cell; null where it is hidden or does not exist. Pure.
 */
import type { Pattern } from '../api/pattern.ts'
import type { BosMode } from '../state/selection.ts'
import { shownWeight } from './pattern-pixels.ts'

export interface Reading {
  readonly size: number
  /** The end of the scale on which values are drawn. */
  readonly most: number
  /** Whether values may be negative. */
  readonly signed: boolean
  readonly at: (query: number, key: number) => number | null
}

export function weightReading(pattern: Pattern, bos: BosMode): Reading {
  return {
    size: pattern.size,
    most: pattern.most ?? 1,
    signed: false,
    at: (query, key) => shownWeight(pattern, query, key, bos),
  }
}

/** After minus before. Both must be of one size. */
export function differenceReading(before: Pattern, after: Pattern, bos: BosMode): Reading {
  return {
    size: after.size,
    most: Math.max(before.most ?? 1, after.most ?? 1),
    signed: true,
    at: (query, key) => {
      const a = shownWeight(after, query, key, bos)
      const b = shownWeight(before, query, key, bos)
      return a === null || b === null ? null : a - b
    },
  }
}

/** Mean of several rows of a reading at one key; rows in which it does not exist are left out. */
export function meanOfRows(reading: Reading, queries: readonly number[], key: number): number | null {
  let sum = 0
  let count = 0
  for (const query of queries) {
    const value = reading.at(query, key)
    if (value === null) continue
    sum += value
    count++
  }
  return count === 0 ? null : sum / count
}
