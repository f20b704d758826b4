/**
 * Eigenvalues of a real square matrix that need not be symmetric: Hessenberg form, then double-shift QR steps
 * (Golub & Van Loan, Matrix Computations, sections 7.4 and 7.5). Rows and columns that hold nothing but their diagonal
 * are taken off first, so that a triangular matrix (a nilpotent one, say) gives its diagonal exactly. About 10 n³.
 */
import { HeadscopeError } from '../../errors.ts'
import { type Matrix, matrix } from './dense.ts'

export interface Complex {
  readonly re: number
  readonly im: number
}

/** All n eigenvalues, largest absolute value first; conjugate pairs stand together. */
export function eigenvalues(a: Matrix): Complex[] {
  if (a.rows !== a.cols)
    throw new HeadscopeError('internal', `A ${a.rows} × ${a.cols} matrix has no eigenvalues.`)
  const { isolated, rest } = takeIsolated(a)
  const found = [...isolated.map((re) => ({ re, im: 0 })), ...qrEigenvalues(hessenberg(rest))]
  const size = (value: Complex) => Math.hypot(value.re, value.im)
  return found.sort((x, y) => size(y) - size(x) || y.re - x.re || y.im - x.im)
}

// --- Internal helpers ---

/** Eigenvalues that stand alone in their row or column, and the matrix that is left. */
function takeIsolated(a: Matrix): { isolated: number[]; rest: Matrix } {
  const n = a.rows
  let active = Array.from({ length: n }, (_, i) => i)
  const isolated: number[] = []
  for (;;) {
    const alone = active.find((i) => {
      const others = active.filter((j) => j !== i)
      return others.every((j) => a.data[i * n + j] === 0) || others.every((j) => a.data[j * n + i] === 0)
    })
    if (alone === undefined) break
    isolated.push(a.data[alone * n + alone]!)
    active = active.filter((i) => i !== alone)
  }
  const size = active.length
  const rest = matrix(size, size)
  active.forEach((i, row) => {
    active.forEach((j, column) => {
      rest.data[row * size + column] = a.data[i * n + j]!
    })
  })
  return { isolated, rest }
}

/** The reflection I - beta v vᵀ that turns x into a multiple of the first unit vector. */
function reflection(x: readonly number[]): { v: number[]; beta: number } {
  const scale = Math.max(...x.map(Math.abs))
  if (scale === 0) return { v: x.map(() => 0), beta: 0 }
  const v = x.map((value) => value / scale)
  const length = Math.hypot(...v)
  v[0]! += v[0]! >= 0 ? length : -length
  return { v, beta: 2 / v.reduce((sum, value) => sum + value * value, 0) }
}

/** Rows first … of columns from … to - 1 reflected. */
function reflectRows(
  h: Float64Array,
  n: number,
  { v, beta }: { v: number[]; beta: number },
  first: number,
  from: number,
  to: number,
): void {
  for (let j = from; j < to; j++) {
    let sum = 0
    for (let i = 0; i < v.length; i++) sum += v[i]! * h[(first + i) * n + j]!
    sum *= beta
    for (let i = 0; i < v.length; i++) h[(first + i) * n + j]! -= sum * v[i]!
  }
}

/** Columns first … of rows from … to - 1 reflected. */
function reflectColumns(
  h: Float64Array,
  n: number,
  { v, beta }: { v: number[]; beta: number },
  first: number,
  from: number,
  to: number,
): void {
  for (let i = from; i < to; i++) {
    let sum = 0
    for (let j = 0; j < v.length; j++) sum += v[j]! * h[i * n + first + j]!
    sum *= beta
    for (let j = 0; j < v.length; j++) h[i * n + first + j]! -= sum * v[j]!
  }
}

