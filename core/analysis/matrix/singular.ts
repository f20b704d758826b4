/**
 * Singular values. A head's maps are products of thin matrices, A [d_model, r] B [r, d_model]: their r singular values
 * come from two r × r Gram matrices, so that nothing of d_model × d_model is built.
 */
import { gram, gramOfRows, type Matrix, multiply, transpose } from './dense.ts'
import { symmetricEigen } from './symmetric.ts'

/** Singular values of a matrix, largest first: min(rows, cols) of them, by one-sided Jacobi (Hestenes 1958). */
export function singularValues(a: Matrix): Float64Array {
  const tall = a.rows >= a.cols ? transpose(a) : { ...a, data: a.data.slice() } // rows become orthogonal
  const { rows, cols, data } = tall
  for (let sweep = 0; sweep < 60; sweep++) {
    let turned = false
    for (let p = 0; p < rows - 1; p++)
      for (let q = p + 1; q < rows; q++) turned = orthogonalise(data, cols, p, q) || turned
    if (!turned) break
  }
  return Float64Array.from({ length: rows }, (_, row) => Math.sqrt(dot(data, cols, row, row))).sort(
    (x, y) => y - x,
  )
}

/**
 * Singular values of left · right without the product: left [m, r], right [r, n] → r values, largest first. The
 * squares are the eigenvalues of S (right rightᵀ) S with S² = leftᵀ left, so values below 1e-8 of the largest are noise.
 */
export function productSingularValues(left: Matrix, right: Matrix): Float64Array {
  return singularValuesOfGrams(gram(left), gramOfRows(right))
}

/** The same from leftᵀ left and right rightᵀ, both [r, r]. */
export function singularValuesOfGrams(leftGram: Matrix, rightGram: Matrix): Float64Array {
  const root = squareRoot(leftGram)
  const { values } = symmetricEigen(multiply(multiply(root, rightGram), root))
  return values.map((value) => Math.sqrt(Math.max(0, value)))
}

/** The symmetric S with S² = a, for a that is positive semidefinite up to rounding. */
export function squareRoot(a: Matrix): Matrix {
  const { values, vectors } = symmetricEigen(a)
  const n = a.rows
  const stretched = { ...vectors, data: vectors.data.slice() }
  for (let i = 0; i < n; i++)
    for (let j = 0; j < n; j++) stretched.data[i * n + j]! *= Math.sqrt(Math.max(0, values[i]!))
  return multiply(transpose(vectors), stretched)
}

// --- Internal helpers ---

function dot(data: Float64Array, cols: number, p: number, q: number): number {
  let sum = 0
  for (let j = 0; j < cols; j++) sum += data[p * cols + j]! * data[q * cols + j]!
  return sum
}

/** Turns rows p and q until they are orthogonal; says whether they were not. */
function orthogonalise(data: Float64Array, cols: number, p: number, q: number): boolean {
  const [pp, qq, pq] = [dot(data, cols, p, p), dot(data, cols, q, q), dot(data, cols, p, q)]
  if (pq === 0 || Math.abs(pq) <= 1e-15 * Math.sqrt(pp * qq)) return false
  const ratio = (qq - pp) / (2 * pq)
  const tangent = (ratio >= 0 ? 1 : -1) / (Math.abs(ratio) + Math.hypot(1, ratio))
  const cos = 1 / Math.hypot(1, tangent)
  const sin = tangent * cos
  for (let j = 0; j < cols; j++) {
    const upper = data[p * cols + j]!
    const lower = data[q * cols + j]!
    data[p * cols + j] = cos * upper - sin * lower
    data[q * cols + j] = sin * upper + cos * lower
  }
  return true
}
