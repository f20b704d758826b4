/**
 * ∂metric/∂(any hook): one forward pass, then a backward graph per block from the last to the first. Intermediates of
 * the forward pass are kept while they fit the budget (1 GB by default); blocks that did not fit are recomputed inside
 * their backward graph. Cost: about two forwards, three where recomputed.
 */
import { differentiate, gradName, onSaved, savedName, withSaved } from '../graph/gradients.ts'
import { matchHooks, UNEMBED_OUT } from '../graph/hook-names.ts'
import { decoderOf } from '../graph/model-spec.ts'
import { sizeOf, type Tensor } from '../graph/tensor.ts'
import { type Dense, slice, type Window } from './dense.ts'
import type { ResolvedEdit } from './edits.ts'
import { type Engine, runSegment, segmentGraph, type Variant } from './engine.ts'
import { type MetricRows, metricGradient, metricValue, type ResolvedMetric } from './metrics.ts'
import { clearPadding } from './padding.ts'
import { editInputs, runPass, type Saving, type State, throwIfCancelled } from './pass.ts'
import { createPassFeeds } from './pass-feeds.ts'
import { checkPrompts, rightPad } from './prompts.ts'
import { type HookInfo, type Segment, stateInput } from './segments.ts'
import { asFloats, type Feed, type FetchedTensor } from './session.ts'

