/** A dense array with named axes, row-major. Captures are always float32. */
import type { Axis } from './axes.ts'

export interface Tensor<D = Float32Array> {
  readonly data: D
  readonly shape: readonly number[]
  readonly axes: readonly Axis[]
}

/** Number of elements of a shape. */
export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, n) => product * n, 1)
}
