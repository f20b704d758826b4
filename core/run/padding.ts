/** Captures of right-padded batches: what lies beyond an item's own end is 0. */
import { sizeOf } from '../graph/tensor.ts'
import { type HookInfo, overSource } from './segments.ts'

/** Own lengths of the items, in the sequence that an axis of a hook runs over. */
export type LengthsOf = (hook: HookInfo, axis: number) => readonly number[]

/** Lengths by axis: the encoder's own where it runs over `source`. */
export function lengthsBySequence(main: readonly number[], source: readonly number[] | undefined): LengthsOf {
  return (hook, axis) => (source && overSource(hook, axis) ? source : main)
}

/** Writes 0 over every row (and key column) beyond each item's length, in place. */
export function clearPadding(
  data: Float32Array,
  shape: readonly number[],
  hook: HookInfo,
  lengthsOf: LengthsOf,
): void {
  hook.axes.forEach((axis, i) => {
    if (axis !== 'pos' && axis !== 'query' && axis !== 'key') return
    const lengths = lengthsOf(hook, i)
    const longest = Math.max(...lengths)
    if (lengths.every((length) => length === longest)) return
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