export interface GradientRequest {
  readonly metric: ResolvedMetric
  /** Hook names or globs whose gradients are wanted. */
  readonly hooks: readonly string[]
  /** Hooks whose values are wanted beside them. */
  readonly capture?: readonly string[]
  readonly edits?: readonly ResolvedEdit[]
  readonly tokenTypes?: readonly (readonly number[])[]
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
  checkPrompts(prompts, engine.model.spec)
  const edits = request.edits ?? []
  const names = engine.hooks.map((hook) => hook.name)
  const wanted = new Set(
    matchHooks(request.hooks, names).map((name) => (name === 'logits' ? UNEMBED_OUT : name)),
  )
  const ids = rightPad(prompts)
  const rows = ids[0]!.length
  const lengths = prompts.map((row) => row.length)
  const plan = createPlan(engine, wanted, edits, request.saveBudget ?? 1e9)
  const captures = new Map<string, Tensor>()
  const common = { ids, lengths, start: 0, total: rows, tokenTypes: request.tokenTypes }
  const { state, borders } = await runPass(engine, {
    ...common,
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
    clearPadding(dense.data, dense.shape, hook.axes, lengths)
    const tensor = { ...dense, axes: hook.axes }
    if (request.onGradient) await request.onGradient(hook.name, tensor)
    else grads.set(hook.name, tensor)
  }
  const end = await unembedBackward(engine, state, request, edits, wanted, keep)
  const feeds = createPassFeeds(engine, common)
  const window = { start: 0, rows, keys: rows }
  let upstream: Map<string, Dense> = end.upstream
  for (let layer = decoderOf(engine.model.spec).layers.length - 1; layer >= 0; layer--) {
    throwIfCancelled(request.signal)
    if (layer === request.drop) await plan.skip(layer, upstream, keep)
    else upstream = await plan.block(layer, borders[layer] as State, upstream, feeds, window, keep)
  }
  await plan.embedding(feeds, upstream, window, keep)
  return { value: end.value, grads, captures }
}

// --- Internal helpers ---

type Keep = (hook: HookInfo, dense: Dense) => Promise<void>

/** Hooks beside the path: an edit or a gradient puts them onto it. */
const BESIDE = /(hook_scale|hook_normalized|hook_result)$/

function onPath(wanted: ReadonlySet<string>, prefix: string): string[] {
  return [...wanted].filter((name) => name.startsWith(prefix) && BESIDE.test(name)).sort()
}

/** Which blocks keep what, and how each runs backwards. */
function createPlan(
  engine: Engine,
  wanted: ReadonlySet<string>,
  edits: readonly ResolvedEdit[],
  budget: number,
) {
  const layers = decoderOf(engine.model.spec).layers
  const parts = Object.keys(engine.model.state)
  const stateInputs = parts.map(stateInput)
  const kept = new Map<number, Map<string, Feed>>()
  let left = budget

  /** The backward graph of a block and the forward values that it reads. */
  const planOf = (index: number) => {
    const path = onPath(wanted, `blocks.${index}.`)
    const { slots } = editInputs(edits, index, { start: 0, rows: 0, keys: 0 })
    const forward = segmentGraph(engine, index, slots, path)
    const both = differentiate(forward, layers[index]!, parts, stateInputs)
    const hooks = engine.hooks.filter((hook) => hook.segment === index && wanted.has(hook.name))
    const outputs = [
      ...stateInputs.filter((input) => both.graph.results.has(gradName(input))),
      ...hooks.filter((hook) => both.reached.has(hook.name)).map((hook) => hook.name),
    ].map(gradName)
    const half = onSaved(forward, both.graph, outputs)
    return { path, slots, hooks, outputs, both: both.graph, half: half.graph, saved: half.saved }
  }

  const saving: Saving = {
    variant(index) {
      if (left <= 0) return null
      const { path, saved } = planOf(index)
      return {
        key: `saving ${saved.length}`,
        onPath: path,
        outputs: saved.map(savedName),
        transform: (graph) => withSaved(graph, saved),
      }
    },
    take(index, outputs) {
      const feeds = [...outputs].filter(([name]) => name.startsWith('save.'))
      const bytes = feeds.reduce((sum, [, tensor]) => sum + tensor.data.byteLength, 0)
      left -= bytes
      if (left >= 0) kept.set(index, new Map(feeds))
    },
  }

  return {
    saving,
    async block(
      index: number,
      border: State,
      upstream: ReadonlyMap<string, Dense>,
      passFeeds: ReturnType<typeof createPassFeeds>,
      window: Window,
      keep: Keep,
    ): Promise<Map<string, Dense>> {
      const plan = planOf(index)
      const values = kept.get(index)
      kept.delete(index)
      const layer = layers[index]!
      const batch = [...border.values()][0]!.shape[0]!
      const none = { data: new Float32Array(0), shape: [batch, layer.nKvHeads, 0, layer.dHead] }
      const feeds = new Map<string, Feed>([
        ...passFeeds.block(layer, window),
        ...editInputs(edits, index, window).inputs,
        ...[...border].map(([part, value]) => [stateInput(part), value] as const),
        ...[...upstream].map(([part, value]) => [gradName(part), value] as const),
        ...(values ?? []),
        ['past_k', none],
        ['past_v', none],
      ])
      const variant: Variant = values
        ? { key: 'backward', onPath: plan.path, transform: () => plan.half }
        : { key: 'backward, recomputed', onPath: plan.path, transform: () => plan.both }
      const outputs = await runSegment(engine, index, plan.outputs, plan.slots, feeds, variant)
      await handOut(plan.hooks, outputs, keep, border)
      return new Map(
        parts.flatMap((part) => {
          const grad = outputs.get(gradName(stateInput(part)))
          return grad ? [[part, asFloats(grad)] as const] : []
        }),
      )
    },

    /** The block's hooks get 0, and what comes from above goes on below. */
    async skip(index: number, upstream: ReadonlyMap<string, Dense>, keep: Keep): Promise<void> {
      kept.delete(index)
      const hooks = engine.hooks.filter((hook) => hook.segment === index && wanted.has(hook.name))
      await handOut(hooks, new Map(), keep, upstream)
    },

    async embedding(
      passFeeds: ReturnType<typeof createPassFeeds>,
      upstream: ReadonlyMap<string, Dense>,
      window: Window,
      keep: Keep,
    ): Promise<void> {
      const hooks = engine.hooks.filter((hook) => hook.segment === 'embed' && wanted.has(hook.name))
      if (hooks.length === 0) return
      const path = onPath(wanted, '')
      const { slots, inputs } = editInputs(edits, 'embed', window)
      const forward = segmentGraph(engine, 'embed', slots, path)
      const sources = forward.hooks.map((hook) => hook.input)
      const both = differentiate(forward, null, parts, sources)
      const outputs = hooks.filter((hook) => both.reached.has(hook.name)).map((hook) => gradName(hook.name))
      const feeds = new Map<string, Feed>([
        ...passFeeds.tokens(),
        ...inputs,
        ...[...upstream].map(([part, value]) => [gradName(part), value] as const),
      ])
      const variant: Variant = { key: 'backward', onPath: path, transform: () => both.graph }
      await handOut(hooks, await runSegment(engine, 'embed', outputs, slots, feeds, variant), keep, upstream)
    },
  }
}

/** Gradients of hooks as they came; 0 where the metric does not depend on a hook. */
async function handOut(
  hooks: readonly HookInfo[],
  outputs: ReadonlyMap<string, FetchedTensor>,
  keep: Keep,
  rows: ReadonlyMap<string, Dense>,
): Promise<void> {
  const [batch, pos] = [...rows.values()][0]!.shape as [number, number]
  for (const hook of hooks) {
    const grad = outputs.get(gradName(hook.name))
    await keep(hook, grad ? asFloats(grad) : zeros(hook, batch, pos))
  }
}

function zeros(hook: HookInfo, batch: number, pos: number): Dense {
  const shape = hook.shape.map((size) => {
    if (typeof size === 'number') return size
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
