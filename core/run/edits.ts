/**
 * Edits as data → slots of a graph and the arrays fed to them. In: the contract's `Edit`, the prompts' lengths, a way
 * to get source tensors. Out: one `ResolvedEdit` each, in positions of the whole run. Everything that can be wrong is
 * refused here, before anything runs.
 */
import { HeadscopeError } from '../errors.ts'
import type { Axis } from '../graph/axes.ts'
import { matchHooks, noSuchHook } from '../graph/hook-names.ts'
import type { ModelSpec } from '../graph/model-spec.ts'
import type { EditSlot } from '../graph/splice.ts'
import { sizeOf, type Tensor } from '../graph/tensor.ts'
import { visible } from './attention-bias.ts'
import { broadcastStrides, type Dense } from './dense.ts'
import { resolveIndices } from './indices.ts'
import { type HookInfo, layerOf, overSource, placeOf } from './segments.ts'
import type { Edit, EditSource, Indices } from './types.ts'

export interface ResolvedEdit {
  readonly hook: HookInfo
  readonly kind: EditSlot['kind']
  readonly value: Dense
  readonly mask: Dense<Uint8Array> | null
}

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

/** Throws `bad-edit` or `bad-request` in one sentence. */
export async function resolveEdits(edits: readonly Edit[], context: EditContext): Promise<ResolvedEdit[]> {
  const resolved: ResolvedEdit[] = []
  const regions: { edit: Edit; hook: HookInfo; region: Region }[] = []
  for (const given of edits) {
    const hooks = findHooks(given, context)
    for (const hook of hooks) {
      const edit = { ...given, hook: hook.name }
      const region = regionOf(edit, hook, context)
      regions.push({ edit, hook, region })
      const done = await resolve(edit, hook, region, context, hooks)
      refuseNoExpert(done, edit, context)
      resolved.push(done)
    }
  }
  refuseEmptyRows(regions, context)
  return resolved
}

// --- Internal helpers ---

/** Which entries an edit touches: per item, a list of indices for each axis after the batch. */
interface Region {
  readonly items: readonly number[]
  /** [item of `items`][axis] → indices; null: all. */
  readonly indices: readonly (readonly (readonly number[] | null)[])[]
  /** Shape of a mask: full where something is selected, else 1. */
  readonly shape: readonly number[]
}

const SELECTORS = ['head', 'kv_head', 'pos', 'query', 'key'] as const

