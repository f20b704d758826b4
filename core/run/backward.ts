/**
 * ∂metric/∂(any hook): one forward pass, then a backward graph per block from the last to the first. Intermediates of
 * the forward pass are kept while they fit the budget (1 GB by default); blocks that did not fit are recomputed inside
 * their backward graph. Cost: about two forwards, three where recomputed.
 */

import type { Graph } from '../graph/builder.ts'
import { MEMORY } from '../graph/cross-attention.ts'
import { differentiate, gradName, onSaved, savedName, withSaved } from '../graph/gradients.ts'
import { matchHooks, UNEMBED_OUT } from '../graph/hook-names.ts'
import { encoderOf, hookPrefix } from '../graph/model-spec.ts'
import type { EditSlot } from '../graph/splice.ts'
import { sizeOf, type Tensor } from '../graph/tensor.ts'
import { type Dense, slice } from './dense.ts'
import type { ResolvedEdit } from './edits.ts'
import { type Engine, runSegment, segmentGraph, type Variant } from './engine.ts'
import { type MetricRows, metricGradient, metricValue, type ResolvedMetric } from './metrics.ts'
import { cleared, lengthsBySequence } from './padding.ts'
import { editInputs, runPass, type Saving, type State, throwIfCancelled } from './pass.ts'
import { createPassFeeds } from './pass-feeds.ts'
import { batchOf, checkBatch, rightPad, sourceLengthsOf, sourceOf } from './prompts.ts'
import {
  encoderStage,
  type HookInfo,
  isEncoder,
  lastStage,
  layerOf,
  placeOf,
  type Segment,
  type Stage,
  stateInput,
} from './segments.ts'
import { asFloats, type Feed, type FetchedTensor } from './session.ts'

export interface GradientRequest {
  readonly metric: ResolvedMetric
  /** Hook names or globs whose gradients are wanted. */
  readonly hooks: readonly string[]
  /** Hooks whose values are wanted beside them. */
  readonly capture?: readonly string[]
  readonly edits?: readonly ResolvedEdit[]
  readonly tokenTypes?: readonly (readonly number[])[]
  /** The decoder's own texts, where the prompts are its encoder's. */
  readonly decoderIds?: readonly (readonly number[])[] | undefined
  /** Bytes of intermediates that may be kept; 0 recomputes everything. */
  readonly saveBudget?: number
  /** Logits of the unedited run at the metric's rows, for kl. */
  readonly base?: MetricRows | null
  /** A layer whose block passes no gradient but its residual's (GradDrop); its hooks get 0. */
  readonly drop?: number
  readonly signal?: AbortSignal
  readonly onGradient?: (hook: string, tensor: Tensor) => void | Promise<void>
}

export interface Gradients {
  readonly value: number
  /** By hook name; hooks that the metric does not depend on are 0. */
  readonly grads: ReadonlyMap<string, Tensor>
  readonly captures: ReadonlyMap<string, Tensor>
}

