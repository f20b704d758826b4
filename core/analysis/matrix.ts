/**
 * Small exact linear algebra in float64 for weights and patterns: products, Gram matrices, eigenvalues, singular
 * values. In and out: `Matrix`, row-major. Everything here is O(n³) in the small side; nothing of size d_vocab² or
 * d_model² is ever needed.
 */
export * from './matrix/dense.ts'
export * from './matrix/eigenvalues.ts'
export * from './matrix/singular.ts'
export * from './matrix/symmetric.ts'
