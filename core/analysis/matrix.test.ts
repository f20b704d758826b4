import { expect, test } from 'vitest'
import { createRandom } from '../random.ts'
import {
  eigenvalues,
  frobenius,
  gram,
  gramOfRows,
  identity,
  inverse,
  type Matrix,
  matrix,
  multiply,
  productSingularValues,
  singularValues,
  symmetricEigen,
  transpose,
} from './matrix.ts'

const NUMPY_EIGENVALUES = [
  1.990071783484, 0, 0.254721487692, 1.783442612477, 0.254721487692, -1.783442612477, -1.237937184714,
  0.814124693821, -1.237937184714, -0.814124693821, 1.137949609461, 0.406818684824, 1.137949609461,
  -0.406818684824,
]
const NUMPY_SINGULAR = [
  2.603022952523, 2.280823488679, 1.952871722858, 1.887113829482, 1.573282786794, 1.571887996123,
  0.382701020853,
]
const NUMPY_PRODUCT = [4.710129632458781, 1.5647059165111834, 0.980226937101167]

const make = (rows: number, cols: number, entry: (i: number, j: number) => number): Matrix =>
  matrix(
    rows,
    cols,
    Array.from({ length: rows * cols }, (_, n) => entry(Math.floor(n / cols), n % cols)),
  )
const WAVES = make(7, 7, (i, j) => Math.sin(3 * i + 7 * j + i * j + 1))
const random = (rows: number, cols: number, seed: number) => {
  const draw = createRandom(seed)
  return make(rows, cols, () => draw.next() - 0.5)
}
const close = (a: ArrayLike<number>, b: ArrayLike<number>, digits = 10) => {
  expect(a.length).toBe(b.length)
  for (let i = 0; i < a.length; i++) expect(a[i]).toBeCloseTo(b[i]!, digits)
}

test('eigenvalues of a matrix that is not symmetric are those of numpy', () => {
  const found = eigenvalues(WAVES)
  close(
    found.flatMap(({ re, im }) => [re, im]),
    NUMPY_EIGENVALUES,
  )
})

test('eigenvalues keep trace, squares and conjugate pairs on larger matrices', () => {
  for (const [size, seed] of [
    [3, 1],
    [24, 2],
    [96, 3],
  ] as const) {
    const a = random(size, size, seed)
    const found = eigenvalues(a)
    const trace = (m: Matrix) => Array.from({ length: size }, (_, i) => m.data[i * size + i]!)
    const sum = (values: readonly number[]) => values.reduce((x, y) => x + y, 0)
    expect(found).toHaveLength(size)
    expect(sum(found.map((value) => value.re))).toBeCloseTo(sum(trace(a)), 9)
    expect(sum(found.map((value) => value.im))).toBeCloseTo(0, 12)
    expect(sum(found.map(({ re, im }) => re * re - im * im))).toBeCloseTo(sum(trace(multiply(a, a))), 8)
  }
})

test('nilpotent and triangular matrices give their diagonal exactly; rotations give imaginary pairs', () => {
  const shift = make(5, 5, (i, j) => (j === i + 1 ? 1 : 0))
  expect(eigenvalues(shift)).toEqual(Array.from({ length: 5 }, () => ({ re: 0, im: 0 })))
  const lower = make(4, 4, (i, j) => (j < i ? 7 : j === i ? i + 1 : 0))
  expect(eigenvalues(lower).map((value) => value.re)).toEqual([4, 3, 2, 1])
  const turn = make(2, 2, (i, j) => [0, -2, 2, 0][2 * i + j]!)
  expect(eigenvalues(turn)).toEqual([
    { re: 0, im: 2 },
    { re: 0, im: -2 },
  ])
  const cycle = make(3, 3, (i, j) => ((i + 1) % 3 === j ? 1 : 0)) // a permutation: QR steps alone would stand still
  close(
    eigenvalues(cycle).map(({ re, im }) => Math.hypot(re, im)),
    [1, 1, 1],
  )
})

test('a symmetric matrix is the sum of its eigenvalues times their projections', () => {
  const a = gram(random(40, 30, 5))
  const { values, vectors } = symmetricEigen(a)
  const stretched = { ...vectors, data: vectors.data.map((v, n) => v * values[Math.floor(n / 30)]!) }
  close(multiply(transpose(vectors), stretched).data, a.data, 11)
  close(multiply(vectors, transpose(vectors)).data, identity(30).data, 11)
  expect([...values]).toEqual([...values].sort((x, y) => y - x))
})

test('singular values are those of numpy, of a matrix and of a product that is not built', () => {
  close(singularValues(WAVES), NUMPY_SINGULAR)
  const left = make(7, 3, (i, j) => Math.cos(2 * i + 5 * j + i * j))
  const right = make(3, 8, (i, j) => Math.sin(i * j + 1 + j))
  close(productSingularValues(left, right), NUMPY_PRODUCT)
  close(singularValues(multiply(left, right)).slice(0, 3), NUMPY_PRODUCT)
})

test('a product of lower rank has zeros, not NaN', () => {
  const left = make(6, 3, (i, j) => (j + 1) * i) // rank 1
  const values = productSingularValues(left, random(3, 5, 8))
  expect(values[0]).toBeGreaterThan(0)
  expect(values[1]! / values[0]!).toBeLessThan(1e-7)
  expect([...productSingularValues(matrix(4, 2), matrix(2, 4))]).toEqual([0, 0])
})

test('Gram matrices, norms and inverses agree with plain products', () => {
  const a = random(9, 4, 6)
  close(gram(a).data, multiply(transpose(a), a).data, 13)
  close(gramOfRows(a).data, multiply(a, transpose(a)).data, 13)
  expect(frobenius(a) ** 2).toBeCloseTo(
    gram(a)
      .data.filter((_, n) => n % 5 === 0)
      .reduce((x, y) => x + y, 0),
    12,
  )
  const square = random(12, 12, 7)
  close(multiply(square, inverse(square)).data, identity(12).data, 10)
  expect(() => inverse(matrix(3, 3))).toThrow('no inverse')
})