/** Gradients of a metric of one batch. Throws what a run throws. */
export async function backward(
  engine: Engine,
  prompts: readonly (readonly number[])[],
  request: GradientRequest,
): Promise<Gradients> {
  const { spec } = engine.model
  const batch = batchOf(spec, prompts, request.decoderIds)
  checkBatch(batch, spec)
  const edits = request.edits ?? []
  const names = engine.hooks.map((hook) => hook.name)
  const wanted = new Set(
    matchHooks(request.hooks, names).map((name) => (name === 'logits' ? UNEMBED_OUT : name)),
  )
  const ids = rightPad(batch.main)
  const rows = ids[0]!.length
  const lengths = batch.main.map((row) => row.length)
  const lengthsOf = lengthsBySequence(lengths, sourceLengthsOf(engine, batch))
  const plan = createPlan(engine, wanted, edits, request.saveBudget ?? 1e9)
  const captures = new Map<string, Tensor>()
  const common = { ids, lengths, start: 0, total: rows, tokenTypes: request.tokenTypes }
  const { state, borders, source, encoderBorders } = await runPass(engine, {
    ...common,
    ...sourceOf(batch),
    wanted: new Set(matchHooks(request.capture ?? [], names)),
    edits,
    keepBorders: true,
    saving: plan.saving,
    signal: request.signal,
    onTensor: (hook, tensor) => {
      captures.set(hook.name, tensor)
    },
  })

  const grads = new Map<string, Tensor>()
  const keep = async (hook: HookInfo, dense: Dense) => {
    const tensor = cleared({ ...dense, axes: hook.axes }, hook, lengthsOf)
    if (request.onGradient) await request.onGradient(hook.name, tensor)
    else grads.set(hook.name, tensor)
  }
  const end = await unembedBackward(engine, state, request, edits, wanted, keep)
  const stage = lastStage(engine.model)
  const main = { stage, feeds: createPassFeeds(engine, { ...common, source }), rows, memory: source?.memory }
  let upstream: Map<string, Dense> = end.upstream
  let toMemory: Dense | null = null // ∂metric/∂memory, summed over the decoder's blocks
  for (let layer = stage.stack.layers.length - 1; layer >= 0; layer--) {
    throwIfCancelled(request.signal)
    if (layer === request.drop) {
      await plan.skip(main, layer, upstream, keep)
      continue
    }
    upstream = await plan.block(main, layer, borders[layer] as State, upstream, keep)
    toMemory = sum(toMemory, upstream.get(MEMORY))
    upstream.delete(MEMORY)
  }
  await plan.embedding(main, upstream, keep)

  const encoder = encoderStage(engine.model)
  if (encoder && source) {
    const read = { ...source, start: 0, total: source.ids[0]!.length }
    const side = { stage: encoder, feeds: createPassFeeds(engine, read, encoder), rows: read.total }
    const { memory } = source
    const given = toMemory ?? { data: new Float32Array(memory.data.length), shape: memory.shape }
    upstream = await plan.memory(encoderBorders!.at(-1)!, given, keep)
    for (let layer = encoder.stack.layers.length - 1; layer >= 0; layer--) {
      throwIfCancelled(request.signal)
      upstream = await plan.block(side, layer, encoderBorders![layer]!, upstream, keep)
    }
    await plan.embedding(side, upstream, keep)
  }
  return { value: end.value, grads, captures }
}

// --- Internal helpers ---

type Keep = (hook: HookInfo, dense: Dense) => Promise<void>

/** Hooks beside the path: an edit or a gradient puts them onto it. */
const BESIDE = /(hook_scale|hook_normalized|hook_result)$/

function onPath(wanted: ReadonlySet<string>, prefix: string): string[] {
  return [...wanted].filter((name) => name.startsWith(prefix) && BESIDE.test(name)).sort()
}

/** One stack on its way back: the feeds of its blocks, its rows, and what its blocks read of an encoder. */
interface Side {
  readonly stage: Stage
  readonly feeds: ReturnType<typeof createPassFeeds>
  readonly rows: number
  readonly memory?: Dense | undefined
}

function sum(a: Dense | null, b: Dense | undefined): Dense | null {
  if (!a || !b) return a ?? b ?? null
  return { data: a.data.map((value, i) => value + b.data[i]!), shape: a.shape }
}

/** How a block runs backwards: making it costs a few milliseconds, so it is made once per kind of request. */
interface BlockPlan {
  readonly path: readonly string[]
  readonly slots: readonly EditSlot[]
  readonly hooks: readonly HookInfo[]
  readonly outputs: readonly string[]
  /** Forward and backward; the backward half; what it reads of the forward one. */
  readonly both: Graph
  readonly half: Graph
  readonly saved: readonly string[]
  readonly stateInputs: readonly string[]
}
const PLANS = new WeakMap<Engine, Map<string, BlockPlan>>()
/** A model of a hundred blocks under a few kinds of requests. */
const MOST_PLANS = 1000