/** A similar matrix that is zero below its first subdiagonal. */
function hessenberg(a: Matrix): Matrix {
  const n = a.rows
  const h = a.data.slice()
  for (let k = 0; k < n - 2; k++) {
    const column = Array.from({ length: n - k - 1 }, (_, i) => h[(k + 1 + i) * n + k]!)
    const turn = reflection(column)
    reflectRows(h, n, turn, k + 1, k, n)
    reflectColumns(h, n, turn, k + 1, 0, n)
    for (let i = k + 2; i < n; i++) h[i * n + k] = 0
  }
  return { rows: n, cols: n, data: h }
}

/** Eigenvalues of a Hessenberg matrix: QR steps on its lowest unreduced part, which is cut off as it converges. */
function qrEigenvalues({ rows: n, data }: Matrix): Complex[] {
  const h = data.slice()
  const found: Complex[] = []
  let hi = n - 1
  let steps = 0
  while (hi >= 0) {
    let lo = hi
    while (lo > 0 && !negligible(h, n, lo)) lo--
    if (lo > 0) h[lo * n + lo - 1] = 0
    if (lo === hi) {
      found.push({ re: h[hi * n + hi]!, im: 0 })
      hi -= 1
      steps = 0
    } else if (lo === hi - 1) {
      found.push(...pair(h[lo * n + lo]!, h[lo * n + hi]!, h[hi * n + lo]!, h[hi * n + hi]!))
      hi -= 2
      steps = 0
    } else {
      if (++steps > 300) throw new HeadscopeError('internal', 'The eigenvalues of a matrix did not settle.')
      doubleShift(h, n, lo, hi, steps % 10 === 0)
    }
  }
  return found
}

function negligible(h: Float64Array, n: number, row: number): boolean {
  const around = Math.abs(h[(row - 1) * n + row - 1]!) + Math.abs(h[row * n + row]!)
  return Math.abs(h[row * n + row - 1]!) <= 2.3e-16 * around || h[row * n + row - 1] === 0
}

/** Eigenvalues of [[a, b], [c, d]]. */
function pair(a: number, b: number, c: number, d: number): Complex[] {
  const half = (a - d) / 2
  const middle = (a + d) / 2
  const square = half * half + b * c
  if (square < 0) {
    const im = Math.sqrt(-square)
    return [
      { re: middle, im },
      { re: middle, im: -im },
    ]
  }
  const far = half + (half >= 0 ? 1 : -1) * Math.sqrt(square) // the root without cancellation
  const first = d + far
  return [
    { re: first, im: 0 },
    { re: far === 0 ? d : d - (b * c) / far, im: 0 },
  ]
}

/** One implicit double-shift step on rows lo … hi. `unusual` takes another shift, which breaks cycles. */
function doubleShift(h: Float64Array, n: number, lo: number, hi: number, unusual: boolean): void {
  const at = (i: number, j: number) => h[i * n + j]!
  let sum = at(hi - 1, hi - 1) + at(hi, hi)
  let product = at(hi - 1, hi - 1) * at(hi, hi) - at(hi - 1, hi) * at(hi, hi - 1)
  if (unusual) {
    const size = Math.abs(at(hi, hi - 1)) + Math.abs(at(hi - 1, hi - 2))
    sum = 1.5 * size
    product = size * size
  }
  let bulge = [
    at(lo, lo) ** 2 + at(lo, lo + 1) * at(lo + 1, lo) - sum * at(lo, lo) + product,
    at(lo + 1, lo) * (at(lo, lo) + at(lo + 1, lo + 1) - sum),
    at(lo + 1, lo) * at(lo + 2, lo + 1),
  ]
  for (let k = lo; k < hi; k++) {
    const turn = reflection(bulge)
    reflectRows(h, n, turn, k, Math.max(lo, k - 1), hi + 1)
    reflectColumns(h, n, turn, k, lo, Math.min(k + bulge.length, hi) + 1)
    if (k > lo) for (let i = k + 1; i < k + bulge.length; i++) h[i * n + k - 1] = 0
    bulge = [at(k + 1, k), ...(k + 2 <= hi ? [at(k + 2, k)] : []), ...(k + 3 <= hi ? [at(k + 3, k)] : [])]
  }
}
