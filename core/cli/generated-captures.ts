/**
 * Captures of a continuation put together. In: a tensor per hook and step (step 0: the whole prompt, then one row
 * each). Out: one tensor per hook over all positions that were computed; keys that a row could not see are 0.
 */
import { sizeOf, type Tensor } from '../graph/tensor.ts'

/** Steps in order → one tensor [1, …]; one step is handed on as it is. */
export function joinSteps(steps: readonly Tensor[]): Tensor {
  const first = steps[0]!
  if (steps.length === 1) return first
  const { axes } = first
  const rowAxis = axes.findIndex((axis) => axis === 'pos' || axis === 'query')
  const keyAxis = axes.indexOf('key')
  if (rowAxis < 0) return first
  const rows = steps.reduce((sum, step) => sum + step.shape[rowAxis]!, 0)
  // Keys grow with the text; those of an encoder's text do not.
  const keys = steps.at(-1)!.shape[keyAxis]
  const shape = first.shape.map((size, i) => (i === rowAxis ? rows : i === keyAxis ? keys! : size))
  const data = new Float32Array(sizeOf(shape))
  const outer = sizeOf(shape.slice(0, rowAxis))
  const wide = sizeOf(shape.slice(rowAxis + 1))
  let row = 0
  for (const step of steps) {
    const count = step.shape[rowAxis]!
    const narrow = sizeOf(step.shape.slice(rowAxis + 1))
    for (let o = 0; o < outer; o++)
      for (let r = 0; r < count; r++) {
        const from = (o * count + r) * narrow
        data.set(step.data.subarray(from, from + narrow), (o * rows + row + r) * wide)
      }
    row += count
  }
  return { data, shape, axes }
}

/** Items of unequal length → one batch, padded with 0 at the end of every position axis. */
export function joinItems(items: readonly Tensor[]): Tensor {
  const first = items[0]!
  const { axes } = first
  const shape = first.shape.map((_, i) =>
    i === 0 ? items.length : Math.max(...items.map((item) => item.shape[i]!)),
  )
  const inner = sizeOf(shape.slice(1))
  const data = new Float32Array(sizeOf(shape))
  for (const [index, item] of items.entries())
    copyInto(data, index * inner, shape.slice(1), item.data, item.shape.slice(1))
  return { data, shape, axes }
}

// --- Internal helpers ---

/** Copies a smaller array into the corner of a larger one of equal rank. */
function copyInto(
  target: Float32Array,
  offset: number,
  wide: readonly number[],
  source: Float32Array,
  narrow: readonly number[],
): void {
  if (wide.slice(1).every((size, i) => size === narrow[i + 1])) {
    target.set(source, offset)
    return
  }
  const wideRow = sizeOf(wide.slice(1))
  const narrowRow = sizeOf(narrow.slice(1))
  for (let row = 0; row < narrow[0]!; row++) {
    const part = source.subarray(row * narrowRow, (row + 1) * narrowRow)
    copyInto(target, offset + row * wideRow, wide.slice(1), part, narrow.slice(1))
  }
}
