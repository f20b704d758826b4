/** One item's own part of a right-padded capture. In: tensor [batch, …]. Out: its values, contiguous. */
import { sizeOf, type Tensor } from '../graph/tensor.ts'

/**
 * Values of item `item`, axis i cut to `lengths[i]` (axes after batch). A view into the tensor where the part is
 * contiguous already (no cut, or a cut of the first axis only), a copy otherwise.
 */
export function cropItem(tensor: Tensor, item: number, lengths: readonly number[]): Float32Array {
  const full = tensor.shape.slice(1)
  const size = sizeOf(full)
  const own = tensor.data.subarray(item * size, (item + 1) * size)
  const firstCut = full.findIndex((n, i) => n !== lengths[i])
  if (firstCut === -1) return own
  if (firstCut === 0 && full.slice(1).every((n, i) => n === lengths[i + 1]))
    return own.subarray(0, sizeOf(lengths))
  const out = new Float32Array(sizeOf(lengths))
  copyInto(own, full, lengths, out)
  return out
}

// --- Internal helpers ---

/** Row by row: the last axis is contiguous on both sides. */
function copyInto(
  from: Float32Array,
  full: readonly number[],
  part: readonly number[],
  out: Float32Array,
): void {
  const width = part.at(-1)!
  const index = new Array<number>(part.length - 1).fill(0)
  for (let at = 0; at < out.length; at += width) {
    let offset = 0
    index.forEach((i, axis) => {
      offset = (offset + i) * full[axis + 1]!
    })
    out.set(from.subarray(offset, offset + width), at)
    for (let axis = index.length - 1; axis >= 0 && ++index[axis]! === part[axis]; axis--) index[axis] = 0
  }
}
