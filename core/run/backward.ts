/**
 * ∂metric/∂(any hook): one forward pass, then a backward graph per block from the last to the first. Intermediates of
 * the forward pass are kept while they fit the budget (1 GB by default); blocks that did not fit are recomputed inside
 * their backward graph. Cost: about two forwards, three where recomputed.
 */

import { MEMORY } from '../graph/cross-attention.ts'
import { matchHooks, UNEMBED_OUT } from '../graph/hook-names.ts'
import type { Tensor } from '../graph/tensor.ts'
import { createBackwardPlan } from './backward-plan.ts'
import type { Dense } from './dense.ts'
import type { ResolvedEdit } from './edits.ts'
import type { Engine } from './engine.ts'
import type { MetricRows, ResolvedMetric } from './metrics.ts'
import { cleared, lengthsBySequence } from './padding.ts'
import { runPass, type State, throwIfCancelled } from './pass.ts'
import { createPassFeeds } from './pass-feeds.ts'
import { batchOf, checkBatch, rightPad, sourceLengthsOf, sourceOf } from './prompts.ts'
import { encoderStage, type HookInfo, lastStage } from './segments.ts'
import { unembedBackward } from './unembed-backward.ts'

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
  const plan = createBackwardPlan(engine, wanted, edits, request.saveBudget ?? 1e9)
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

function sum(a: Dense | null, b: Dense | undefined): Dense | null {
  if (!a || !b) return a ?? b ?? null
  return { data: a.data.map((value, i) => value + b.data[i]!), shape: a.shape }
}
