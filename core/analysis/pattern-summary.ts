/**
 * Patterns of long prompts as summaries: per head the entropy of its rows, the share that goes to the first token, a
 * profile over distances and the strongest edges of each row. Patterns stream by query rows and are never whole in
 * memory: 8,192 tokens × 8 heads would be 2 GB a layer.
 */
import type { Progress } from '../checkpoint/types.ts'
import { HeadscopeError } from '../errors.ts'
import { parseHook } from '../graph/hook-names.ts'
import { decoderOf } from '../graph/model-spec.ts'
import type { Model } from '../run/model.ts'
import { runPass } from '../run/pass.ts'
import { checkPrompts } from '../run/prompts.ts'

export interface HeadSummary {
  readonly layer: number
  readonly head: number
  /** Mean over rows of -Σ A ln A, nats. */
  readonly entropy: number
  /** Mean over rows of A[q, 0]. */
  readonly sink: number
  /** Mean of A[q, q - d] over the rows that have such a key, for d = 0 … . */
  readonly byDistance: readonly number[]
  /** Keys of the strongest edges, [row][rank], and their weights; -1 where a row has fewer keys. */
  readonly edgeKeys: Int32Array
  readonly edgeWeights: Float32Array
}

export interface PatternSummaries {
  readonly tokens: number
  readonly edgesPerRow: number
  readonly heads: readonly HeadSummary[]
  readonly warnings: readonly string[]
}

export interface PatternSummaryOptions {
  /** Distances of the profile (default 64). */
  readonly distances?: number
  /** Edges kept per row (default 4). */
  readonly edgesPerRow?: number
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: Progress) => void
}

/** Summaries of every head on one prompt. Throws `bad-prompt`, `cancelled`; bidirectional models are refused. */
export async function summarisePatterns(
  model: Model,
  ids: readonly number[],
  options: PatternSummaryOptions = {},
): Promise<PatternSummaries> {
  const { layers, causal } = decoderOf(model.spec)
  if (!causal)
    throw new HeadscopeError(
      'bad-request',
      'Summaries stream query by query, which needs a causal model; this one is bidirectional.',
    )
  const warnings = checkPrompts([ids], model.spec)
  const { distances = 64, edgesPerRow = 4 } = options
  const hooks = model.hooks.filter((hook) => hook.name.endsWith('.attn.hook_pattern'))
  const summaries = layers.map((layer) =>
    Array.from({ length: layer.nHeads }, () => createAccumulator(ids.length, distances, edgesPerRow)),
  )
  const started = performance.now()
  await runPass(model.engine(), {
    ids: [ids],
    lengths: [ids.length],
    start: 0,
    total: ids.length,
    wanted: new Set(hooks.map((hook) => hook.name)),
    edits: [],
    signal: options.signal,
    onRows: (hook, { data, shape }, window) => {
      const layer = parseHook(hook.name).layer!
      const [, heads, rows, keys] = shape as [number, number, number, number]
      for (let head = 0; head < heads; head++)
        for (let row = 0; row < rows; row++) {
          const from = (head * rows + row) * keys
          summaries[layer]![head]!.add(data.subarray(from, from + keys), window.start + row)
        }
    },
    onBlock: (done) => {
      const seconds = (performance.now() - started) / 1000
      options.onProgress?.({
        done,
        total: layers.length,
        secondsLeft: (seconds / done) * (layers.length - done),
      })
    },
  })
  const heads = summaries.flatMap((perHead, layer) =>
    perHead.map((each, head) => ({ layer, head, ...each.finish() })),
  )
  return { tokens: ids.length, edgesPerRow, heads, warnings }
}

// --- Internal helpers ---

function createAccumulator(length: number, distances: number, edgesPerRow: number) {
  let entropy = 0
  let sink = 0
  const byDistance = new Float64Array(Math.min(distances, length))
  const edgeKeys = new Int32Array(length * edgesPerRow).fill(-1)
  const edgeWeights = new Float32Array(length * edgesPerRow)

  /** Keeps a row's strongest edges sorted, by insertion. */
  function keepEdge(base: number, key: number, weight: number): void {
    let place = edgesPerRow - 1
    while (place > 0 && (edgeKeys[base + place - 1]! < 0 || edgeWeights[base + place - 1]! < weight)) {
      edgeKeys[base + place] = edgeKeys[base + place - 1]!
      edgeWeights[base + place] = edgeWeights[base + place - 1]!
      place--
    }
    edgeKeys[base + place] = key
    edgeWeights[base + place] = weight
  }

  return {
    /** Row `query` of the pattern, keys 0 … . */
    add(row: Float32Array, query: number): void {
      sink += row[0]!
      const base = query * edgesPerRow
      const last = base + edgesPerRow - 1
      let rowEntropy = 0
      let least = 0 // the weakest of the edges kept, 0 while there is room: all that a key must beat
      for (let key = 0; key <= query; key++) {
        const weight = row[key]!
        if (weight <= 0) continue
        rowEntropy -= weight * Math.log(weight)
        if (weight <= least) continue
        keepEdge(base, key, weight)
        least = edgeWeights[last]!
      }
      entropy += rowEntropy
      for (let d = 0; d < byDistance.length && d <= query; d++) byDistance[d]! += row[query - d]!
    },
    finish: () => ({
      entropy: entropy / length,
      sink: sink / length,
      byDistance: Array.from(byDistance, (sum, d) => sum / (length - d)),
      edgeKeys,
      edgeWeights,
    }),
  }
}
