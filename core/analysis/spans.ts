/**
 * Natural-text induction: every A B … A place of a corpus, what each head does there, and what the model then says.
 * In: prompts. Out: places with every head's weight, per head the rate of hits with n and interval, examples, and the
 * random-repeat score beside it. Cost: one forward per prompt, and a scan of random repeats.
 */
import { HeadscopeError } from '../errors.ts'
import { parseHook } from '../graph/hook-names.ts'
import { decoderOf } from '../graph/model-spec.ts'
import type { Tensor } from '../graph/tensor.ts'
import type { Model } from '../run/model.ts'
import { requireOneText } from '../run/one-text.ts'
import { batchesOf, windowsOf } from './batches.ts'
import { targetsByQuery } from './repeats.ts'
import { scanHeads } from './scan.ts'
import { noScore } from './scores/score.ts'
import { fittingLength, ordinaryIds } from './sequences.ts'
import { rateOf } from './span-rate.ts'
import type { SpanExample, SpanHead, SpanOptions, SpanPlace, Spans } from './span-types.ts'
import type { Score } from './types.ts'

export type * from './span-types.ts'

/** Throws `bad-prompt` without prompts, `bad-request` for a model that looks ahead. */
export async function findSpans(
  model: Model,
  prompts: readonly (readonly number[])[],
  options: SpanOptions = {},
): Promise<Spans> {
  const { hit = 'strongest', threshold = 0.2, fewest = 20, listed = 2000, examples = 3, seed = 1 } = options
  requireOneText(model, 'Places')
  if (!decoderOf(model.spec).causal)
    throw new HeadscopeError(
      'bad-request',
      'Induction asks what a query sees before it; this model is bidirectional.',
    )
  if (prompts.length === 0)
    throw new HeadscopeError('bad-prompt', 'There is no prompt; give at least one text.')
  const windows = prompts.flatMap((ids, prompt) =>
    windowsOf(model, ids).map((part) => ({ prompt, ids: part })),
  )
  const rows = windows.map(({ ids }) =>
    [...targetsByQuery(ids)].map(([query, targets]) => ({ query, targets })),
  )
  const total = windows.length + (options.batch ?? 16)
  const started = performance.now()
  const report = (done: number) => {
    const each = (performance.now() - started) / 1000 / done
    options.onProgress?.({ done, total, secondsLeft: done > 0 ? each * (total - done) : null })
  }

  const heads = decoderOf(model.spec).layers.map(({ nHeads }) =>
    Array.from({ length: nHeads }, () => emptyHead()),
  )
  const places: SpanPlace[] = []
  const listedOf = listing(rows, listed)
  const weights = new Map<string, { layer: number; head: number; weight: number; hit: boolean }[]>()
  const warnings = new Set<string>()
  const said = new Map<number, boolean[]>() // by window: whether a B is the likeliest, row by row
  let done = 0
  for (const batch of batchesOf(
    model.spec,
    windows.map(({ ids }) => ids),
  )) {
    const run = await model.run(
      batch.map((w) => windows[w]!.ids),
      {
        capture: ['blocks.*.attn.hook_pattern'],
        top: 10,
        ...(options.signal ? { signal: options.signal } : {}),
        onCapture: (hook, pattern) => {
          const layer = parseHook(hook).layer!
          batch.forEach((w, item) => {
            for (let head = 0; head < heads[layer]!.length; head++)
              for (const [r, row] of rows[w]!.entries()) {
                const found = lookAt(pattern, item, head, row, hit, threshold)
                heads[layer]![head]!.rows.push({ window: w, row: r, hit: found.hit, weight: found.sum })
                if (!listedOf(w, r)) continue
                row.targets.forEach((target, k) => {
                  const key = `${w} ${row.query} ${target}`
                  const list = weights.get(key) ?? []
                  weights.set(key, list)
                  const strongest =
                    hit === 'strongest' ? found.hit && found.best === target : found.each[k]! >= threshold
                  list.push({ layer, head, weight: found.each[k]!, hit: strongest })
                })
              }
          })
        },
      },
    )
    for (const warning of run.warnings) warnings.add(warning)
    batch.forEach((w, item) => {
      const { ids, positions } = run.items[item]!
      said.set(
        w,
        rows[w]!.map(({ query, targets }) =>
          targets.some((target) => positions[query]!.top[0]?.id === ids[target]),
        ),
      )
      for (const { query, targets } of rows[w]!)
        for (const target of targets) {
          const { top } = positions[query]!
          const token = ids[target]!
          places.push({
            window: w,
            query,
            source: target - 1,
            target,
            token,
            predicted: top[0]?.id === token,
            prob: top.find(({ id }) => id === token)?.prob ?? null,
            follows: ids[query + 1] === token,
          })
        }
    })
    done += batch.length
    report(done)
  }
  places.sort((a, b) => a.window - b.window || a.query - b.query || a.target - b.target)
  const kept = places.filter((place) => weights.has(`${place.window} ${place.query} ${place.target}`))
  if (kept.length < places.length)
    warnings.add(
      `${places.length} places were found; the first ${kept.length} are listed, and the rates are of all.`,
    )
  const beside = await randomRepeats(model, options)
  if (typeof beside === 'string') warnings.add(`The random-repeat score does not exist here: ${beside}`)
  report(total)

  const queries = rows.reduce((sum, list) => sum + list.length, 0)
  return {
    definitions: definitionsOf(hit, threshold, fewest),
    settings: { hit, threshold, seed },
    windows,
    places: places.length,
    queries,
    items: kept.map((place) => ({
      ...place,
      heads: weights.get(`${place.window} ${place.query} ${place.target}`)!,
    })),
    heads: heads.flatMap((list, layer) =>
      list.map((counts, head): SpanHead => {
        const example = ({ window, row, weight }: Row): SpanExample => {
          const { query, targets } = rows[window]![row]!
          return { window, query, target: targets.at(-1)!, weight }
        }
        const ranked = [...counts.rows].sort((a, b) => b.weight - a.weight)
        const hits = counts.rows.filter((row) => row.hit)
        const misses = counts.rows.filter((row) => !row.hit)
        const shareSaid = (list: readonly Row[]) =>
          rateOf(
            list.map(({ window, row }) => ({ window, hit: said.get(window)![row]! })),
            fewest,
            seed,
          )
        return {
          layer,
          head,
          rate: rateOf(counts.rows, fewest, seed),
          predicted: { hits: shareSaid(hits), misses: shareSaid(misses) },
          random_repeat: typeof beside === 'string' ? noScore(beside) : beside[layer]![head]!,
          examples: {
            hits: ranked
              .filter((row) => row.hit)
              .slice(0, examples)
              .map(example),
            misses: ranked
              .filter((row) => !row.hit)
              .slice(-examples)
              .reverse()
              .map(example),
          },
        }
      }),
    ),
    warnings: [...warnings],
  }
}

