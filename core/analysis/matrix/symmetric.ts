/**
 * Eigenvalues and eigenvectors of a symmetric matrix: Householder reflections to tridiagonal form, then implicit QR
 * steps with Wilkinson's shift (Golub & Van Loan, Matrix Computations, sections 8.3.1 to 8.3.3). About 9 n³ with
 * vectors; errors are machine precision times the largest eigenvalue.
 */
import { HeadscopeError } from '../../errors.ts'
import { identity, type Matrix } from './dense.ts'

export interface SymmetricEigen {
  /** Largest first. */
  readonly values: Float64Array
  /** Row i is the unit eigenvector of value i. */
  readonly vectors: Matrix
}

const EPSILON = 2 ** -52
/** Steps for one eigenvalue after which it is given up: it does not happen for finite input. */
const MOST_STEPS = 60

/** a = Σ values_i · v_i v_iᵀ, for a that is symmetric. */
export function symmetricEigen(a: Matrix): SymmetricEigen {
  const n = a.rows
  if (a.cols !== n) throw new HeadscopeError('internal', `A ${n} × ${a.cols} matrix is not symmetric.`)
  const { diagonal, beside, vectors } = tridiagonal(a)
  const size = Math.max(...diagonal.map(Math.abs), ...beside.map(Math.abs), 0)
  const settled = (k: number) =>
    Math.abs(beside[k]!) <= EPSILON * (Math.abs(diagonal[k]!) + Math.abs(diagonal[k + 1]!)) ||
    Math.abs(beside[k]!) <= 1e-3 * EPSILON * size
  let last = n - 1
  let steps = 0
  while (last > 0) {
    if (settled(last - 1)) {
      beside[last - 1] = 0
      last -= 1
      steps = 0
      continue
    }
    let first = last - 1
    while (first > 0 && !settled(first - 1)) first--
    if (first > 0) beside[first - 1] = 0
    if (++steps > MOST_STEPS)
      throw new HeadscopeError('internal', 'The eigenvalues of a symmetric matrix did not settle.')
    step(diagonal, beside, vectors, n, first, last)
  }
  const order = Array.from({ length: n }, (_, i) => i).sort((i, j) => diagonal[j]! - diagonal[i]!)
  const sorted = new Float64Array(n * n)
  order.forEach((from, to) => {
    sorted.set(vectors.subarray(from * n, (from + 1) * n), to * n)
  })
  return {
    values: Float64Array.from(order, (i) => diagonal[i]!),
    vectors: { rows: n, cols: n, data: sorted },
  }
}

// --- Internal helpers ---

/** Vᵀ a V tridiagonal; `vectors` holds the columns of V as rows. */
function tridiagonal({ rows: n, data }: Matrix) {
  const work = data.slice()
  const vectors = identity(n).data
  const v = new Float64Array(n)
  const w = new Float64Array(n)
  for (let k = 0; k < n - 2; k++) {
    // The reflection that leaves one number below the diagonal of column k.
    let length = 0
    for (let i = k + 1; i < n; i++) length = Math.hypot(length, work[i * n + k]!)
    let below = 0
    for (let i = k + 2; i < n; i++) below = Math.max(below, Math.abs(work[i * n + k]!))
    if (below === 0) continue
    for (let i = k + 1; i < n; i++) v[i] = work[i * n + k]! / length
    v[k + 1]! += v[k + 1]! >= 0 ? 1 : -1
    let square = 0
    for (let i = k + 1; i < n; i++) square += v[i]! * v[i]!
    const beta = 2 / square
    // Both sides at once: a ← a - v wᵀ - w vᵀ on what is left.
    let along = 0
    for (let i = k + 1; i < n; i++) {
      let sum = 0
      for (let j = k + 1; j < n; j++) sum += work[i * n + j]! * v[j]!
      w[i] = beta * sum
      along += w[i]! * v[i]!
    }
    for (let i = k + 1; i < n; i++) w[i]! -= (beta / 2) * along * v[i]!
    for (let i = k + 1; i < n; i++)
      for (let j = k + 1; j < n; j++) work[i * n + j]! -= v[i]! * w[j]! + w[i]! * v[j]!
    const corner = v[k + 1]! > 0 ? -length : length
    work[(k + 1) * n + k] = corner
    for (let i = k + 2; i < n; i++) work[i * n + k] = 0
    reflect(vectors, n, v, k + 1, beta)
  }
  return {
    diagonal: Float64Array.from({ length: n }, (_, i) => work[i * n + i]!),
    beside: Float64Array.from({ length: Math.max(0, n - 1) }, (_, i) => work[(i + 1) * n + i]!),
    vectors,
  }
}

/** Rows from … of a matrix reflected: m ← (I - beta v vᵀ) m. */
function reflect(m: Float64Array, n: number, v: Float64Array, from: number, beta: number): void {
  const sums = new Float64Array(n)
  for (let i = from; i < n; i++) for (let j = 0; j < n; j++) sums[j]! += v[i]! * m[i * n + j]!
  for (let i = from; i < n; i++) {
    const factor = beta * v[i]!
    for (let j = 0; j < n; j++) m[i * n + j]! -= factor * sums[j]!
  }
}

/** One implicit QR step on the unreduced block first … last. */
function step(
  d: Float64Array,
  e: Float64Array,
  vectors: Float64Array,
  n: number,
  first: number,
  last: number,
): void {
  const half = (d[last - 1]! - d[last]!) / 2
  const square = e[last - 1]! * e[last - 1]!
  const shift = d[last]! - square / (half + (half >= 0 ? 1 : -1) * Math.hypot(half, e[last - 1]!))
  let x = d[first]! - shift
  let bulge = e[first]!
  for (let k = first; k < last; k++) {
    const length = Math.hypot(x, bulge)
    const cos = length > 0 ? x / length : 1
    const sin = length > 0 ? -bulge / length : 0
    if (k > first) e[k - 1] = cos * x - sin * bulge
    const [a, b, c] = [d[k]!, e[k]!, d[k + 1]!]
    d[k] = cos * cos * a - 2 * cos * sin * b + sin * sin * c
    d[k + 1] = sin * sin * a + 2 * cos * sin * b + cos * cos * c
    e[k] = cos * sin * (a - c) + (cos * cos - sin * sin) * b
    if (k < last - 1) {
      x = e[k]!
      bulge = -sin * e[k + 1]!
      e[k + 1]! *= cos
    }
    const top = k * n
    for (let j = 0; j < n; j++) {
      const upper = vectors[top + j]!
      const lower = vectors[top + n + j]!
      vectors[top + j] = cos * upper - sin * lower
      vectors[top + n + j] = sin * upper + cos * lower
    }
  }
}