/** The hook that an edit names, or every hook that its glob matches, in the order of the computation. */
function findHooks(edit: Edit, context: EditContext): HookInfo[] {
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
function sizes(hook: HookInfo, context: EditContext): number[] {
  return hook.axes.map((axis, i) => {
    if (axis === 'batch') return context.lengths.length
    if (axis === 'pos' || axis === 'query' || axis === 'key') return totalOf(hook, i, context)
    return hook.shape[i] as number
  })
}

/** Own lengths of the items along a positional axis. */
function lengthsOf(hook: HookInfo, axis: number, context: EditContext): readonly number[] {
  return overSource(hook, axis) && context.sourceLengths ? context.sourceLengths : context.lengths
}

/** Positions of the whole run along a positional axis. */
function totalOf(hook: HookInfo, axis: number, context: EditContext): number {
  if (overSource(hook, axis) && context.sourceLengths) return Math.max(...context.sourceLengths)
  return context.total
}

function regionOf(edit: Edit, hook: HookInfo, context: EditContext): Region {
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

function maskOf(region: Region): Dense<Uint8Array> {
  const data = new Uint8Array(sizeOf(region.shape))
  forEachSelected(region, (flat) => {
    data[flat] = 1
  })
  return { data, shape: region.shape }
}

function scalar(value: number, rank: number): Dense {
  return { data: Float32Array.of(value), shape: new Array(rank).fill(1) }
}

async function resolve(
  edit: Edit,
  hook: HookInfo,
  region: Region,
  context: EditContext,
  together: readonly HookInfo[],
): Promise<ResolvedEdit> {
  const rank = hook.axes.length
  switch (edit.op) {
    case 'zero':
      return { hook, kind: 'set', value: scalar(0, rank), mask: maskOf(region) }
    case 'scale': {
      const by = finite(edit, edit.by, 'scale needs "by", a finite number')
      const mask = maskOf(region)
      const data = Float32Array.from(mask.data, (on) => (on ? by : 1))
      return { hook, kind: 'scale', value: { data, shape: mask.shape }, mask: null }
    }
    case 'set': {
      const value = edit.from
        ? await sourced(edit, edit.from, hook, region, context, together)
        : constant(edit, hook, rank)
      return { hook, kind: 'set', value, mask: maskOf(region) }
    }
    case 'add': {
      const by = edit.by === undefined ? 1 : finite(edit, edit.by, '"by" must be a finite number')
      const value = edit.from
        ? await sourced(edit, edit.from, hook, region, context, together)
        : scalar(finite(edit, edit.value, 'add needs "from" or "value"'), rank)
      return { hook, kind: 'add', value: masked(value, region, by), mask: null }
    }
    default:
      throw new HeadscopeError(
        'bad-edit',
        `"${String(edit.op)}" is not an edit; use zero, scale, set or add.`,
      )
  }
}

function finite(edit: Edit, value: unknown, rule: string): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value
  throw new HeadscopeError('bad-edit', `The edit of ${edit.hook}: ${rule}.`)
}

function constant(edit: Edit, hook: HookInfo, rank: number): Dense {
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
function masked(value: Dense, region: Region, by: number): Dense {
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
async function sourced(
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

/** Refuses numbers of experts that do not exist: an edit of the chosen ones sets whole numbers. */
function refuseNoExpert({ hook, kind, value }: ResolvedEdit, edit: Edit, context: EditContext): void {
  if (!hook.name.endsWith('hook_expert_indices')) return
  const { count } = layerOf(context.spec, hook.segment)!.experts!
  const noOp = kind === 'scale' ? 1 : 0
  const fits = (number: number) =>
    kind === 'set' ? Number.isInteger(number) && number >= 0 && number < count : number === noOp
  if (value.data.every(fits)) return
  throw new HeadscopeError(
    'bad-edit',
    `The edit of ${edit.hook} would choose an expert that does not exist; set whole numbers from 0 to ${count - 1}.`,
  )
}

/** Refuses knockouts that leave a query of some head without any key: its row would be 0 / 0. */
function refuseEmptyRows(
  all: readonly { edit: Edit; hook: HookInfo; region: Region }[],
  context: EditContext,
): void {
  const knockouts = all.filter(({ edit }) => edit.op === 'set' && edit.value === '-inf')
  for (const name of new Set(knockouts.map(({ hook }) => hook.name))) {
    const same = knockouts.filter(({ hook }) => hook.name === name)
    const hook = same[0]!.hook
    const layer = layerOf(context.spec, hook.segment)!
    const { causal } = placeOf(context.spec, hook.segment).stack
    const cross = hook.cut.includes('source')
    const keyLengths = lengthsOf(hook, hook.axes.indexOf('key'), context)
    lengthsOf(hook, hook.axes.indexOf('query'), context).forEach((length, item) => {
      const keys = keyLengths[item]!
      const masks = same
        .filter(({ region }) => region.items.includes(item))
        .map(({ region }) => maskOf(region))
      if (masks.length === 0) return
      for (let head = 0; head < layer.nHeads; head++)
        for (let query = 0; query < length; query++) {
          let open = false
          for (let key = 0; key < keys && !open; key++)
            open =
              (cross || visible({ causal, window: layer.window }, query, key, length)) &&
              !masks.some((mask) => at(mask, [item, head, query, key]))
          if (!open)
            throw new HeadscopeError(
              'bad-edit',
              `The edits of ${name} leave query ${query} of head ${head} without any key, so its weights would not exist; leave at least one key.`,
            )
        }
    })
  }
}

function at(mask: Dense<Uint8Array>, index: readonly number[]): boolean {
  const strides = broadcastStrides(mask.shape)
  return mask.data[index.reduce((flat, i, axis) => flat + i * strides[axis]!, 0)] === 1
}
