/** The integers of a reference file: ids and masks by row, and which values of a padded tensor are a prompt's own. Pure. */
import type { StoredTensor } from '../../checkpoint/index.ts'
import { HeadscopeError } from '../../errors.ts'
import type { Tensor } from '../../graph/tensor.ts'

/** Rows of an int64 [batch, pos]. Throws `bad-request`. */
export function idRows(tensor: StoredTensor | undefined, label: string, name: string): number[][] {
  if (!tensor || !(tensor.data instanceof BigInt64Array) || tensor.shape.length !== 2)
    throw new HeadscopeError(
      'bad-request',
      `${label} needs a tensor ${name} of int64 [batch, pos] that says what to run.`,
    )
  const [batch, length] = tensor.shape as [number, number]
  const flat = Array.from(tensor.data, Number)
  return Array.from({ length: batch }, (_, item) => flat.slice(item * length, (item + 1) * length))
}

/** How many tokens of each row are its own. Throws `bad-request` unless every row of the mask is ones and then zeros. */
export function lengthsOf(
  mask: readonly (readonly number[])[],
  rows: readonly (readonly number[])[],
  label: string,
): number[] {
  return rows.map((row, item) => {
    const own = mask[item] ?? []
    const length = own.filter((one) => one === 1).length
    if (own.length !== row.length || length === 0 || own.some((one, pos) => one !== (pos < length ? 1 : 0)))
      throw new HeadscopeError(
        'bad-request',
        `${label}: the attention_mask of prompt ${item} is not ones and then zeros; pad at the right before saving.`,
      )
    return length
  })
}

/** The values whose positions, queries and keys all lie within their item's length, in their order. */
export function ownValues(
  data: Float32Array,
  shape: Tensor['shape'],
  axes: Tensor['axes'],
  lengths: readonly number[],
): Float32Array {
  const along = axes.map((axis) => axis === 'pos' || axis === 'query' || axis === 'key')
  const kept = new Float32Array(data.length)
  let count = 0
  const place = shape.map(() => 0)
  for (let i = 0; i < data.length; i++) {
    const length = lengths[place[0]!]!
    if (place.every((at, axis) => !along[axis] || at < length)) kept[count++] = data[i]!
    for (let axis = shape.length - 1; axis >= 0 && ++place[axis]! === shape[axis]; axis--) place[axis] = 0
  }
  return kept.subarray(0, count)
}
