/**
 * How sharp a head's rows are, and how strongly a score can move its output. In: a head's run. Out: numbers per row
 * and per pair. Cost: T² d_head. With independent unit-variance coordinates Var(k·q) = d_k.
 */
import { type HeadRun, products, rowOf } from './head-run.ts'
import { softmax } from './scores.ts'

export interface RowSharpness {
  readonly query: number
  /** Nats. */
  readonly entropy: number
  /** Entropy over log of the number of visible keys; null for a row with one key. */
  readonly relative: number | null
  readonly largest: number
}

export interface Sharpness {
  /** Variance of the visible scores: of q̃·k̃, and with the family's scale. null with fewer than 2 pairs. */
  readonly productVariance: number | null
  readonly scoreVariance: number | null
  readonly dHead: number
  readonly rows: readonly RowSharpness[]
}

/** Score variance of the head, entropy and largest weight of each row. */
export function sharpness(run: HeadRun): Sharpness {
  const [length, width] = [run.ids.length, run.scores.width]
  const seen = Array.from(run.scores.data, (score) => score !== Number.NEGATIVE_INFINITY)
  const raw = products(run.rotQ, run.rotK).filter((_, n) => seen[n])
  const variance = variances(raw)
  const rows = Array.from({ length }, (_, query): RowSharpness => {
    const weights = rowOf(run.pattern, query)
    const entropy = weights.reduce((sum, weight) => (weight > 0 ? sum - weight * Math.log(weight) : sum), 0)
    const keys = seen.slice(query * width, (query + 1) * width).filter(Boolean).length
    return {
      query,
      entropy,
      relative: keys > 1 ? entropy / Math.log(keys) : null,
      largest: Math.max(...weights),
    }
  })
  return {
    productVariance: variance,
    scoreVariance: variance === null ? null : variance * run.spec.scoreScale ** 2,
    dHead: run.spec.dHead,
    rows,
  }
}

export interface ScoreReach {
  readonly key: number
  readonly alpha: number
  /** |∂o/∂s_j| = α_j |v_j - o|. */
  readonly size: number
  /** |v_j - v̄ of the others, as they share what is left|; the size is α_j (1 - α_j) times this. */
  readonly away: number
}

/** How far each score of one row can move its output. */
export function scoreReach(run: HeadRun, query: number): ScoreReach[] {
  const weights = rowOf(run.pattern, query)
  const o = weightedValue(run, weights)
  return Array.from(weights, (alpha, key) => ({ key, alpha }))
    .filter(({ key }) => run.scores.data[query * run.scores.width + key] !== Number.NEGATIVE_INFINITY)
    .map(({ key, alpha }) => ({
      key,
      alpha,
      size: alpha * distance(rowOf(run.v, key), o),
      away: distance(rowOf(run.v, key), weightedValue(run, withWeight(weights, key, 0))),
    }))
}

/**
 * |∂o/∂s_j| over α_j from 0 to 1 while the others keep their ratios: α (1 - α) |v_j - v̄|, computed from o(α) itself.
 * The peak is at one half.
 */
export function reachCurve(
  run: HeadRun,
  query: number,
  key: number,
  steps = 101,
): { readonly alpha: number; readonly size: number }[] {
  const weights = rowOf(run.pattern, query)
  return Array.from({ length: steps }, (_, n) => {
    const alpha = n / (steps - 1)
    const o = weightedValue(run, withWeight(weights, key, alpha))
    return { alpha, size: alpha * distance(rowOf(run.v, key), o) }
  })
}

export interface SharpnessPoint {
  /** Factor on the scores of the row; 1 is the run itself. */
  readonly factor: number
  readonly entropy: number
  readonly largest: number
  /** |β| of the row for the same upstream gradient. */
  readonly routing: number
}

/**
 * What sharpening a row does to what it can learn: its scores times a factor, and the routing gradients
 * β_j = α_j g·(v_j - o) of the same upstream gradient g. As the row saturates they vanish: weak does not mean
 * irrelevant.
 */
export function sharpeningCurve(
  run: HeadRun,
  query: number,
  upstream: ArrayLike<number>,
  factors: readonly number[] = [0, 0.25, 0.5, 1, 2, 4, 8, 16, 32],
): SharpnessPoint[] {
  const scores = rowOf(run.scores, query)
  return factors.map((factor) => {
    const weights = softmax(
      Array.from(scores, (score) => (score === Number.NEGATIVE_INFINITY ? score : score * factor)),
    )
    const o = weightedValue(run, weights)
    let square = 0
    weights.forEach((alpha, j) => {
      let along = 0
      for (let d = 0; d < o.length; d++) along += upstream[d]! * (run.v.data[j * run.v.width + d]! - o[d]!)
      square += (alpha * along) ** 2
    })
    const entropy = weights.reduce((sum, alpha) => (alpha > 0 ? sum - alpha * Math.log(alpha) : sum), 0)
    return { factor, entropy, largest: Math.max(...weights), routing: Math.sqrt(square) }
  })
}

/** Σ_j w_j v_j in float64. */
export function weightedValue(run: HeadRun, weights: ArrayLike<number>): Float64Array {
  const o = new Float64Array(run.v.width)
  for (let j = 0; j < weights.length; j++)
    for (let d = 0; d < o.length; d++) o[d]! += weights[j]! * run.v.data[j * run.v.width + d]!
  return o
}

// --- Internal helpers ---

/** The row with one weight set, the others keeping their ratios and filling up to 1. */
function withWeight(weights: ArrayLike<number>, key: number, alpha: number): Float64Array {
  const row = Float64Array.from(weights)
  const others = row.reduce((sum, weight, j) => (j === key ? sum : sum + weight), 0)
  return row.map((weight, j) => {
    if (j === key) return alpha
    return others > 0 ? (weight / others) * (1 - alpha) : 0
  })
}

function distance(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0
  for (let d = 0; d < a.length; d++) sum += (a[d]! - b[d]!) ** 2
  return Math.sqrt(sum)
}

/** Population variance; null with fewer than 2 numbers. */
function variances(values: Float64Array): number | null {
  if (values.length < 2) return null
  const mean = values.reduce((a, b) => a + b, 0) / values.length
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length
}
