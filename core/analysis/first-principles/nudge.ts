/**
 * A score raised by ε: the linear prediction Δo = ε α_j (v_j - o) and ΔL = ε β_j beside the exact run. Cost: two
 * forwards and one backward.
 */

import { HeadscopeError } from '../../errors.ts'
import { blockHook } from '../../graph/hook-names.ts'
import { backward } from '../../run/backward.ts'
import { resolveEdits } from '../../run/edits.ts'
import { type Metric, resolveMetric } from '../../run/metrics.ts'
import type { Model } from '../../run/model.ts'
import type { Edit } from '../../run/types.ts'
import { blockGradients, headGradients } from './gradients.ts'
import { type HeadPlace, headRun, rowOf } from './head-run.ts'

export interface Nudge {
  readonly epsilon: number
  readonly alpha: number
  readonly beta: number
  /** Δo of the receiving position: predicted and exact [d_head]. */
  readonly predicted: readonly number[]
  readonly exact: readonly number[]
  /** |exact - predicted| / |exact|; null where nothing moves. */
  readonly error: number | null
  readonly metric: { readonly before: number; readonly predicted: number; readonly after: number }
}

/** Raises the score of one (query, key) of one head. Throws `bad-request` for a pair that is hidden. */
export async function nudge(
  model: Model,
  ids: readonly number[],
  place: HeadPlace,
  at: { readonly query: number; readonly key: number },
  epsilon: number,
  metric: Metric,
): Promise<Nudge> {
  const run = await headRun(model, ids, place)
  const n = at.query * run.scores.width + at.key
  const inside = [
    [at.query, ids.length],
    [at.key, run.keyIds.length],
  ].every(([i, length]) => Number.isInteger(i) && i! >= 0 && i! < length!)
  if (!inside || run.scores.data[n] === Number.NEGATIVE_INFINITY)
    throw new HeadscopeError(
      'bad-request',
      `Query ${at.query} does not see key ${at.key} in layer ${place.layer}, so that score cannot be nudged; choose a visible pair.`,
    )
  const edits: Edit[] = [
    {
      hook: blockHook(place.layer, `${run.names.kind}.hook_attn_scores`),
      head: place.head,
      query: at.query,
      key: at.key,
      op: 'add',
      value: epsilon,
    },
  ]
  const moved = await headRun(model, ids, place, { edits })
  const alpha = run.pattern.data[n]!
  const [o, after, v] = [rowOf(run.z, at.query), rowOf(moved.z, at.query), rowOf(run.v, at.key)]
  const predicted = Array.from(o, (value, d) => epsilon * alpha * (v[d]! - value))
  const exact = Array.from(o, (value, d) => after[d]! - value)
  const size = Math.hypot(...exact)
  const block = await blockGradients(model, ids, place.layer, metric, place.cross)
  const beta = (await headGradients(model, block, place.head)).routing.data[n]!
  return {
    epsilon,
    alpha,
    beta,
    predicted,
    exact,
    error: size > 0 ? Math.hypot(...exact.map((value, d) => value - predicted[d]!)) / size : null,
    metric: {
      before: block.value,
      predicted: block.value + epsilon * beta,
      after: await metricWith(model, ids, metric, edits),
    },
  }
}

// --- Internal helpers ---

async function metricWith(
  model: Model,
  ids: readonly number[],
  metric: Metric,
  edits: readonly Edit[],
): Promise<number> {
  const resolved = await resolveEdits(edits, {
    spec: model.spec,
    hooks: model.hooks,
    lengths: [ids.length],
    sourceLengths: model.engine().reads?.lengths,
    total: ids.length,
    source: () => {
      throw new HeadscopeError('internal', 'A nudge has no source.')
    },
  })
  const request = {
    metric: resolveMetric(metric, [ids], model.spec.dVocab, model.tokenizer),
    hooks: ['unembed.hook_in'],
    edits: resolved,
    saveBudget: 0,
  }
  return (await backward(model.engine(), [ids], request)).value
}
