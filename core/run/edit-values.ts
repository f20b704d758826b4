/** What an edit puts there: numbers, or the tensor of a source, fitted to the region. */
import { HeadscopeError } from '../errors.ts'
import { sizeOf, type Tensor } from '../graph/tensor.ts'
import { broadcastStrides, type Dense } from './dense.ts'
import { type EditContext, lengthsOf, maskOf, type Region, sizes } from './edit-region.ts'
import type { HookInfo } from './segments.ts'
import type { Edit, EditSource } from './types.ts'

/** One number for every place. */
export function scalar(value: number, rank: number): Dense {
  return { data: Float32Array.of(value), shape: new Array(rank).fill(1) }
}

/** Throws `bad-edit` with the rule that was broken. */
export function finite(edit: Edit, value: unknown, rule: string): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value
  throw new HeadscopeError('bad-edit', `The edit of ${edit.hook}: ${rule}.`)
}

/** The number, or -inf for scores, that `set` puts. */
export function constant(edit: Edit, hook: HookInfo, rank: number): Dense {
  if (edit.value === '-inf') {
    if (hook.name.endsWith('hook_attn_scores')) return scalar(Number.NEGATIVE_INFINITY, rank)
    throw new HeadscopeError(
      'bad-edit',
      `"-inf" knocks out scores, so it goes on hook_attn_scores, not on ${hook.name}.`,
    )
  }
  return scalar(finite(edit, edit.value, 'set needs "from", or "value" as a finite number or "-inf"'), rank)
}

/** value · by inside the region, 0 outside, in the broadcast shape of both. */
export function masked(value: Dense, region: Region, by: number): Dense {
  const shape = region.shape.map((size, i) => Math.max(size, value.shape[i]!))
  const mask = maskOf(region)
  const from = broadcastStrides(value.shape)
  const gate = broadcastStrides(mask.shape)
  const data = new Float32Array(sizeOf(shape))
  const index = new Array<number>(shape.length).fill(0)
  for (let flat = 0; flat < data.length; flat++) {
    let v = 0
    let m = 0
    for (let axis = 0; axis < shape.length; axis++) {
      v += index[axis]! * from[axis]!
      m += index[axis]! * gate[axis]!
    }
    if (mask.data[m]) data[flat] = value.data[v]! * by
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      if (++index[axis]! < shape[axis]!) break
      index[axis] = 0
    }
  }
  return { data, shape }
}

/** A source's tensor, its positions checked against the region and padded to the run's length. */
export async function sourced(
  edit: Edit,
  from: EditSource,
  hook: HookInfo,
  region: Region,
  context: EditContext,
  together: readonly HookInfo[],
): Promise<Dense> {
  const tensor = await context.source(from, hook, together)
  if (tensor.data.some((value) => Number.isNaN(value)))
    throw new HeadscopeError(
      'bad-edit',
      `The source of the edit of ${edit.hook} holds NaN; every number must be one.`,
    )
  const full = sizes(hook, context)
  const shape = [
    ...new Array(Math.max(0, full.length - tensor.shape.length)).fill(1),
    ...tensor.shape,
  ] as number[]
  if (shape.length > full.length) throw misfit(edit, tensor, full)
  const target = [...shape]
  hook.axes.forEach((axis, i) => {
    const size = shape[i]!
    if (size === 1 || size === full[i]) return
    const positional = axis === 'pos' || axis === 'query' || axis === 'key'
    if (!positional) throw misfit(edit, tensor, full)
    const last = Math.max(
      ...region.items.map((item, n) =>
        lastIndex(region.indices[n]![i] ?? null, lengthsOf(hook, i, context)[item]!),
      ),
    )
    if (last >= size)
      throw new HeadscopeError(
        'bad-edit',
        `The source of the edit of ${edit.hook} has ${size} positions, but the edit reaches position ${last}; use a source of the same length or choose pos.`,
      )
    target[i] = full[i]!
  })
  return resized({ data: tensor.data, shape }, target)
}

function lastIndex(indices: readonly number[] | null, length: number): number {
  return indices ? Math.max(...indices) : length - 1
}

function misfit(edit: Edit, tensor: Tensor, full: readonly number[]): HeadscopeError {
  return new HeadscopeError(
    'bad-edit',
    `The source of the edit of ${edit.hook} has the shape [${tensor.shape.join(', ')}], which does not fit [${full.join(', ')}].`,
  )
}

/** The same values in a shape with more (zeros) or fewer positions. */
function resized(dense: Dense, shape: readonly number[]): Dense {
  if (dense.shape.every((size, i) => size === shape[i])) return dense
  const data = new Float32Array(sizeOf(shape))
  const copy = (axis: number, from: number, to: number): void => {
    const count = Math.min(dense.shape[axis]!, shape[axis]!)
    const fromStep = sizeOf(dense.shape.slice(axis + 1))
    const toStep = sizeOf(shape.slice(axis + 1))
    for (let i = 0; i < count; i++) {
      if (axis === shape.length - 1) data[to + i] = dense.data[from + i]!
      else copy(axis + 1, from + i * fromStep, to + i * toStep)
    }
  }
  copy(0, 0, 0)
  return { data, shape }
}
