/**
 * Scores on patterns, layer by layer as they come. In: sequences and pattern scores. Out: one value per head, score
 * and sequence, then their means with intervals. Memory: the captures of one block.
 */
import { parseHook } from '../graph/hook-names.ts'
import { decoderOf, type ModelSpec } from '../graph/model-spec.ts'
import type { Tensor } from '../graph/tensor.ts'
import type { Model } from '../run/model.ts'
import type { RunItem } from '../run/types.ts'
import { meanScore } from './bootstrap.ts'
import type { HeadMaps } from './head-maps.ts'
import { type HeadView, noScore, type PatternScore, weightAt } from './scores/score.ts'
import type { ScoreSequence } from './sequences.ts'
import type { Score } from './types.ts'
import { normThrough } from './value-norms.ts'

/** Patterns of one forward, in bytes over all heads of a layer, above which the batch is cut. */
const PATTERN_BUDGET = 64 * 1024 * 1024

/** Block hooks by what a score needs, in the order in which a block gives them. */
const HOOKS = { values: 'attn.hook_v', scores: 'attn.hook_attn_scores' } as const
const PATTERN = 'attn.hook_pattern'

export interface Accumulator {
  /** Block hooks to capture. */
  readonly hooks: readonly string[]
  /** Takes a capture of the batch that begins with sequence `first`. */
  add(first: number, layer: number, local: string, tensor: Tensor): Promise<void>
  /** Each score of every head: [layer][head]. */
  finish(
    seed: number,
    onValues?: (score: string, layer: number, head: number, values: readonly number[]) => void,
  ): Map<string, Score[][]>
}

/** Gathers the scores of sequences; a reason in place of sequences gives scores that do not exist. */
export function createAccumulator(
  spec: ModelSpec,
  scores: readonly PatternScore[],
  sequences: readonly ScoreSequence[] | string,
  maps: Pick<HeadMaps, 'outputGrams'>,
): Accumulator {
  const { layers } = decoderOf(spec)
  const given = typeof sequences === 'string' ? [] : sequences
  const places = scores.map((score) => given.map((sequence) => score.places(sequence)))
  const blank = () => new Array<number>(given.length).fill(Number.NaN)
  const values = layers.map(({ nHeads }) => Array.from({ length: nHeads }, () => scores.map(blank)))
  const rows = layers.map(({ nHeads }) => Array.from({ length: nHeads }, () => scores.map(() => 0)))
  const needs = new Set(scores.flatMap((score) => score.needs))
  const kept = new Map<string, Tensor>()

  function measure(view: HeadView, layer: number, head: number, sequence: number): void {
    scores.forEach((score, s) => {
      if (score.absent?.(view.spec)) return
      let sum = 0
      let count = 0
      for (const place of places[s]![sequence]!) {
        const value = score.measure ? score.measure(view, place) : weightAt(view, place)
        if (value === null) continue
        sum += value
        count++
      }
      if (count === 0) return
      values[layer]![head]![s]![sequence] = sum / count
      rows[layer]![head]![s]! += count
    })
  }

  return {
    hooks: scores.length === 0 ? [] : [...[...needs].map((need) => HOOKS[need]), PATTERN],
    async add(first, layer, local, tensor) {
      if (local !== PATTERN) {
        kept.set(local, tensor)
        return
      }
      const spec = layers[layer]!
      const [batch, heads, queries, stride] = tensor.shape as [number, number, number, number]
      const grams = needs.has('values') ? await maps.outputGrams(layer) : null
      for (let item = 0; item < batch; item++)
        for (let head = 0; head < heads; head++) {
          const valueNorm = grams ? normsOf(kept.get(HOOKS.values)!, grams, item, head, heads) : null
          const from = (item * heads + head) * queries * stride
          const scores = needs.has('scores') ? kept.get(HOOKS.scores)!.data : null
          measure({ spec, pattern: tensor.data, from, stride, scores, valueNorm }, layer, head, first + item)
        }
      kept.clear()
    },
    finish(seed, onValues) {
      return new Map(
        scores.map((score, s) => [
          score.name,
          layers.map((spec, layer) =>
            Array.from({ length: spec.nHeads }, (_, head): Score => {
              if (typeof sequences === 'string') return noScore(sequences)
              const absent = score.absent?.(spec)
              if (absent) return noScore(absent)
              const counts = rows[layer]![head]![s]!
              if (counts === 0) return noScore(whyNoRow(score, places[s]!))
              const present = values[layer]![head]![s]!.filter((_, i) => places[s]![i]!.length > 0)
              // A sequence whose every row came out undefined is not in the mean; a weight that is NaN is.
              const counted = score.measure ? present.filter((v) => !Number.isNaN(v)) : present
              onValues?.(score.name, layer, head, counted)
              return meanScore(counted, counts, seed)
            }),
          ),
        ]),
      )
    },
  }
}

/** Runs the sequences in batches and hands their captures on. */
export async function runSequences(
  model: Model,
  sequences: readonly ScoreSequence[],
  accumulator: Accumulator,
  options: {
    readonly signal: AbortSignal | undefined
    /** Sequences done, of these. */
    readonly onProgress: (done: number) => void
  },
): Promise<{ items: RunItem[]; warnings: string[] }> {
  const longest = Math.max(...sequences.map(({ ids }) => ids.length))
  const heads = Math.max(...decoderOf(model.spec).layers.map((layer) => layer.nHeads))
  const size = Math.max(1, Math.floor(PATTERN_BUDGET / (heads * longest * longest * 4)))
  const items: RunItem[] = []
  const warnings: string[] = []
  for (let first = 0; first < sequences.length; first += size) {
    const batch = sequences.slice(first, first + size)
    const run = await model.run(
      batch.map(({ ids }) => ids),
      {
        capture: accumulator.hooks.map((local) => `blocks.*.${local}`),
        top: 1,
        ...(options.signal ? { signal: options.signal } : {}),
        onCapture: (hook, tensor) => {
          const { layer, local } = parseHook(hook)
          return accumulator.add(first, layer!, local, tensor)
        },
        onProgress: ({ done, total }) => options.onProgress(first + (batch.length * done) / total),
      },
    )
    items.push(...run.items)
    warnings.push(...run.warnings)
  }
  return { items, warnings }
}

// --- Internal helpers ---

/** |v_key W_O| of one item and head: sqrt(v G vᵀ), made once a key. hook_v is [batch, pos, kv_head, d_head]. */
function normsOf(
  values: Tensor,
  grams: Float64Array,
  item: number,
  head: number,
  heads: number,
): (key: number) => number {
  const [, length, kvHeads, dHead] = values.shape as [number, number, number, number]
  const kv = Math.floor(head / (heads / kvHeads))
  const gram = grams.subarray(head * dHead * dHead, (head + 1) * dHead * dHead)
  const known = new Float64Array(length).fill(-1)
  return (key) => {
    if (known[key]! >= 0) return known[key]!
    const at = ((item * length + key) * kvHeads + kv) * dHead
    known[key] = normThrough(values.data, at, dHead, gram)
    return known[key]!
  }
}

function whyNoRow(score: PatternScore, places: readonly (readonly unknown[])[]): string {
  if (places.some((rows) => rows.length > 0)) return 'the head writes nothing, so no row has a value'
  return score.sequences === 'text'
    ? 'no token of these texts occurs a second time'
    : 'no row of these sequences counts'
}
