/**
 * Scores of every head on repeated random tokens. In: a model, sequences or how to draw them. Out: one score per head
 * and definition with its interval. Cost: one forward per sequence; patterns are reduced layer by layer and never
 * kept. Scores are computed from the run's float32 weights.
 */
import type { Progress } from '../checkpoint/types.ts'
import { HeadscopeError } from '../errors.ts'
import { parseHook } from '../graph/hook-names.ts'
import { decoderOf, type ModelSpec } from '../graph/model-spec.ts'
import type { Tensor } from '../graph/tensor.ts'
import type { Model } from '../run/model.ts'
import type { RunItem } from '../run/types.ts'
import { meanScore } from './bootstrap.ts'
import { scoresNamed } from './scores/index.ts'
import type { RepeatScore } from './scores/score.ts'
import { givenRepeats, type RepeatSequences, randomRepeats } from './sequences.ts'
import { DEFAULT_SCORES, type HeadScores, type ScanResult } from './types.ts'

export interface ScanOptions {
  /** Names of scores, or `all`; default: the four of repeated random tokens. */
  readonly scores?: readonly string[]
  readonly length?: number
  readonly batch?: number
  readonly seed?: number
  /** Whether BOS stands in front; default: as the tokenizer does for text. */
  readonly bos?: boolean
  /** Exactly these sequences instead of drawn ones. */
  readonly sequences?: readonly (readonly number[])[]
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: Progress) => void
}

/** Patterns of one forward, in bytes over all heads of a layer, above which the batch is cut. */
const PATTERN_BUDGET = 64 * 1024 * 1024

/** Throws `bad-request` for settings that do not fit, `cancelled` by the signal. */
export async function scanHeads(model: Model, options: ScanOptions = {}): Promise<ScanResult> {
  const { spec } = model
  if (!decoderOf(spec).causal)
    throw new HeadscopeError(
      'bad-request',
      'These scores assume that a query sees only what is before it; this model is bidirectional.',
    )
  const settings = settingsOf(model, options)
  const sequences = options.sequences ? givenRepeats(options.sequences) : randomRepeats(model, settings)
  const scores = scoresNamed(options.scores ?? DEFAULT_SCORES)
  const perSequence = createAccumulator(spec, scores, sequences)
  const items = await runAll(model, sequences, perSequence.add, options)
  const seed = options.sequences ? null : settings.seed
  return {
    definitions: Object.fromEntries(scores.map((score) => [score.name, score.definition])),
    settings: {
      scores: scores.map((score) => score.name),
      length: sequences.layout.length,
      batch: sequences.ids.length,
      seed,
      bos: sequences.layout.offset === 1,
    },
    heads: perSequence.finish(seed ?? 1),
    loss: copyLosses(items.runs, sequences),
    warnings: [...new Set(items.warnings)],
  }
}

// --- Internal helpers ---

function settingsOf(model: Model, options: ScanOptions) {
  const { length = 48, batch = 32, seed = 1, bos = model.tokenizer?.addsBos ?? false } = options
  for (const [name, value, least] of [
    ['length', length, 2],
    ['batch', batch, 1],
    ['seed', seed, 0],
  ] as const)
    if (!Number.isInteger(value) || value < least)
      throw new HeadscopeError(
        'bad-request',
        `${name} must be a whole number of ${least} or more, but is ${value}.`,
      )
  return { length, batch, seed, bos }
}

async function runAll(
  model: Model,
  sequences: RepeatSequences,
  add: (first: number, layer: number, pattern: Tensor) => void,
  options: ScanOptions,
) {
  const { total } = sequences.layout
  const heads = Math.max(...decoderOf(model.spec).layers.map((layer) => layer.nHeads))
  const size = Math.max(1, Math.floor(PATTERN_BUDGET / (heads * total * total * 4)))
  const runs: RunItem[] = []
  const warnings: string[] = []
  const started = performance.now()
  for (let first = 0; first < sequences.ids.length; first += size) {
    const run = await model.run(sequences.ids.slice(first, first + size), {
      capture: ['blocks.*.attn.hook_pattern'],
      top: 1,
      ...(options.signal ? { signal: options.signal } : {}),
      onCapture: (hook, pattern) => add(first, parseHook(hook).layer!, pattern),
      onProgress: ({ done, total: blocks }) => {
        const all = sequences.ids.length
        const finished = first + (Math.min(size, all - first) * done) / blocks
        const seconds = (performance.now() - started) / 1000
        options.onProgress?.({
          done: finished,
          total: all,
          secondsLeft: (seconds / finished) * (all - finished),
        })
      },
    })
    runs.push(...run.items)
    warnings.push(...run.warnings)
  }
  return { runs, warnings }
}

/** One value per (layer, head, score, sequence): the mean over that sequence's query rows. */
function createAccumulator(
  spec: ModelSpec,
  scores: readonly RepeatScore[],
  { layout, ids }: RepeatSequences,
) {
  const values = decoderOf(spec).layers.map((layer) =>
    Array.from({ length: layer.nHeads }, () => scores.map(() => new Array<number>(ids.length).fill(0))),
  )
  return {
    add(first: number, layer: number, pattern: Tensor): void {
      const [batch, heads, queries, keys] = pattern.shape as [number, number, number, number]
      for (let item = 0; item < batch; item++)
        for (let head = 0; head < heads; head++) {
          const from = (item * heads + head) * queries * keys
          scores.forEach((score, s) => {
            let sum = 0
            for (let query = score.firstRow(layout); query < queries; query++)
              sum += pattern.data[from + query * keys + score.key(query, layout)]!
            values[layer]![head]![s]![first + item] = sum / (queries - score.firstRow(layout))
          })
        }
    },
    finish(seed: number): HeadScores[] {
      return values.flatMap((heads, layer) =>
        heads.map((perScore, head) => ({
          layer,
          head,
          scores: Object.fromEntries(
            scores.map((score, s) => {
              const rows = (layout.total - score.firstRow(layout)) * ids.length
              return [score.name, meanScore(perScore[s]!, rows, seed)]
            }),
          ),
        })),
      )
    },
  }
}

/** Mean loss of predicting the tokens of each copy, nats: the second is low where induction works. */
function copyLosses(items: readonly RunItem[], { layout }: RepeatSequences): ScanResult['loss'] {
  const { offset, length, total } = layout
  const mean = (from: number, to: number) => {
    const losses = items.flatMap((item) =>
      item.positions.slice(from - 1, to - 1).map((position) => position.loss),
    )
    return losses.length > 0 && losses.every((loss) => loss !== null)
      ? (losses as number[]).reduce((sum, loss) => sum + loss, 0) / losses.length
      : null
  }
  // Token t is predicted from position t - 1: the very first has no prediction (with BOS, r_1 has), and nothing says
  // that the second copy begins.
  return { first: mean(Math.max(1, offset), offset + length), second: mean(offset + length + 1, total) }
}
