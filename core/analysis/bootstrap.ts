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
  const n = values.length
  const picks = drawsOf(n, seed)
  const means = new Float64Array(DRAWS)
  for (let draw = 0, at = 0; draw < DRAWS; draw++) {
    let sum = 0
    for (let i = 0; i < n; i++) sum += values[picks[at++]!]!
    means[draw] = sum / n
  }
  return means.sort()
}

/** Draws kept: a scan asks for the same ones for every head and score. Larger ones are drawn anew. */
const KEPT_NUMBERS = 4_000_000
let kept: { readonly n: number; readonly seed: number; readonly picks: Uint32Array } | null = null

/** Which of n values each draw takes, 2,000 · n places: the same for the same n and seed. */
function drawsOf(n: number, seed: number): Uint32Array {
  if (kept?.n === n && kept.seed === seed) return kept.picks
  const random = createRandom(seed)
  const picks = new Uint32Array(DRAWS * n)
  for (let i = 0; i < picks.length; i++) picks[i] = random.below(n)
  if (picks.length <= KEPT_NUMBERS) kept = { n, seed, picks }
  return picks
}

/** Linear between the two nearest of a sorted list. */
function quantile(sorted: Float64Array, share: number): number {
  const place = share * (sorted.length - 1)
  const low = Math.floor(place)
  return sorted[low]! + (place - low) * ((sorted[low + 1] ?? sorted[low]!) - sorted[low]!)
}
