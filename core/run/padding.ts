/** Captures of right-padded batches: what lies beyond an item's own end is 0. */
import type { Axis } from '../graph/axes.ts'
import { sizeOf } from '../graph/tensor.ts'

/** Writes 0 over every row (and key column) beyond each item's length, in place. */
export function clearPadding(
  data: Float32Array,
  shape: readonly number[],
  axes: readonly Axis[],
  lengths: readonly number[],
): void {
  const longest = Math.max(...lengths)
  if (lengths.every((length) => length === longest)) return
  axes.forEach((axis, i) => {
    if (axis !== 'pos' && axis !== 'query' && axis !== 'key') return
    const inner = sizeOf(shape.slice(i + 1))
    const size = shape[i]!
    const perItem = sizeOf(shape.slice(1, i))
    for (let item = 0; item < shape[0]!; item++)
      for (let outer = 0; outer < perItem; outer++) {
        const from = ((item * perItem + outer) * size + lengths[item]!) * inner
        data.fill(0, from, ((item * perItem + outer) * size + size) * inner)
      }
  })
}
