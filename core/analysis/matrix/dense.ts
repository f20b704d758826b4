/** Dense float64 matrices: making, products, Gram matrices, traces. Plain data; no function changes its inputs. */
import { HeadscopeError } from '../../errors.ts'

/** Row-major: entry (i, j) is `data[i * cols + j]`. */
export interface Matrix {
  readonly rows: number
  readonly cols: number
  readonly data: Float64Array
}

/** A matrix of these numbers, row by row; zeros when none are given. Throws `internal` when the count does not fit. */
export function matrix(rows: number, cols: number, values?: ArrayLike<number>): Matrix {
  if (values && values.length !== rows * cols)
    throw new HeadscopeError('internal', `${values.length} numbers do not make a ${rows} × ${cols} matrix.`)
  return { rows, cols, data: values ? Float64Array.from(values) : new Float64Array(rows * cols) }
}

/** The identity, [size, size]. */
export function identity(size: number): Matrix {
  const made = matrix(size, size)
  for (let i = 0; i < size; i++) made.data[i * size + i] = 1
  return made
}

/** [rows, cols] → [cols, rows]. */
export function transpose({ rows, cols, data }: Matrix): Matrix {
  const out = matrix(cols, rows)
  for (let i = 0; i < rows; i++) for (let j = 0; j < cols; j++) out.data[j * rows + i] = data[i * cols + j]!
  return out
}

/** a b. Throws `internal` when the inner sizes differ. */
export function multiply(a: Matrix, b: Matrix): Matrix {
  if (a.cols !== b.rows)
    throw new HeadscopeError(
      'internal',
      `A ${a.rows} × ${a.cols} matrix does not multiply a ${b.rows} × ${b.cols} one.`,
    )
  const out = matrix(a.rows, b.cols)
  const width = b.cols
  for (let i = 0; i < a.rows; i++)
    for (let k = 0; k < a.cols; k++) {
      const factor = a.data[i * a.cols + k]!
      if (factor === 0) continue
      const from = k * width
      const to = i * width
      for (let j = 0; j < width; j++) out.data[to + j]! += factor * b.data[from + j]!
    }
  return out
}

/** aᵀ a, [cols, cols]: the d_head side of a [d_model, d_head] matrix. */
export function gram({ rows, cols, data }: Matrix): Matrix {
  const out = matrix(cols, cols)
  for (let r = 0; r < rows; r++)
    for (let i = 0; i < cols; i++) {
      const factor = data[r * cols + i]!
      if (factor === 0) continue
      for (let j = i; j < cols; j++) out.data[i * cols + j]! += factor * data[r * cols + j]!
    }
  for (let i = 0; i < cols; i++) for (let j = 0; j < i; j++) out.data[i * cols + j] = out.data[j * cols + i]!
  return out
}

/** a aᵀ, [rows, rows]: the d_head side of a [d_head, d_model] matrix. */
export function gramOfRows({ rows, cols, data }: Matrix): Matrix {
  const out = matrix(rows, rows)
  for (let i = 0; i < rows; i++)
    for (let j = i; j < rows; j++) {
      let sum = 0
      for (let k = 0; k < cols; k++) sum += data[i * cols + k]! * data[j * cols + k]!
      out.data[i * rows + j] = sum
      out.data[j * rows + i] = sum
    }
  return out
}

/** Σ_ij a_ij b_ij = tr(aᵀ b) of two matrices of one shape. */
export function inner(a: Matrix, b: Matrix): number {
  let sum = 0
  for (let i = 0; i < a.data.length; i++) sum += a.data[i]! * b.data[i]!
  return sum
}

/** Frobenius norm. */
export function frobenius(a: Matrix): number {
  return Math.sqrt(inner(a, a))
}

/** a · factor. */
export function scaledBy(a: Matrix, factor: number): Matrix {
  return { ...a, data: a.data.map((value) => value * factor) }
}

/** Solves a x = b for square a by elimination with row pivots. Throws `bad-request` when a is singular. */
export function solve(a: Matrix, b: Matrix): Matrix {
  const n = a.rows
  const left = a.data.slice()
  const right = b.data.slice()
  const width = b.cols
  for (let column = 0; column < n; column++) {
    let pivot = column
    for (let row = column + 1; row < n; row++)
      if (Math.abs(left[row * n + column]!) > Math.abs(left[pivot * n + column]!)) pivot = row
    if (left[pivot * n + column] === 0)
      throw new HeadscopeError('bad-request', 'This matrix has no inverse: its columns are not independent.')
    swapRows(left, n, pivot, column)
    swapRows(right, width, pivot, column)
    const diagonal = left[column * n + column]!
    for (let row = 0; row < n; row++) {
      if (row === column) continue
      const factor = left[row * n + column]! / diagonal
      if (factor === 0) continue
      for (let j = column; j < n; j++) left[row * n + j]! -= factor * left[column * n + j]!
      for (let j = 0; j < width; j++) right[row * width + j]! -= factor * right[column * width + j]!
    }
  }
  for (let row = 0; row < n; row++)
    for (let j = 0; j < width; j++) right[row * width + j]! /= left[row * n + row]!
  return { rows: n, cols: width, data: right }
}

/** a⁻¹. Throws as `solve`. */
export function inverse(a: Matrix): Matrix {
  return solve(a, identity(a.rows))
}

// --- Internal helpers ---

function swapRows(data: Float64Array, width: number, a: number, b: number): void {
  if (a === b) return
  for (let j = 0; j < width; j++) {
    const kept = data[a * width + j]!
    data[a * width + j] = data[b * width + j]!
    data[b * width + j] = kept
  }
}
