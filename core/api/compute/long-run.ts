/**
 * Runs of long prompts: what they will take is said, and refused when it cannot fit; beyond 2,048 tokens patterns are
 * kept as summaries unless whole ones are asked for.
 */
import { dirname } from 'node:path'
import { type HeadSummary, summarisePatterns } from '../../analysis/pattern-summary.ts'
import type { Progress } from '../../checkpoint/types.ts'
import { decoderOf } from '../../graph/model-spec.ts'
import { estimateRun, type PatternKeeping, type RunEstimate, refuseUnlessFits } from '../../run/estimate.ts'
import type { Model } from '../../run/model.ts'
import { specSummary } from '../spec-summary.ts'
import type { WorkspaceWrites } from './workspace-writes.ts'

/** Prompts from here on are estimated before they run. */
const ESTIMATED = 1024
/** The longest whose patterns are kept whole unasked. */
const WHOLE = 2048

export interface LongRunPlan {
  readonly patterns: PatternKeeping
  /** null for short prompts, which are not worth one. */
  readonly estimate: RunEstimate | null
}

/** Throws `bad-request` or `no-space` with the numbers when the run cannot fit. `file`: the workspace; null: none. */
export async function planLongRun(
  model: Model,
  lengths: readonly number[],
  asked: PatternKeeping | undefined,
  file: string | null,
): Promise<LongRunPlan> {
  const longest = Math.max(...lengths)
  const { encoderDecoder, family } = model.spec
  const summarised = decoderOf(model.spec).causal && !encoderDecoder && family !== 'onnx'
  const patterns = asked ?? (longest > WHOLE && summarised ? 'summary' : 'full')
  if (longest < ESTIMATED) return { patterns, estimate: null }
  const estimate = await estimateRun(model, longest, patterns)
  refuseUnlessFits(estimate, file === null ? null : dirname(file))
  return { patterns, estimate }
}

/** Summaries of one prompt's patterns, kept as an experiment of the workspace where there is one. */
export async function keepSummaries(
  model: Model,
  ids: readonly number[],
  writes: WorkspaceWrites | null,
  options: { readonly signal: AbortSignal; readonly onProgress: (progress: Progress) => void },
): Promise<{ heads: readonly HeadSummary[]; experiment: number | null; warnings: readonly string[] }> {
  const { heads, edgesPerRow, warnings } = await summarisePatterns(model, ids, options)
  if (writes === null) return { heads, experiment: null, warnings }
  const { hash: contentHash } = await model.contentHash()
  const checkpoint = {
    contentHash,
    path: model.path,
    name: model.name,
    family: model.spec.family,
    spec: specSummary(model.spec),
  }
  const { experiments } = writes
  const plan = { ids, edgesPerRow }
  const experiment = experiments.saveExperiment({
    kind: 'pattern_summary',
    checkpoint,
    plan,
    cells: heads.length,
  })
  experiments.appendCells(
    experiment,
    heads.map((head) => ({ key: `L${head.layer}H${head.head}`, value: asJson(head) })),
  )
  experiments.completeExperiment(experiment, null)
  return { heads, experiment, warnings }
}

// --- Internal helpers ---

/** Edges as base64 of int32 keys and float32 weights [row][rank]; the rest as numbers. */
function asJson({ edgeKeys, edgeWeights, ...rest }: HeadSummary) {
  const base64 = (data: Int32Array | Float32Array) =>
    Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')
  return { ...rest, edge_keys: base64(edgeKeys), edge_weights: base64(edgeWeights) }
}
