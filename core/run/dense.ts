/** Arrays whose axes are full or 1, in positions of the whole run, and their windows. */
import type { Axis } from '../graph/axes.ts'
import { sizeOf } from '../graph/tensor.ts'

export interface Dense<D extends Float32Array | Uint8Array = Float32Array> {
  readonly data: D
  readonly shape: readonly number[]
}

/** Positions that a pass computes: queries start … start + rows - 1, keys 0 … keys - 1. */
export interface Window {
  readonly start: number
  readonly rows: number
  readonly keys: number
}

/** The part of an array that a window sees. Axes of size 1 stay: they broadcast. */
export function windowed<D extends Float32Array | Uint8Array>(
  dense: Dense<D>,
  axes: readonly Axis[],
  window: Window,
): Dense<D> {
  let current = dense
  axes.forEach((axis, i) => {
    const size = current.shape[i]!
    if (size === 1) return
    if (axis === 'pos' || axis === 'query')
      current = slice(current, i, window.start, window.start + window.rows)
    else if (axis === 'key') current = slice(current, i, 0, window.keys)
  })
  return current
}

/** Entries first … end - 1 of one axis, copied; the array itself where that is all of it. */
export function slice<D extends Float32Array | Uint8Array>(
  dense: Dense<D>,
  axis: number,
  first: number,
  end: number,
): Dense<D> {
  const size = dense.shape[axis]!
  if (first === 0 && end === size) return dense
  const inner = sizeOf(dense.shape.slice(axis + 1))
  const outer = sizeOf(dense.shape.slice(0, axis))
  const rows = end - first
  const Same = dense.data.constructor as new (length: number) => D
  const data = new Same(outer * rows * inner)
  for (let o = 0; o < outer; o++) {
    const from = (o * size + first) * inner
    data.set(dense.data.subarray(from, from + rows * inner) as never, o * rows * inner)
  }
  return { data, shape: dense.shape.map((n, i) => (i === axis ? rows : n)) }
}

/** One item of a batch; the array itself where all items share it. */
export function itemOf<D extends Float32Array | Uint8Array>(dense: Dense<D>, item: number): Dense<D> {
  return dense.shape[0] === 1 ? dense : slice(dense, 0, item, item + 1)
}

/** Row-major strides, 0 along axes of size 1, so that an index walks a broadcast array. */
export function broadcastStrides(shape: readonly number[]): number[] {
  const strides = new Array<number>(shape.length)
  let stride = 1
  for (let i = shape.length - 1; i >= 0; i--) {
    strides[i] = shape[i] === 1 ? 0 : stride
    stride *= shape[i]!
  }
  return strides
}