/** Which blocks keep what, and how each runs backwards. */
function createPlan(
  engine: Engine,
  wanted: ReadonlySet<string>,
  edits: readonly ResolvedEdit[],
  budget: number,
) {
  const { spec } = engine.model
  const kept = new Map<Segment, Map<string, Feed>>()
  let left = budget

  /** The backward graph of a block and the forward values that it reads; kept with the engine. */
  const planOf = (segment: Segment): BlockPlan => {
    const { slots } = editInputs(edits, segment, { start: 0, rows: 0, keys: 0 })
    const hooks = engine.hooks.filter((hook) => hook.segment === segment && wanted.has(hook.name))
    const named = slots.map((slot) => `${slot.kind}:${slot.hook}`).join()
    const key = `${segment}|${named}|${hooks.map((hook) => hook.name).join()}`
    const plans = PLANS.get(engine) ?? new Map<string, BlockPlan>()
    PLANS.set(engine, plans)
    const known = plans.get(key) ?? makePlan(segment, slots, hooks)
    if (plans.size >= MOST_PLANS) plans.clear()
    plans.set(key, known)
    return known
  }

  const makePlan = (segment: Segment, slots: EditSlot[], hooks: HookInfo[]) => {
    const { layer } = placeOf(spec, segment)
    const prefix = isEncoder(segment) ? 'encoder.' : hookPrefix(spec)
    const path = onPath(wanted, `${prefix}blocks.${layer}.`)
    const forward = segmentGraph(engine, segment, slots, path)
    const stack = isEncoder(segment) ? engine.model.encoder! : engine.model
    const parts = Object.keys(stack.state)
    const stateInputs = [...parts, ...(stack === engine.model && encoderOf(spec) ? [MEMORY] : [])].map(
      stateInput,
    )
    const both = differentiate(forward, layerOf(spec, segment), parts, stateInputs)
    const outputs = [
      ...stateInputs.filter((input) => both.graph.results.has(gradName(input))),
      ...hooks.filter((hook) => both.reached.has(hook.name)).map((hook) => hook.name),
    ].map(gradName)
    const half = onSaved(forward, both.graph, outputs)
    const { graph } = both
    return { path, slots, hooks, outputs, both: graph, half: half.graph, saved: half.saved, stateInputs }
  }

  const saving: Saving = {
    variant(segment) {
      if (left <= 0) return null
      const { path, saved } = planOf(segment)
      return {
        key: `saving ${saved.length}`,
        onPath: path,
        outputs: saved.map(savedName),
        transform: (graph) => withSaved(graph, saved),
      }
    },
    take(segment, outputs) {
      const feeds = [...outputs].filter(([name]) => name.startsWith('save.'))
      const bytes = feeds.reduce((sum, [, tensor]) => sum + tensor.data.byteLength, 0)
      left -= bytes
      if (left >= 0) kept.set(segment, new Map(feeds))
    },
  }

  return {
    saving,
    async block(
      side: Side,
      index: number,
      border: State,
      upstream: ReadonlyMap<string, Dense>,
      keep: Keep,
    ): Promise<Map<string, Dense>> {
      const segment = side.stage.block(index)
      const window = { start: 0, rows: side.rows, keys: side.rows }
      const plan = planOf(segment)
      const values = kept.get(segment)
      kept.delete(segment)
      const layer = side.stage.stack.layers[index]!
      const batch = [...border.values()][0]!.shape[0]!
      const none = { data: new Float32Array(0), shape: [batch, layer.nKvHeads, 0, layer.dHead] }
      const feeds = new Map<string, Feed>([
        ...side.feeds.block(layer, window),
        ...editInputs(edits, segment, window).inputs,
        ...(side.memory ? [[stateInput(MEMORY), side.memory] as const] : []),
        ...[...border].map(([part, value]) => [stateInput(part), value] as const),
        ...[...upstream].map(([part, value]) => [gradName(part), value] as const),
        ...(values ?? []),
        ['past_k', none],
        ['past_v', none],
      ])
      const variant: Variant = values
        ? { key: 'backward', onPath: plan.path, transform: () => plan.half }
        : { key: 'backward, recomputed', onPath: plan.path, transform: () => plan.both }
      const outputs = await runSegment(engine, segment, plan.outputs, plan.slots, feeds, variant)
      await handOut(plan.hooks, outputs, keep, border, side.memory)
      return new Map(
        plan.stateInputs.flatMap((input) => {
          const grad = outputs.get(gradName(input))
          return grad ? [[input.slice(stateInput('').length), asFloats(grad)] as const] : []
        }),
      )
    },

    /** From what the encoder hands over to its last residual. */
    async memory(last: State, given: Dense, keep: Keep): Promise<Map<string, Dense>> {
      const segment: Segment = 'encoder.memory'
      const hooks = engine.hooks.filter((hook) => hook.segment === segment && wanted.has(hook.name))
      const path = onPath(wanted, 'encoder.ln_final.')
      const resid = last.get('resid')!
      const rows = resid.shape[1]!
      const { slots, inputs } = editInputs(edits, segment, { start: 0, rows, keys: rows })
      const forward = segmentGraph(engine, segment, slots, path)
      const both = differentiate(forward, null, [MEMORY], [stateInput('resid')])
      const outputs = [
        ...(both.graph.results.has(gradName(stateInput('resid'))) ? [stateInput('resid')] : []),
        ...hooks.filter((hook) => both.reached.has(hook.name)).map((hook) => hook.name),
      ].map(gradName)
      const feeds = new Map<string, Feed>([
        ...inputs,
        [stateInput('resid'), resid],
        [gradName(MEMORY), given],
      ])
      const variant: Variant = { key: 'backward', onPath: path, transform: () => both.graph }
      const result = await runSegment(engine, segment, outputs, slots, feeds, variant)
      await handOut(hooks, result, keep, last)
      const grad = result.get(gradName(stateInput('resid')))
      const zero = { data: new Float32Array(resid.data.length), shape: resid.shape }
      return new Map([['resid', grad ? asFloats(grad) : zero]])
    },

    /** The block's hooks get 0, and what comes from above goes on below. */
    async skip(side: Side, index: number, upstream: ReadonlyMap<string, Dense>, keep: Keep): Promise<void> {
      const segment = side.stage.block(index)
      kept.delete(segment)
      const hooks = engine.hooks.filter((hook) => hook.segment === segment && wanted.has(hook.name))
      await handOut(hooks, new Map(), keep, upstream, side.memory)
    },

    async embedding(side: Side, upstream: ReadonlyMap<string, Dense>, keep: Keep): Promise<void> {
      const segment = side.stage.embed
      const hooks = engine.hooks.filter((hook) => hook.segment === segment && wanted.has(hook.name))
      if (hooks.length === 0) return
      const path = onPath(wanted, '')
      const parts = Object.keys(side.stage.model.state)
      const window = { start: 0, rows: side.rows, keys: side.rows }
      const { slots, inputs } = editInputs(edits, segment, window)
      const forward = segmentGraph(engine, segment, slots, path)
      const sources = forward.hooks.map((hook) => hook.input)
      const both = differentiate(forward, null, parts, sources)
      const outputs = hooks.filter((hook) => both.reached.has(hook.name)).map((hook) => gradName(hook.name))
      const feeds = new Map<string, Feed>([
        ...side.feeds.tokens(),
        ...inputs,
        ...[...upstream].map(([part, value]) => [gradName(part), value] as const),
      ])
      const variant: Variant = { key: 'backward', onPath: path, transform: () => both.graph }
      await handOut(hooks, await runSegment(engine, segment, outputs, slots, feeds, variant), keep, upstream)
    },
  }
}

