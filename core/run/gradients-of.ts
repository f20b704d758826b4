/**
 * ∂metric/∂(hooks) of prompts as a person asks for it: a metric and edits as data. In: an opened model. Out: the
 * metric's value and gradients by hook. Costs what backward costs; kl also the unedited run.
 */
import type { Tensor } from '../graph/tensor.ts'
import { backward } from './backward.ts'
import { slice } from './dense.ts'
import { createSources } from './edit-sources.ts'
import { resolveEdits } from './edits.ts'
import { type Metric, resolveMetric } from './metrics.ts'
import type { Model } from './model.ts'
import { batchOf, checkTokenTypes, rightPad, sourceLengthsOf } from './prompts.ts'
import type { RunOptions } from './types.ts'

export interface GradientOptions
  extends Pick<RunOptions, 'edits' | 'decoderIds' | 'tokenTypes' | 'openRun' | 'signal'> {
  readonly metric: Metric
  /** Hook names or globs. */
  readonly hooks: readonly string[]
}

export interface MetricGradients {
  readonly metric: { readonly kind: Metric['kind']; readonly value: number }
  readonly grads: ReadonlyMap<string, Tensor>
}

/** Throws what a run throws, and `bad-edit` for a metric that does not fit the prompts. */
export async function gradients(
  model: Model,
  prompts: readonly (readonly number[])[],
  { metric, hooks, ...options }: GradientOptions,
): Promise<MetricGradients> {
  const engine = model.engine()
  const batch = batchOf(model.spec, prompts, options.decoderIds)
  checkTokenTypes(options.tokenTypes, prompts, model.spec)
  const resolved = resolveMetric(metric, batch.main, model.spec.dVocab, model.tokenizer)
  const lengths = batch.main.map((ids) => ids.length)
  const edits = await resolveEdits(options.edits ?? [], {
    spec: model.spec,
    hooks: engine.hooks,
    lengths,
    sourceLengths: sourceLengthsOf(engine, batch),
    total: Math.max(...lengths),
    source: createSources(engine, batch, options),
  })
  const base = resolved.kind === 'kl' ? await unedited(model, prompts, resolved, options) : null
  const { value, grads } = await backward(engine, prompts, {
    metric: resolved,
    hooks,
    edits,
    base,
    ...(options.decoderIds ? { decoderIds: options.decoderIds } : {}),
    ...(options.tokenTypes ? { tokenTypes: rightPad(options.tokenTypes) } : {}),
    ...(options.signal ? { signal: options.signal } : {}),
  })
  return { metric: { kind: metric.kind, value }, grads }
}

// --- Internal helpers ---

/** Logits of the metric's rows without edits. */
async function unedited(
  model: Model,
  prompts: readonly (readonly number[])[],
  { item, positions }: ReturnType<typeof resolveMetric>,
  { decoderIds, tokenTypes, signal }: Omit<GradientOptions, 'metric' | 'hooks'>,
): Promise<Float32Array> {
  const run = await model.run(prompts, {
    capture: ['logits'],
    top: 0,
    ...(decoderIds ? { decoderIds } : {}),
    ...(tokenTypes ? { tokenTypes } : {}),
    ...(signal ? { signal } : {}),
  })
  const own = slice(run.get('logits'), 0, item, item + 1)
  return slice(own, 1, positions[0]!, positions.at(-1)! + 1).data
}
