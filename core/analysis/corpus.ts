/**
 * Heads over a corpus: the strongest examples of every head. In: many prompts. Out: per head its top edges and the
 * texts that move it most. Cost: one forward per prompt; memory: what is kept.
 */
import type { Progress } from '../checkpoint/types.ts'
import { HeadscopeError } from '../errors.ts'
import { parseHook } from '../graph/hook-names.ts'
import { decoderOf } from '../graph/model-spec.ts'
import type { Model } from '../run/model.ts'
import { requireOneText } from '../run/one-text.ts'
import { batchesOf } from './batches.ts'

export interface CorpusOptions {
  /** Edges and texts kept per head; default 10. */
  readonly keep?: number
  /** Edges to the first position, and of a token to itself, are left out unless asked for. */
  readonly first?: boolean
  readonly self?: boolean
  /** Edges from a token of this set, or to one. */
  readonly query?: ReadonlySet<number>
  readonly key?: ReadonlySet<number>
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: Progress) => void
}

export interface CorpusEdge {
  readonly prompt: number
  readonly query: number
  readonly key: number
  readonly weight: number
}

export interface CorpusHead {
  readonly layer: number
  readonly head: number
  /** Strongest first, at most one a prompt and pair of tokens. */
  readonly edges: readonly CorpusEdge[]
  /** Texts in which the head attends most away from the first position: mean over queries of that weight. */
  readonly texts: readonly { readonly prompt: number; readonly mean: number }[]
}

/** Throws `bad-prompt` without prompts. */
export async function headsOverCorpus(
  model: Model,
  prompts: readonly (readonly number[])[],
  options: CorpusOptions = {},
): Promise<CorpusHead[]> {
  const { keep = 10 } = options
  requireOneText(model, 'Examples')
  if (prompts.length === 0)
    throw new HeadscopeError('bad-prompt', 'The corpus is empty; give at least one text.')
  const heads = decoderOf(model.spec).layers.flatMap(({ nHeads }, layer) =>
    Array.from({ length: nHeads }, (_, head) => ({
      layer,
      head,
      edges: strongest<CorpusEdge>(keep, ({ weight }) => weight),
      texts: strongest<{ prompt: number; mean: number }>(keep, ({ mean }) => mean),
    })),
  )
  const at = (layer: number, head: number) => heads.find((one) => one.layer === layer && one.head === head)!
  const started = performance.now()
  let done = 0
  for (const batch of batchesOf(model.spec, prompts)) {
    await model.run(
      batch.map((p) => prompts[p]!),
      {
        capture: ['blocks.*.attn.hook_pattern'],
        top: 0,
        ...(options.signal ? { signal: options.signal } : {}),
        onCapture: (hook, { data, shape }) => {
          const layer = parseHook(hook).layer!
          const [, count, queries, keys] = shape as [number, number, number, number]
          for (let head = 0; head < count; head++) {
            const kept = at(layer, head)
            batch.forEach((prompt, item) => {
              const from = (item * count + head) * queries * keys
              visit(data, from, keys, prompt, prompts[prompt]!, options, kept)
            })
          }
        },
      },
    )
    done += batch.length
    const each = (performance.now() - started) / 1000 / done
    options.onProgress?.({ done, total: prompts.length, secondsLeft: each * (prompts.length - done) })
  }
  return heads.map(({ layer, head, edges, texts }) => ({
    layer,
    head,
    edges: edges.list(),
    texts: texts.list(),
  }))
}

// --- Internal helpers ---

interface Kept {
  readonly edges: Strongest<CorpusEdge>
  readonly texts: Strongest<{ prompt: number; mean: number }>
}

function visit(
  data: Float32Array,
  from: number,
  keys: number,
  prompt: number,
  ids: readonly number[],
  options: CorpusOptions,
  { edges, texts }: Kept,
): void {
  const best = new Map<string, CorpusEdge>() // the strongest edge of each pair of tokens
  let away = 0
  for (let query = 0; query < ids.length; query++) {
    const wanted = !options.query || options.query.has(ids[query]!)
    for (let key = options.first ? 0 : 1; key < ids.length; key++) {
      const weight = data[from + query * keys + key]!
      if (key > 0) away += weight
      if (!wanted || weight <= edges.least() || (key === query && !options.self)) continue
      if (options.key && !options.key.has(ids[key]!)) continue
      const pair = `${ids[query]} ${ids[key]}`
      if ((best.get(pair)?.weight ?? 0) < weight) best.set(pair, { prompt, query, key, weight })
    }
  }
  for (const edge of best.values()) edges.add(edge)
  texts.add({ prompt, mean: away / ids.length })
}

interface Strongest<T> {
  add(item: T): void
  /** A value that would not be kept; 0 while there is room. */
  least(): number
  /** Strongest first. */
  list(): T[]
}

/** Keeps the `count` items with the largest values. */
function strongest<T>(count: number, value: (item: T) => number): Strongest<T> {
  const items: T[] = []
  return {
    add(item) {
      const place = items.findIndex((other) => value(other) < value(item))
      if (place === -1 && items.length >= count) return
      items.splice(place === -1 ? items.length : place, 0, item)
      if (items.length > count) items.pop()
    },
    least: () => (items.length < count ? 0 : value(items.at(-1)!)),
    list: () => [...items],
  }
}