// --- Internal helpers ---

interface Row {
  readonly window: number
  readonly row: number
  readonly hit: boolean
  /** On all B together. */
  readonly weight: number
}

function emptyHead(): { rows: Row[] } {
  return { rows: [] }
}

/** Whether the places of a row are among the first `most` of the corpus. */
function listing(rows: readonly (readonly { targets: readonly number[] }[])[], most: number) {
  const last = new Map<number, number>() // by window: first row that is not listed
  let count = 0
  rows.forEach((list, w) => {
    let fit = 0
    for (const { targets } of list) {
      if (count + targets.length > most) break
      count += targets.length
      fit++
    }
    last.set(w, fit)
    if (fit < list.length) count = Number.POSITIVE_INFINITY
  })
  return (window: number, row: number) => row < last.get(window)!
}

/** What a head does in a row: its strongest key other than position 0 (itself included), and the weight on each B. */
function lookAt(
  pattern: Tensor,
  item: number,
  head: number,
  { query, targets }: { query: number; targets: readonly number[] },
  criterion: 'strongest' | 'weight',
  threshold: number,
) {
  const [, heads, queries, keys] = pattern.shape as [number, number, number, number]
  const row = ((item * heads + head) * queries + query) * keys
  const each = targets.map((target) => pattern.data[row + target]!)
  const sum = each.reduce((a, b) => a + b, 0)
  let best = -1
  let most = 0
  for (let key = 1; key <= query; key++)
    if (pattern.data[row + key]! > most) [best, most] = [key, pattern.data[row + key]!]
  // Position 0 as a B (a text without BOS that begins with it) never happens: a B has an A before it.
  const hit = criterion === 'strongest' ? targets.includes(best) : sum >= threshold
  return { each, sum, best, hit }
}

async function randomRepeats(model: Model, options: SpanOptions): Promise<Score[][] | string> {
  try {
    const { heads } = await scanHeads(model, {
      scores: ['induction'],
      length: Math.min(
        fittingLength([model], ordinaryIds(model).length, true).length,
        Math.floor((model.spec.nCtx - 1) / 2),
      ),
      batch: options.batch ?? 16,
      seed: options.seed ?? 1,
      ...(options.signal ? { signal: options.signal } : {}),
    })
    const table: Score[][] = []
    for (const { layer, head, scores } of heads) (table[layer] ??= [])[head] = scores.induction!
    return table
  } catch (error) {
    // A vocabulary or a context that is too small for random repeats does not take the text's own answer away.
    if (error instanceof HeadscopeError && error.code === 'bad-request') return error.message
    throw error
  }
}

function definitionsOf(hit: 'strongest' | 'weight', threshold: number, fewest: number) {
  const rule =
    hit === 'strongest'
      ? 'the strongest key of the row, position 0 left out, is a B'
      : `the weight on all B together is ${threshold} or more`
  return {
    place:
      'A query q whose token A occurred before at j, with j + 1 < q; B is the token at j + 1. A row with several earlier A has several B.',
    rate: `Share of the query rows with a B in which ${rule}; blank below ${fewest} rows. Interval 95 %: bootstrap over windows of text, or Wilson’s over rows where there are fewer than five windows.`,
    predicted: 'Share of those rows after which the model’s likeliest next token is a B.',
    random_repeat: 'Strict induction score on repeated random tokens, for comparison.',
  }
}
