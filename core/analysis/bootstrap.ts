/** Intervals of means: bootstrap over sequences (Efron 1979, percentile), seeded, so that they are the same each time. */
import { createRandom } from '../random.ts'
import type { Score } from './types.ts'

const DRAWS = 2000
/** Fewer sequences give no interval. */
export const FEWEST = 5

/**
 * The mean of one value per sequence with its 95 % interval. `rows` is the number of query rows behind it. Without
 * values the score does not exist; below five sequences there is no interval; both say why.
 */
export function meanScore(values: readonly number[], rows: number, seed: number): Score {
  const n = values.length
  if (n === 0) return { value: null, n, rows: 0, low: null, high: null, why: 'no sequence to average over' }
  const value = values.reduce((sum, v) => sum + v, 0) / n
  if (!Number.isFinite(value))
    return { value: null, n, rows, low: null, high: null, why: 'some weight is not a finite number' }
  if (n < FEWEST)
    return { value, n, rows, low: null, high: null, why: `no interval: n = ${n}, needs ${FEWEST} sequences` }
  const means = resampledMeans(values, seed)
  return { value, n, rows, low: quantile(means, 0.025), high: quantile(means, 0.975) }
}

// --- Internal helpers ---

/** Means of 2,000 draws with replacement, ascending. */
function resampledMeans(values: readonly number[], seed: number): Float64Array {
  const random = createRandom(seed)
  const means = Float64Array.from({ length: DRAWS }, () => {
    let sum = 0
    for (let i = 0; i < values.length; i++) sum += values[random.below(values.length)]!
    return sum / values.length
  })
  return means.sort()
}

/** Linear between the two nearest of a sorted list. */
function quantile(sorted: Float64Array, share: number): number {
  const place = share * (sorted.length - 1)
  const low = Math.floor(place)
  return sorted[low]! + (place - low) * ((sorted[low + 1] ?? sorted[low]!) - sorted[low]!)
}
