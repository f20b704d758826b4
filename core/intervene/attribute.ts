/**
 * Attribution patching (Nanda 2023; Kramár et al. 2403.00745): the effect of patching a place, estimated for all places
 * at once from one gradient: Δmetric ≈ (a_clean - a_corrupt) · ∂metric/∂a at the corrupt run. Queries and keys move the
 * metric through a softmax that saturates, so for them the pattern is recomputed and multiplied by ∂metric/∂pattern
 * (AtP*). GradDrop averages |estimates| over passes in which one layer passes no gradient, so that effects that cancel
 * still show. An estimate is a filter, not a result: `verify` reruns the largest exactly.
 *
 * Exact runs are told as they come, the other estimates at the end. A resumed attribution makes its estimates again (a
 * few passes; under GradDrop one more a layer) and goes on with the exact runs that it lacks.
 */
import { HeadscopeError } from '../errors.ts'
import { blockHook } from '../graph/hook-names.ts'
import { decoderOf } from '../graph/model-spec.ts'
import type { Tensor } from '../graph/tensor.ts'
import { backward, type Gradients } from '../run/backward.ts'
import { type Metric, type ResolvedMetric, resolveMetric } from '../run/metrics.ts'
import type { Model } from '../run/model.ts'
import { checkPrompts } from '../run/prompts.ts'
import {
  type AttributionCell,
  type AttributionSite,
  estimates,
  gradHooks,
  LOCAL,
  SOFTMAX,
} from './attribute-estimates.ts'
import { alignPrompts, captureRun, metricOfState, readersOf, requireCausal, sweepBase } from './base.ts'
import { runSweep, type SweepCell } from './sweep.ts'
import type { SweepEstimate, SweepOptions } from './types.ts'

export type { AttributionCell, AttributionSite }

export interface AttributeOptions
  extends Pick<SweepOptions<AttributionCell>, 'signal' | 'onProgress' | 'onCells' | 'known' | 'mode'> {
  readonly metric: Metric
  /** Default: z and mlp_out. */
  readonly sites?: readonly AttributionSite[]
  /** Exact runs for the K largest estimates. */
  readonly verify?: number
  readonly gradDrop?: boolean
  /** Who reads the corrupt prompt, where its source is another: `model.reading` of that. Default: the same model. */
  readonly corruptModel?: Model
  /** Bytes of intermediates that may be kept for the backward pass. */
  readonly saveBudget?: number
  readonly onEstimate?: (estimate: SweepEstimate) => void
}

export interface Attributed {
  readonly clean: number
  readonly corrupt: number
  readonly cells: readonly AttributionCell[]
  /** How far to trust the estimates, over the verified places; null below three of them. */
  readonly trust: { readonly n: number; readonly correlation: number } | null
  readonly warnings: readonly string[]
}

/** Throws `bad-prompt`, `bad-edit`; `cancelled` by the signal. */
export async function attribute(
  model: Model,
  clean: readonly number[],
  corrupt: readonly number[],
  options: AttributeOptions,
): Promise<Attributed> {
  requireCausal(model, 'Attribution patching')
  const warnings = checkPrompts([clean, corrupt], model.spec)
  const readers = readersOf(model, options.corruptModel)
  alignPrompts(clean, corrupt, readers.together)
  const metric = resolveMetric(options.metric, [clean], model.spec.dVocab, model.tokenizer)
  const sites = options.sites ?? ['z', 'mlp_out']
  for (const site of sites)
    if (!Object.hasOwn(LOCAL, site))
      throw new HeadscopeError('bad-edit', `"${site}" is not a site; use ${Object.keys(LOCAL).join(', ')}.`)
  const engine = readers.corrupt.engine(options.mode)
  const layers = decoderOf(model.spec).layers
  const needed = new Set(layers.flatMap((_, layer) => sites.map((site) => blockHook(layer, LOCAL[site]))))
  const started = performance.now()
  const { captured: source, state } = await captureRun(
    model.engine(options.mode),
    clean,
    needed,
    options.signal,
  )
  options.onEstimate?.(
    estimateAll(layers.length, clean.length, source, sites, options, (performance.now() - started) / 1000),
  )
  const softmax = sites.some((site) => site === 'q' || site === 'k')
  const corruptBase = metric.kind === 'kl' ? await sweepBase(engine, corrupt, metric, options.signal) : null
  const gradientsOf = (drop: number | null) =>
    backward(engine, [corrupt], {
      metric,
      hooks: gradHooks(layers.length, sites),
      capture: [
        ...needed,
        ...(softmax ? layers.flatMap((_, l) => SOFTMAX.map((local) => blockHook(l, local))) : []),
      ],
      base: corruptBase?.rows ?? null,
      ...(drop === null ? {} : { drop }),
      ...(options.saveBudget === undefined ? {} : { saveBudget: options.saveBudget }),
      ...(options.signal ? { signal: options.signal } : {}),
    })
  const gradients = await gradientsOf(null)
  let cells = estimates(model, sites, source, gradients)
  if (options.gradDrop) cells = await withGradDrop(model, sites, source, cells, gradientsOf, options)
  const known = new Map((options.known ?? []).map((cell) => [cellPlace(cell), cell]))
  const verified = options.verify
    ? await verifyLargest(readers.corrupt, corrupt, source, cells, metric, known, options)
    : cells
  const rest = verified.filter((cell) => cell.exact === undefined && !known.has(cellPlace(cell)))
  if (rest.length > 0) options.onCells?.(rest)
  return {
    clean: await metricOfState(engine, state, metric, corruptBase?.rows ?? null),
    corrupt: gradients.value,
    cells: verified,
    trust: trustIn(verified),
    warnings,
  }
}

