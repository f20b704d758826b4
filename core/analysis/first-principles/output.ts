/**
 * What a head writes, taken apart by source, and that heads add. In: a head's run. Out: per receiving position and
 * source j the vector α_j v_j W_O by its norm, its cosine with the head's whole update, and its direct logit effect.
 */
import { blockHook } from '../../graph/hook-names.ts'
import type { Model } from '../../run/model.ts'
import { type DlaSource, directLogitAttribution } from '../dla.ts'
import { headWeights, outputMatrix } from '../head-weights.ts'
import { type HeadRun, headRows, rowOf } from './head-run.ts'

export interface SourceContribution {
  readonly source: number
  readonly alpha: number
  /** |α_j v_j W_O|. */
  readonly norm: number
  /** With Σ_j α_j v_j W_O; null where either is 0. */
  readonly cosine: number | null
  /** What it adds to the logit of the answer, before the cap; null without an answer or a linear head. */
  readonly logit: number | null
}

/** α_j v_j W_O of every source of one receiving position. */
export async function sourceContributions(
  model: Model,
  run: HeadRun,
  query: number,
  answer?: { readonly answer: number; readonly wrong?: number },
): Promise<SourceContribution[]> {
  const output = outputMatrix(run.weights, run.head) // [d_head, d_model]
  const weights = rowOf(run.pattern, query)
  const vectors = Array.from(weights, (alpha, j) => times(rowOf(run.v, j), output.data, output.cols, alpha))
  const update = new Float64Array(output.cols)
  for (const vector of vectors) for (let d = 0; d < update.length; d++) update[d]! += vector[d]!
  const effects = answer
    ? (await effectsOf(model, run, query, answer)).find(
        ({ layer, head }) => layer === run.layer && head === run.head,
      )?.values
    : undefined
  const whole = norm(update)
  return vectors.map((vector, source) => {
    const own = norm(vector)
    const product = vector.reduce((sum, value, d) => sum + value * update[d]!, 0)
    return {
      source,
      alpha: weights[source]!,
      norm: own,
      cosine: own > 0 && whole > 0 ? product / (own * whole) : null,
      logit: effects?.[source] ?? null,
    }
  })
}

/** The largest difference between Σ_h z_h W_O^h and the concatenated z times W_O, over the largest value. */
export async function headsAdd(
  model: Model,
  ids: readonly number[],
  layer: number,
  cross = false,
): Promise<number> {
  const kind = cross ? 'cross_attn' : 'attn'
  const names = ['hook_result', 'hook_z'].map((name) => blockHook(layer, `${kind}.${name}`))
  const run = await model.run(ids, { capture: names, top: 0 })
  const [result, z] = names.map((name) => run.get(name))
  const weights = await headWeights(model.engine(), layer, kind)
  const heads = weights.nHeads
  const rows = Array.from({ length: heads }, (_, head) => headRows(result!, head))
  const width = weights.dModel
  const joined = heads * weights.dHead
  let largest = 0
  let error = 0
  for (let pos = 0; pos < ids.length; pos++) {
    const whole = times(z!.data.subarray(pos * joined, (pos + 1) * joined), weights.o, width, 1)
    for (let d = 0; d < width; d++) {
      const added = rows.reduce((sum, own) => sum + own.data[pos * width + d]!, 0)
      largest = Math.max(largest, Math.abs(whole[d]!))
      error = Math.max(error, Math.abs(added - whole[d]!))
    }
  }
  return largest > 0 ? error / largest : error
}

// --- Internal helpers ---

/** What each source adds to the logits, of the heads of the same kind. */
async function effectsOf(
  model: Model,
  { ids, cross }: HeadRun,
  pos: number,
  answer: { readonly answer: number; readonly wrong?: number },
): Promise<readonly DlaSource[]> {
  const found = await directLogitAttribution(model, ids, { ...answer, pos, sources: true })
  return cross ? found.cross_sources : found.sources
}

/** factor · row times a matrix [row.length, width], float64. */
function times(
  row: ArrayLike<number>,
  matrix: ArrayLike<number>,
  width: number,
  factor: number,
): Float64Array {
  const out = new Float64Array(width)
  for (let i = 0; i < row.length; i++) {
    const value = factor * row[i]!
    if (value !== 0) for (let d = 0; d < width; d++) out[d]! += value * matrix[i * width + d]!
  }
  return out
}

function norm(vector: Float64Array): number {
  return Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
}
