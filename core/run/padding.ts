/** Captures of right-padded batches: what lies beyond an item's own end is 0. */
import type { Axis } from '../graph/axes.ts'
import { sizeOf, type Tensor } from '../graph/tensor.ts'
import { type HookInfo, overSource } from './segments.ts'

/** Own lengths of the items, in the sequence that an axis of a hook runs over. */
export type LengthsOf = (hook: HookInfo, axis: number) => readonly number[]

/** Lengths by axis: the encoder's own where it runs over `source`. */
export function lengthsBySequence(main: readonly number[], source: readonly number[] | undefined): LengthsOf {
  return (hook, axis) => (source && overSource(hook, axis) ? source : main)
}

/**
 * A tensor with 0 in every row (and key column) beyond each item's length: the tensor itself where nothing is padded,
 * else a copy, since a capture may be the very state that the next block reads.
 */
export function cleared(tensor: Tensor, hook: HookInfo, lengthsOf: LengthsOf): Tensor {
  const padded = hook.axes.some((axis, i) => isPlaced(axis) && uneven(lengthsOf(hook, i)))
  if (!padded) return tensor
  const data = tensor.data.slice()
  clearPadding(data, tensor.shape, hook, lengthsOf)
  return { ...tensor, data }
}

// --- Internal helpers ---

function isPlaced(axis: Axis): boolean {
  return axis === 'pos' || axis === 'query' || axis === 'key'
}

function uneven(lengths: readonly number[]): boolean {
  return lengths.some((length) => length !== lengths[0])
}

/** Writes 0 over every row (and key column) beyond each item's length, in place. */
function clearPadding(
  data: Float32Array,
  shape: readonly number[],
  hook: HookInfo,
  lengthsOf: LengthsOf,
): void {
  hook.axes.forEach((axis, i) => {
    if (!isPlaced(axis)) return
    const lengths = lengthsOf(hook, i)
    if (!uneven(lengths)) return
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
