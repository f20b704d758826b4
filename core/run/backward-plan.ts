/**
 * How each block runs backwards: on forward values that were kept while they fit the budget, else recomputed inside its
 * backward graph. In: the hooks wanted and the edits. Out: a block, an embedding, an encoder's end at a time.
 */
import type { Graph } from '../graph/builder.ts'
import { MEMORY } from '../graph/cross-attention.ts'
import { differentiate, gradName, onSaved, savedName, withSaved } from '../graph/gradients.ts'
import { encoderOf, hookPrefix } from '../graph/model-spec.ts'
import type { EditSlot } from '../graph/splice.ts'
import type { Dense } from './dense.ts'
import type { ResolvedEdit } from './edits.ts'
import { type Engine, runSegment, segmentGraph, type Variant } from './engine.ts'
import { handOut, type Keep, onPath } from './gradient-hooks.ts'
import { editInputs, type Saving, type State } from './pass.ts'
import type { PassFeeds } from './pass-feeds.ts'
import {
  type HookInfo,
  isEncoder,
  layerOf,
  placeOf,
  type Segment,
  type Stage,
  stateInput,
} from './segments.ts'
import { asFloats, type Feed } from './session.ts'

/** One stack on its way back: the feeds of its blocks, its rows, and what its blocks read of an encoder. */
export interface Side {
  readonly stage: Stage
  readonly feeds: PassFeeds
  readonly rows: number
  readonly memory?: Dense | undefined
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
export function createBackwardPlan(
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
    // Cross-attention makes keys and values of the memory alone: what depends on it has gradients too.
    const reads = stack === engine.model && (encoderOf(spec) !== null || engine.model.readsMemory)
    const stateInputs = [...parts, ...(reads ? [MEMORY] : [])].map(stateInput)
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
