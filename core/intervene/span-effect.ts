/**
 * Does a head matter where text repeats? In: the A B … A → B places of a corpus. Out: per head the change of loss when
 * its output is zeroed, on second occurrences and on matched controls. Cost: one forward per window and head looked at.
 */

import { batchesOf } from '../analysis/batches.ts'
import { meanScore } from '../analysis/bootstrap.ts'
import { targetsByQuery } from '../analysis/repeats.ts'
import { noScore } from '../analysis/scores/score.ts'
import type { Spans } from '../analysis/spans.ts'
import type { Score } from '../analysis/types.ts'
import type { Progress } from '../checkpoint/types.ts'
import { HeadscopeError } from '../errors.ts'
import { blockHook, headName } from '../graph/hook-names.ts'
import type { Model } from '../run/model.ts'

export interface HeadAt {
  readonly layer: number
  readonly head: number
}

export interface SpanEffectOptions {
  /** Heads to ablate; default: the three with the highest rate. */
  readonly heads?: readonly HeadAt[]
  /** Other heads of the same layer for comparison, those with the lowest rates; default 2. */
  readonly others?: number
  readonly seed?: number
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: Progress) => void
}

export interface SpanEffect extends HeadAt {
  /** Change of loss where the text goes on with B, nats. */
  readonly second: Score
  /** Change of loss at positions of the same texts whose token did not occur before, matched in loss one to one. */
  readonly control: Score
  /** second − control, pair by pair. */
  readonly effect: Score
  /** The same places, another head of the layer ablated. */
  readonly others: readonly (HeadAt & { readonly second: Score })[]
}

export const SPAN_EFFECT =
  'The head’s output z is set to zero. `second`: mean change of the next-token loss (nats, positive: the head helped) at queries q whose text goes on with B. `control`: the same at positions of the same window whose token has no earlier copy, matched one to one by the nearest unedited loss. `effect`: their difference, pair by pair. Means are over windows, with a bootstrap interval over them. Zeroing takes a head off its distribution, and other heads may make up for it.'

/** Ablates heads on the places of `spans`. Throws `bad-request` for a head that the model does not have. */
export async function spanEffects(
  model: Model,
  spans: Pick<Spans, 'windows' | 'heads'>,
  options: SpanEffectOptions = {},
): Promise<SpanEffect[]> {
  const { others = 2, seed = 1 } = options
  const windows = spans.windows.map(({ ids }) => ids)
  const ranked = spans.heads
    .filter(({ rate }) => rate.value !== null)
    .sort((a, b) => b.rate.value! - a.rate.value!)
  const chosen = options.heads ?? ranked.slice(0, 3)
  const missing = chosen.find((one) => !spans.heads.some((head) => key(head) === key(one)))
  if (missing)
    throw new HeadscopeError(
      'bad-request',
      `${model.name} has no head ${headName(missing.layer, missing.head)}, so it cannot be ablated; choose one of the heads that were looked at.`,
    )
  const beside = (of: HeadAt) =>
    ranked
      .filter(({ layer, head }) => layer === of.layer && head !== of.head)
      .slice(-others || ranked.length)
      .reverse()
  const wanted = new Map<string, HeadAt>()
  for (const head of chosen) for (const one of [head, ...beside(head)]) wanted.set(key(one), one)

  const total = (1 + wanted.size) * windows.length
  const started = performance.now()
  let done = 0
  const losses = async (ablated: HeadAt | null): Promise<(number | null)[][]> => {
    const result: (number | null)[][] = []
    for (const batch of batchesOf(model.spec, windows)) {
      const edits = ablated
        ? [{ hook: blockHook(ablated.layer, 'attn.hook_z'), head: ablated.head, op: 'zero' as const }]
        : []
      const run = await model.run(
        batch.map((w) => windows[w]!),
        { edits, top: 1, ...(options.signal ? { signal: options.signal } : {}) },
      )
      batch.forEach((w, item) => {
        result[w] = run.items[item]!.positions.map(({ loss }) => loss)
      })
      done += batch.length
      const each = (performance.now() - started) / 1000 / done
      options.onProgress?.({ done, total, secondsLeft: each * (total - done) })
    }
    return result
  }
  const base = await losses(null)
  const pairs = windows.map((ids, w) => matched(ids, base[w]!))
  const changes = new Map<string, ReturnType<typeof changesOf>>()
  for (const [name, head] of wanted) changes.set(name, changesOf(pairs, base, await losses(head)))

  return chosen.map(({ layer, head }) => {
    const own = changes.get(key({ layer, head }))!
    const rows = own.rows
    return {
      layer,
      head,
      second: scoreOf(own.second, rows, seed),
      control: scoreOf(own.control, rows, seed),
      effect: scoreOf(
        own.second.map((value, i) => value - own.control[i]!),
        rows,
        seed,
      ),
      others: beside({ layer, head }).map((other) => ({
        layer: other.layer,
        head: other.head,
        second: scoreOf(changes.get(key(other))!.second, rows, seed),
      })),
    }
  })
}

/** Second occurrences whose text goes on with B, each with a control of nearest loss, without replacement. */
export function matched(
  ids: readonly number[],
  losses: readonly (number | null)[],
): { readonly second: number; readonly control: number }[] {
  const targets = targetsByQuery(ids)
  const seconds = [...targets].flatMap(([query, list]) =>
    list.some((target) => ids[target] === ids[query + 1]) && losses[query] != null ? [query] : [],
  )
  const seen = new Set<number>()
  const free = ids.flatMap((id, pos) => {
    const fresh = !seen.has(id)
    seen.add(id)
    return fresh && pos > 0 && losses[pos] != null ? [pos] : []
  })
  // The hardest to match first: high losses are rare among second occurrences, low ones among controls.
  const order = [...seconds].sort((a, b) => losses[a]! - losses[b]!)
  const left = new Set(free)
  return order.flatMap((second) => {
    let best: number | null = null
    for (const pos of left)
      if (
        best === null ||
        Math.abs(losses[pos]! - losses[second]!) < Math.abs(losses[best]! - losses[second]!)
      )
        best = pos
    if (best === null) return []
    left.delete(best)
    return [{ second, control: best }]
  })
}

// --- Internal helpers ---

function key({ layer, head }: HeadAt): string {
  return `${layer} ${head}`
}

/** Mean change of each window that has pairs. */
function changesOf(
  pairs: readonly (readonly { readonly second: number; readonly control: number }[])[],
  base: readonly (readonly (number | null)[])[],
  ablated: readonly (readonly (number | null)[])[],
) {
  const second: number[] = []
  const control: number[] = []
  let rows = 0
  pairs.forEach((list, w) => {
    if (list.length === 0) return
    const change = (pos: number) => (ablated[w]![pos] ?? Number.NaN) - base[w]![pos]!
    const mean = (of: 'second' | 'control') =>
      list.reduce((sum, pair) => sum + change(pair[of]), 0) / list.length
    second.push(mean('second'))
    control.push(mean('control'))
    rows += list.length
  })
  return { second, control, rows }
}

function scoreOf(values: readonly number[], rows: number, seed: number): Score {
  return values.length === 0
    ? noScore('no token of these texts is followed by what followed it before')
    : meanScore(values, rows, seed)
}