// --- Internal helpers ---

/** Mean |estimate| over passes in which each other layer, one at a time, passes no gradient. */
async function withGradDrop(
  model: Model,
  sites: readonly AttributionSite[],
  source: ReadonlyMap<string, Tensor>,
  cells: readonly AttributionCell[],
  gradientsOf: (drop: number) => Promise<Gradients>,
  options: AttributeOptions,
): Promise<AttributionCell[]> {
  const count = decoderOf(model.spec).layers.length
  const sums = new Float64Array(cells.length)
  const started = performance.now()
  for (let drop = 0; drop < count; drop++) {
    estimates(model, sites, source, await gradientsOf(drop)).forEach((cell, i) => {
      if (cell.layer !== drop) sums[i]! += Math.abs(cell.estimate)
    })
    const seconds = (performance.now() - started) / 1000
    options.onProgress?.({
      done: drop + 1,
      total: count,
      secondsLeft: (seconds / (drop + 1)) * (count - drop - 1),
    })
  }
  return cells.map((cell, i) => ({ ...cell, dropped: sums[i]! / Math.max(1, count - 1) }))
}

/** Exact runs of the places with the largest estimates, but for those that are known. */
async function verifyLargest(
  model: Model,
  corrupt: readonly number[],
  source: ReadonlyMap<string, Tensor>,
  cells: readonly AttributionCell[],
  metric: ResolvedMetric,
  known: ReadonlyMap<string, AttributionCell>,
  options: AttributeOptions,
): Promise<AttributionCell[]> {
  const size = (cell: AttributionCell) => Math.max(Math.abs(cell.estimate), cell.dropped ?? 0)
  const order = [...cells.keys()].sort((a, b) => size(cells[b]!) - size(cells[a]!)).slice(0, options.verify)
  const exactOf = (cell: AttributionCell) => known.get(cellPlace(cell))?.exact
  const todo = order.filter((index) => exactOf(cells[index]!) === undefined)
  const engine = model.engine(options.mode)
  const hooks = new Map(engine.hooks.map((hook) => [hook.name, hook]))
  const base = await sweepBase(engine, corrupt, metric, options.signal)
  const exact = new Map<number, AttributionCell>()
  const sweep = todo.map((index): SweepCell<number> => {
    const { site, layer, head, pos } = cells[index]!
    const hook = hooks.get(blockHook(layer, LOCAL[site]))!
    const { data, shape } = source.get(hook.name)!
    return { key: index, layer, pos, edits: [{ hook, head: head ?? null, pos, value: { data, shape } }] }
  })
  const started = performance.now()
  await runSweep(
    engine,
    base,
    sweep,
    metric,
    (results) => {
      const found = results.map(({ key, value }): AttributionCell => {
        const cell = { ...cells[key]!, exact: value - base.value }
        exact.set(key, cell)
        return cell
      })
      const seconds = (performance.now() - started) / 1000
      const left = (seconds / exact.size) * (sweep.length - exact.size)
      options.onProgress?.({
        done: order.length - sweep.length + exact.size,
        total: order.length,
        secondsLeft: left,
      })
      options.onCells?.(found)
    },
    options.signal,
  )
  return cells.map((cell, i) => {
    const before = exactOf(cell)
    return exact.get(i) ?? (before === undefined ? cell : { ...cell, exact: before })
  })
}

/** How a place is told from another. */
function cellPlace({ site, layer, head, pos }: AttributionCell): string {
  return `${site} ${layer} ${head ?? ''} ${pos}`
}

/** What it will cost: a backward pass is about three forwards; a restart is at most one. `forward`: seconds of one. */
function estimateAll(
  layers: number,
  length: number,
  source: ReadonlyMap<string, Tensor>,
  sites: readonly AttributionSite[],
  { verify = 0, gradDrop }: AttributeOptions,
  forward: number,
): SweepEstimate {
  const tensors = [...source.values()]
  const places = Array.from({ length: layers }, (_, layer) =>
    sites.map((site) => {
      const { shape } = source.get(blockHook(layer, LOCAL[site]))!
      return shape[1]! * (shape.length === 4 ? shape[2]! : 1)
    }),
  ).flat()
  const cells = places.reduce((sum, count) => sum + count, 0)
  const forwards = 3 * (1 + (gradDrop ? layers : 0)) + Math.min(verify, cells)
  return {
    cells,
    blockRows: forwards * layers * length,
    baseBytes: tensors.reduce((sum, { data }) => sum + data.byteLength, 0),
    seconds: forward * forwards,
  }
}

/** Pearson correlation of estimate and exact. */
function trustIn(cells: readonly AttributionCell[]): Attributed['trust'] {
  const pairs = cells.filter((cell) => cell.exact !== undefined)
  const n = pairs.length
  if (n < 3) return null
  const mean = (of: (cell: AttributionCell) => number) => pairs.reduce((sum, cell) => sum + of(cell), 0) / n
  const [meanX, meanY] = [mean((cell) => cell.estimate), mean((cell) => cell.exact!)]
  const sum = (of: (x: number, y: number) => number) =>
    pairs.reduce((total, cell) => total + of(cell.estimate - meanX, cell.exact! - meanY), 0)
  const spread = Math.sqrt(sum((x) => x * x) * sum((_, y) => y * y))
  return spread === 0 ? null : { n, correlation: sum((x, y) => x * y) / spread }
}
