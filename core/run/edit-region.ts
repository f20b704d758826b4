/** Where an edit acts. In: the contract's `Edit` and the prompts' lengths. Out: its hooks, and the entries it touches there. */
import { HeadscopeError } from '../errors.ts'
import type { Axis } from '../graph/axes.ts'
import { matchHooks, noSuchHook } from '../graph/hook-names.ts'
import type { ModelSpec } from '../graph/model-spec.ts'
import { sizeOf, type Tensor } from '../graph/tensor.ts'
import { broadcastStrides, type Dense } from './dense.ts'
import { resolveIndices } from './indices.ts'
import { type HookInfo, layerOf, overSource } from './segments.ts'
import type { Edit, EditSource, Indices } from './types.ts'

export interface EditContext {
  readonly spec: ModelSpec
  readonly hooks: readonly HookInfo[]
  /** Own length of each item of the batch. */
  readonly lengths: readonly number[]
  /** The same of what the encoder before a decoder reads. */
  readonly sourceLengths?: readonly number[] | undefined
  /** Positions of the whole run; more than the prompt's while generating. */
  readonly total: number
  /** The tensor of a source at a hook, [1, …] with its own positions; `together` are all hooks of the edit. */
  readonly source: (from: EditSource, hook: HookInfo, together: readonly HookInfo[]) => Promise<Tensor>
}

/** Which entries an edit touches: per item, a list of indices for each axis after the batch. */
export interface Region {
  readonly items: readonly number[]
  /** [item of `items`][axis] → indices; null: all. */
  readonly indices: readonly (readonly (readonly number[] | null)[])[]
  /** Shape of a mask: full where something is selected, else 1. */
  readonly shape: readonly number[]
}

const SELECTORS = ['head', 'kv_head', 'pos', 'query', 'key'] as const

/** The hook that an edit names, or every hook that its glob matches, in the order of the computation. */
export function findHooks(edit: Edit, context: EditContext): HookInfo[] {
  if (!edit.hook.includes('*')) return [findHook(edit, context)]
  const names = context.hooks.map((hook) => hook.name)
  return matchHooks([edit.hook], names).map((name) => findHook({ ...edit, hook: name }, context))
}

function findHook(edit: Edit, context: EditContext): HookInfo {
  const hook = context.hooks.find((candidate) => candidate.name === edit.hook)
  if (!hook)
    throw new HeadscopeError(
      'bad-edit',
      noSuchHook(
        edit.hook,
        context.hooks.map((h) => h.name),
      ),
    )
  for (const selector of SELECTORS)
    if (edit[selector] !== undefined && !hook.axes.includes(selector))
      throw wrongAxis(edit, selector, hook, context.spec)
  return hook
}

function wrongAxis(edit: Edit, selector: Axis, hook: HookInfo, spec: ModelSpec): HeadscopeError {
  if (selector === 'head' && hook.axes.includes('kv_head')) {
    const { nHeads, nKvHeads } = layerOf(spec, hook.segment)!
    return new HeadscopeError(
      'bad-edit',
      `${edit.hook} has ${nKvHeads} key/value heads, each read by ${nHeads / nKvHeads} query heads: name kv_head instead of head (query head h reads kv_head ${nHeads === nKvHeads ? 'h' : `h / ${nHeads / nKvHeads}, rounded down`}).`,
    )
  }
  return new HeadscopeError(
    'bad-edit',
    `${edit.hook} has the axes [${hook.axes.join(', ')}], so ${selector} cannot be chosen there; leave ${selector} out.`,
  )
}

/** Size of an axis over the whole run. */
export function sizes(hook: HookInfo, context: EditContext): number[] {
  return hook.axes.map((axis, i) => {
    if (axis === 'batch') return context.lengths.length
    if (axis === 'pos' || axis === 'query' || axis === 'key') return totalOf(hook, i, context)
    return hook.shape[i] as number
  })
}

/** Own lengths of the items along a positional axis. */
export function lengthsOf(hook: HookInfo, axis: number, context: EditContext): readonly number[] {
  return overSource(hook, axis) && context.sourceLengths ? context.sourceLengths : context.lengths
}

/** Positions of the whole run along a positional axis. */
function totalOf(hook: HookInfo, axis: number, context: EditContext): number {
  if (overSource(hook, axis) && context.sourceLengths) return Math.max(...context.sourceLengths)
  return context.total
}

/** The region of an edit at one of its hooks. Throws `bad-edit` for places that are not there. */
export function regionOf(edit: Edit, hook: HookInfo, context: EditContext): Region {
  const items = resolveIndices(edit.item, context.lengths.length, 'item')
  const full = sizes(hook, context)
  const selectors = hook.axes.map((axis) => selectorOf(edit, axis))
  const perItem = items.map((item) =>
    hook.axes.map((axis, i) => {
      if (i === 0 || selectors[i] === undefined) return null
      const positional = axis === 'pos' || axis === 'query' || axis === 'key'
      if (positional && selectors[i] === 'new') return newPositions(edit, hook, i, context, item)
      const size = positional ? lengthsOf(hook, i, context)[item]! : full[i]!
      return resolveIndices(selectors[i], size, axis)
    }),
  )
  const placed = edit.pos !== undefined || edit.query !== undefined || edit.key !== undefined
  const differ = (lengths: readonly number[] | undefined) => new Set(lengths).size > 1
  const unequal = placed && (differ(context.lengths) || differ(context.sourceLengths))
  const shape = full.map((size, i) => {
    if (i === 0) return edit.item !== undefined || unequal ? size : 1
    return selectors[i] === undefined ? 1 : size
  })
  return { items, indices: perItem, shape }
}

/** Positions that are generated after the prompt. */
function newPositions(
  edit: Edit,
  hook: HookInfo,
  axis: number,
  context: EditContext,
  item: number,
): number[] {
  const length = lengthsOf(hook, axis, context)[item]!
  const total = totalOf(hook, axis, context)
  if (total > length && !overSource(hook, axis)) return range(total - length).map((i) => length + i)
  throw new HeadscopeError(
    'bad-edit',
    `The edit of ${edit.hook} acts on "new" positions, but none are generated there.`,
  )
}

function selectorOf(edit: Edit, axis: Axis): Indices | undefined {
  return (SELECTORS as readonly Axis[]).includes(axis) ? edit[axis as (typeof SELECTORS)[number]] : undefined
}

/** Calls `visit` with the flat index of every selected entry of an array of the region's shape. */
function forEachSelected(region: Region, visit: (flat: number) => void): void {
  const strides = broadcastStrides(region.shape)
  const walk = (indices: readonly (readonly number[] | null)[], axis: number, flat: number): void => {
    if (axis === region.shape.length) visit(flat)
    else if (region.shape[axis] === 1) walk(indices, axis + 1, flat)
    else
      for (const index of indices[axis] ?? range(region.shape[axis]!))
        walk(indices, axis + 1, flat + index * strides[axis]!)
  }
  const items = region.shape[0] === 1 ? region.items.slice(0, 1) : region.items
  items.forEach((item, n) => {
    walk(region.indices[n]!, 1, region.shape[0] === 1 ? 0 : item * strides[0]!)
  })
}

function range(size: number): number[] {
  return Array.from({ length: size }, (_, i) => i)
}

/** 1 inside the region. */
export function maskOf(region: Region): Dense<Uint8Array> {
  const data = new Uint8Array(sizeOf(region.shape))
  forEachSelected(region, (flat) => {
    data[flat] = 1
  })
  return { data, shape: region.shape }
}
