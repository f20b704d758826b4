/**
 * Attention through several layers in one picture: rollout and flow (Abnar and Zuidema 2020). In: the patterns of one
 * prompt. Out: [query, key] of how much of each input position is in each output position, by these models of it.
 * Cost: rollout layers · T³; flow one maximum flow per pair looked at, layers · T² edges each.
 */
import { HeadscopeError } from '../errors.ts'

export const ROLLOUT =
  'Rollout: R_l = Â_l R_{l−1}, Â_l = ½ (mean over heads of A_l) + ½ I (Abnar and Zuidema 2020). It ignores values, MLPs, norms and signs, weighs every head alike and takes the residual for one half. Under a causal mask the first position gathers most of it: leave BOS out (rows are then renormalised) to see the rest.'
export const FLOW =
  'Flow: the maximum flow from an output position to an input position through a graph with capacities Â_l (Abnar and Zuidema 2020). It ignores values, MLPs, norms and signs, as rollout does, and its rows need not sum to 1.'

/** Patterns of one prompt: one [head, query, key] array a layer. */
export interface LayerPattern {
  readonly heads: number
  readonly data: ArrayLike<number>
}

export interface SummaryOptions {
  /** Leave position 0 out as a key and renormalise the rows. */
  readonly withoutFirst?: boolean
  /** Up to and with this layer; default: all. */
  readonly layers?: number
}

/** Rollout of T positions: rows are queries, row-major [T, T]. */
export function rollout(
  patterns: readonly LayerPattern[],
  length: number,
  options: SummaryOptions = {},
): Float64Array {
  const [first, ...rest] = mixed(patterns, length, options)
  return rest.reduce((below, matrix) => product(matrix, below, length), first ?? identity(length))
}

/** One row of the rollout, [T]: layers · T² in place of T³. */
export function rolloutRow(
  patterns: readonly LayerPattern[],
  length: number,
  query: number,
  options: SummaryOptions = {},
): Float64Array {
  let row = new Float64Array(length)
  row[query] = 1
  // R_L = Â_L … Â_1: its row q is e_q Â_L … Â_1.
  for (const matrix of mixed(patterns, length, options).reverse()) {
    const next = new Float64Array(length)
    for (let k = 0; k < length; k++) {
      const factor = row[k]!
      if (factor === 0) continue
      for (let j = 0; j < length; j++) next[j]! += factor * matrix[k * length + j]!
    }
    row = next
  }
  return row
}

/** Flow from output position `query` to every input position: [T]. */
export function flow(
  patterns: readonly LayerPattern[],
  length: number,
  query: number,
  options: SummaryOptions = {},
): Float64Array {
  if (!Number.isInteger(query) || query < 0 || query >= length)
    throw new HeadscopeError(
      'bad-request',
      `Position ${query} is outside of this prompt of ${length} tokens.`,
    )
  const matrices = mixed(patterns, length, options)
  return Float64Array.from({ length }, (_, key) => maximumFlow(matrices, length, query, key))
}

// --- Internal helpers ---

/** Â of each layer [T, T]. */
function mixed(patterns: readonly LayerPattern[], length: number, options: SummaryOptions): Float64Array[] {
  return patterns.slice(0, options.layers ?? patterns.length).map(({ heads, data }) => {
    const matrix = new Float64Array(length * length)
    for (let head = 0; head < heads; head++)
      for (let i = 0; i < matrix.length; i++) matrix[i]! += data[head * matrix.length + i]! / heads
    for (let q = 0; q < length; q++) {
      const row = matrix.subarray(q * length, (q + 1) * length)
      if (options.withoutFirst && q > 0) {
        row[0] = 0
        const sum = row.reduce((a, b) => a + b, 0)
        // A row that looked at nothing but the first position keeps itself.
        if (sum > 0) for (let k = 0; k < length; k++) row[k]! /= sum
        else row[q] = 1
      }
      for (let k = 0; k < length; k++) row[k] = row[k]! / 2 + (k === q ? 0.5 : 0)
    }
    return matrix
  })
}

function identity(n: number): Float64Array {
  const matrix = new Float64Array(n * n)
  for (let i = 0; i < n; i++) matrix[i * n + i] = 1
  return matrix
}

/** a b [T, T]. What is 0 at the ends of rows is passed over: under a causal mask, two thirds of a product. */
function product(a: Float64Array, b: Float64Array, n: number): Float64Array {
  const result = new Float64Array(n * n)
  const [endsOfA, endsOfB] = [endsOf(a, n), endsOf(b, n)]
  for (let i = 0; i < n; i++)
    for (let k = 0; k < endsOfA[i]!; k++) {
      const factor = a[i * n + k]!
      if (factor === 0) continue
      const end = endsOfB[k]!
      for (let j = 0; j < end; j++) result[i * n + j]! += factor * b[k * n + j]!
    }
  return result
}

/** Of each row, one past its last entry that is not 0. */
function endsOf(matrix: Float64Array, n: number): Int32Array {
  return Int32Array.from({ length: n }, (_, i) => {
    let end = n
    while (end > 0 && matrix[i * n + end - 1] === 0) end--
    return end
  })
}

/** Edmonds and Karp (1972) on the layered graph: node l · T + p is position p after l layers. */
function maximumFlow(matrices: readonly Float64Array[], length: number, query: number, key: number): number {
  const depth = matrices.length
  const source = depth * length + query
  const sink = key
  if (depth === 0) return query === key ? 1 : 0
  const used = matrices.map(() => new Float64Array(length * length))
  let total = 0
  for (;;) {
    const came = new Int32Array((depth + 1) * length).fill(-1)
    came[source] = source
    const queue = [source]
    for (let at = 0; at < queue.length && came[sink] === -1; at++) {
      const node = queue[at]!
      const layer = Math.floor(node / length)
      const pos = node % length
      for (let other = 0; other < length; other++) {
        // Down along what is left, up along what is used.
        if (layer > 0) {
          const below = (layer - 1) * length + other
          const edge = pos * length + other
          if (came[below] === -1 && matrices[layer - 1]![edge]! - used[layer - 1]![edge]! > 1e-12) {
            came[below] = node
            queue.push(below)
          }
        }
        if (layer < depth) {
          const above = (layer + 1) * length + other
          if (came[above] === -1 && used[layer]![other * length + pos]! > 1e-12) {
            came[above] = node
            queue.push(above)
          }
        }
      }
    }
    if (came[sink] === -1) return total
    let least = Number.POSITIVE_INFINITY
    walk((room) => {
      least = Math.min(least, room)
    })
    walk((_, push) => {
      push(least)
    })
    total += least

    /** Visits the edges of the path that was found. */
    function walk(visit: (room: number, push: (amount: number) => void) => void): void {
      for (let node = sink; node !== source; node = came[node]!) {
        const from = came[node]!
        const down = from > node && Math.floor(from / length) > Math.floor(node / length)
        const layer = down ? Math.floor(node / length) : Math.floor(from / length)
        const edge = down
          ? (from % length) * length + (node % length)
          : (node % length) * length + (from % length)
        const room = down ? matrices[layer]![edge]! - used[layer]![edge]! : used[layer]![edge]!
        visit(room, (amount) => {
          used[layer]![edge]! += down ? amount : -amount
        })
      }
    }
  }
}