/** Gradients of hooks as they came; 0 where the metric does not depend on a hook. */
async function handOut(
  hooks: readonly HookInfo[],
  outputs: ReadonlyMap<string, FetchedTensor>,
  keep: Keep,
  rows: ReadonlyMap<string, Dense>,
  memory?: Dense,
): Promise<void> {
  const [batch, pos] = [...rows.values()][0]!.shape as [number, number]
  for (const hook of hooks) {
    const grad = outputs.get(gradName(hook.name))
    await keep(hook, grad ? asFloats(grad) : zeros(hook, batch, pos, memory?.shape[1]))
  }
}

function zeros(hook: HookInfo, batch: number, pos: number, source = pos): Dense {
  const shape = hook.shape.map((size) => {
    if (typeof size === 'number') return size
    if (size === 'source') return source
    return size === 'batch' ? batch : pos
  })
  return { data: new Float32Array(sizeOf(shape)), shape }
}

/**
 * Value and gradient of the metric through the end of the model. Only the rows that the metric looks at are
 * unembedded; the gradient of the others is 0.
 */
async function unembedBackward(
  engine: Engine,
  state: State,
  request: GradientRequest,
  edits: readonly ResolvedEdit[],
  wanted: ReadonlySet<string>,
  keep: Keep,
): Promise<{ value: number; upstream: Map<string, Dense> }> {
  const { metric } = request
  const resid = state.get('resid')!
  const [batch, rows] = resid.shape as [number, number, number]
  const segment: Segment = 'unembed'
  const first = metric.positions[0]!
  const count = metric.positions.at(-1)! + 1 - first
  const own = slice(slice(resid, 0, metric.item, metric.item + 1), 1, first, first + count) // [1, count, d_model]
  const window = { start: first, rows: count, keys: first + count }
  const { slots, inputs } = editInputs(itemOf(edits, metric.item), segment, window)
  const forwardFeeds = new Map<string, Feed>([...inputs, [stateInput('resid'), own]])
  const path = onPath(wanted, '').filter((name) => !name.startsWith('blocks.'))
  const plain: Variant = { key: 'plain', onPath: path, transform: (graph) => graph }
  const logits = asFloats(
    (await runSegment(engine, segment, ['logits'], slots, forwardFeeds, plain)).get('logits')!,
  ).data
  const base = request.base ?? null
  const value = metricValue(metric, logits, base)
  const gradient = metricGradient(metric, logits, base)

  const forward = segmentGraph(engine, segment, slots, path)
  const both = differentiate(forward, null, ['logits'], [stateInput('resid')])
  const hooks = engine.hooks.filter((hook) => hook.segment === segment && wanted.has(hook.name))
  const outputs = [
    stateInput('resid'),
    ...hooks.filter((h) => both.reached.has(h.name)).map((h) => h.name),
  ].map(gradName)
  const seeds: Dense = { data: gradient, shape: [1, count, gradient.length / count] }
  const feeds = new Map<string, Feed>([...forwardFeeds, [gradName('logits'), seeds]])
  const variant: Variant = { key: 'backward', onPath: path, transform: () => both.graph }
  const result = await runSegment(engine, segment, outputs, slots, feeds, variant)

  const place = (part: Dense): Dense => {
    const size = part.shape[2]!
    const data = new Float32Array(batch * rows * size)
    data.set(part.data, (metric.item * rows + first) * size)
    return { data, shape: [batch, rows, size] }
  }
  for (const hook of hooks) {
    const grad = result.get(gradName(hook.name))
    await keep(hook, grad ? place(asFloats(grad)) : zeros(hook, batch, rows))
  }
  const upstream = new Map([['resid', place(asFloats(result.get(gradName(stateInput('resid')))!))]])
  for (const [part, dense] of state)
    if (part !== 'resid')
      upstream.set(part, { data: new Float32Array(dense.data.length), shape: dense.shape })
  return { value, upstream }
}

/** Edits as one item of the batch sees them. */
function itemOf(edits: readonly ResolvedEdit[], item: number): ResolvedEdit[] {
  const only = <D extends Float32Array | Uint8Array>(dense: Dense<D>): Dense<D> =>
    dense.shape[0] === 1 ? dense : slice(dense, 0, item, item + 1)
  return edits.map((edit) => ({ ...edit, value: only(edit.value), mask: edit.mask ? only(edit.mask) : null }))
}
