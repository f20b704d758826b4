/** What a run will take, before it runs: memory, disk, time. Refused with the numbers when it cannot fit. */

import { statfsSync } from 'node:fs'
import { freemem } from 'node:os'
import { HeadscopeError } from '../errors.ts'
import { decoderOf } from '../graph/model-spec.ts'
import type { Model } from './model.ts'

/** How patterns are kept: not at all, as summaries, or whole. */
export type PatternKeeping = 'none' | 'summary' | 'full'

export interface RunEstimate {
  readonly tokens: number
  /** Peak beside the weights: states, keys and values, one chunk of scores, patterns in flight. */
  readonly memoryBytes: number
  readonly weightBytes: number
  /** Of the stored run: float16 triangles and float32 residuals, or summaries. */
  readonly diskBytes: number
  /** From a timed pass over 64 tokens, scaled by the arithmetic. */
  readonly seconds: number
}

/** Memory that the process needs whatever it runs. */
const OVERHEAD = 200e6

/** Estimates a run of `tokens` tokens. Costs one pass over 64 tokens. */
export async function estimateRun(
  model: Model,
  tokens: number,
  patterns: PatternKeeping,
): Promise<RunEstimate> {
  const { layers } = decoderOf(model.spec)
  const { dModel, dVocab } = model.spec
  // A graph made by others runs whole: its scores are not chunked, and what is kept comes out at its end.
  const oneGraph = model.spec.family === 'onnx'
  const scoreBudget = oneGraph ? Number.POSITIVE_INFINITY : model.engine().scoreBudget
  const heads = Math.max(...layers.map((layer) => layer.nHeads))
  const scores = 4 * heads * tokens * tokens
  const chunk = Math.min(scores, scoreBudget)
  const widest = Math.max(...layers.map((layer) => layer.dMlp))
  const keyValues = 8 * tokens * layers[0]!.nKvHeads * layers[0]!.dHead
  const bias = 2 * tokens * tokens
  // Scores, masked scores and weights inside the runtime; copies outside until they are collected.
  const whole = patterns === 'full' ? 2 * scores * (oneGraph ? layers.length : 1) : 0
  const logits = Math.min(4 * tokens * dVocab, 64 * 1024 * 1024)
  const memoryBytes =
    OVERHEAD + 4 * tokens * (4 * dModel + 2 * widest) + 2 * keyValues + 10 * chunk + bias + whole + logits
  const residuals = 4 * tokens * dModel * (layers.length + 1)
  const triangles = layers.reduce((sum, layer) => sum + layer.nHeads * tokens * (tokens + 1), 0)
  const edges = layers.reduce((sum, layer) => sum + layer.nHeads * tokens * 4 * 8, 0)
  const diskBytes = residuals + (patterns === 'full' ? triangles : patterns === 'summary' ? edges : 0)
  return {
    tokens,
    memoryBytes,
    weightBytes: 4 * model.parameters.total,
    diskBytes,
    seconds: await timedSeconds(model, tokens, patterns),
  }
}

/** Throws `bad-request` with both numbers when the estimate exceeds the machine's free memory or the disk. */
export function refuseUnlessFits(
  estimate: RunEstimate,
  folder: string | null,
  free: number = freemem(),
): void {
  const gb = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`
  if (estimate.memoryBytes > free)
    throw new HeadscopeError(
      'bad-request',
      `A run of ${estimate.tokens} tokens would take about ${gb(estimate.memoryBytes)} of memory beside the weights, but ${gb(free)} are free; use fewer tokens or keep summaries instead of patterns.`,
    )
  if (folder === null) return
  const { bavail, bsize } = statfsSync(folder)
  if (estimate.diskBytes > bavail * bsize)
    throw new HeadscopeError(
      'no-space',
      `Storing a run of ${estimate.tokens} tokens would take about ${gb(estimate.diskBytes)} on disk, but ${gb(bavail * bsize)} are free; use fewer tokens or keep summaries instead of patterns.`,
    )
}

// --- Internal helpers ---

const PROBE = 64

/** Seconds of a pass over the probe, scaled by multiplications: linear in the weights, quadratic in the scores. */
async function timedSeconds(model: Model, tokens: number, patterns: PatternKeeping): Promise<number> {
  const rows = Math.min(PROBE, tokens, model.spec.nCtx)
  const ids = Array.from({ length: rows }, (_, i) => i % model.spec.dVocab)
  await model.run(ids)
  const started = performance.now()
  await model.run(ids)
  const seconds = (performance.now() - started) / 1000
  const { layers } = decoderOf(model.spec)
  const attention = layers.reduce((sum, layer) => sum + 2 * layer.nHeads * layer.dHead, 0)
  const work = (t: number) => t * (model.parameters.total + attention * t)
  // Summaries read every weight once more, outside the runtime: some 10 ns each.
  const weights = layers.reduce((sum, layer) => sum + (layer.nHeads * tokens * tokens) / 2, 0)
  const reading = patterns === 'none' ? 0 : weights * (patterns === 'summary' ? 1.5e-8 : 3e-9)
  return (seconds * work(tokens)) / work(rows) + reading
}
