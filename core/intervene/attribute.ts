/**
 * Attribution patching (Nanda 2023; Kramár et al. 2403.00745): the effect of patching a place, estimated for all places
 * at once from one gradient: Δmetric ≈ (a_clean - a_corrupt) · ∂metric/∂a at the corrupt run. Queries and keys move the
 * metric through a softmax that saturates, so for them the pattern is recomputed and multiplied by ∂metric/∂pattern
 * (AtP*). GradDrop averages |estimates| over passes in which one layer passes no gradient, so that effects that cancel
 * still show. An estimate is a filter, not a result: `verify` reruns the largest exactly.
 */
import { HeadscopeError } from '../errors.ts'
import { blockHook } from '../graph/hook-names.ts'
import { decoderOf, type LayerSpec } from '../graph/model-spec.ts'
import type { Tensor } from '../graph/tensor.ts'
import { backward, type Gradients } from '../run/backward.ts'
import { type Metric, metricValue, resolveMetric } from '../run/metrics.ts'
import type { Model } from '../run/model.ts'
import { checkPrompts } from '../run/prompts.ts'
import { keyEffects, queryEffects } from './attribute-softmax.ts'
import { alignPrompts, captureRun, metricRows, requireCausal, sweepBase } from './base.ts'
import { runSweep, type SweepCell } from './sweep.ts'
import type { SweepOptions } from './types.ts'

export type AttributionSite = 'z' | 'mlp_out' | 'q' | 'k' | 'v'

export interface AttributionCell {
  readonly site: AttributionSite
  readonly layer: number
  /** Head (for k and v the key/value head); absent for MLPs. */
  readonly head?: number
  readonly pos: number
  /** Estimated change of the metric from the corrupt run, towards the clean one. */
  readonly estimate: number
  /** Mean |estimate| under GradDrop. */
  readonly dropped?: number
  /** The same change, by an exact run. */
  readonly exact?: number
}

export interface AttributeOptions
  extends Pick<SweepOptions<AttributionCell>, 'signal' | 'onProgress' | 'onCells' | 'mode'> {
  readonly metric: Metric
  /** Default: z and mlp_out. */
  readonly sites?: readonly AttributionSite[]
  /** Exact runs for the K largest estimates. */
  readonly verify?: number
  readonly gradDrop?: boolean
  /** Bytes of intermediates that may be kept for the backward pass. */
  readonly saveBudget?: number
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
  alignPrompts(clean, corrupt)
  const metric = resolveMetric(options.metric, [clean], model.spec.dVocab, model.tokenizer)
  const sites = options.sites ?? ['z', 'mlp_out']
  for (const site of sites)
    if (!Object.hasOwn(LOCAL, site))
      throw new HeadscopeError('bad-edit', `"${site}" is not a site; use ${Object.keys(LOCAL).join(', ')}.`)
  const engine = model.engine(options.mode)
  const layers = decoderOf(model.spec).layers
  const needed = new Set(layers.flatMap((_, layer) => sites.map((site) => blockHook(layer, LOCAL[site]))))
  const { captured: source, state } = await captureRun(engine, clean, needed, options.signal)
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
  const verified = options.verify ? await verifyLargest(model, corrupt, source, cells, options) : cells
  const cleanRows = await metricRows(engine, state, metric)
  options.onCells?.(verified)
  return {
    clean: metricValue(metric, cleanRows, corruptBase?.rows ?? null),
    corrupt: gradients.value,
    cells: verified,
    trust: trustIn(verified),
    warnings,
  }
}

// --- Internal helpers ---

const LOCAL: Readonly<Record<AttributionSite, string>> = {
  z: 'attn.hook_z',
  mlp_out: 'hook_mlp_out',
  q: 'attn.hook_rot_q',
  k: 'attn.hook_rot_k',
  v: 'attn.hook_v',
}

/** What the recomputed softmax reads of the corrupt run. */
const SOFTMAX = ['attn.hook_rot_q', 'attn.hook_rot_k', 'attn.hook_attn_scores', 'attn.hook_pattern']

function gradHooks(layers: number, sites: readonly AttributionSite[]): string[] {
  const locals = new Set(
    sites.map((site) => (site === 'q' || site === 'k' ? 'attn.hook_pattern' : LOCAL[site])),
  )
  return Array.from({ length: layers }, (_, layer) =>
    [...locals].map((local) => blockHook(layer, local)),
  ).flat()
}

function estimates(
  model: Model,
  sites: readonly AttributionSite[],
  source: ReadonlyMap<string, Tensor>,
  gradients: Gradients,
): AttributionCell[] {
  return decoderOf(model.spec).layers.flatMap((layer, index) =>
    sites.flatMap((site) => {
      const hook = blockHook(index, LOCAL[site])
      const clean = source.get(hook)!
      if (site === 'q' || site === 'k') return softmaxCells(site, index, layer, clean, gradients)
      return linearCells(site, index, clean, gradients.captures.get(hook)!, gradients.grads.get(hook)!)
    }),
  )
}

/** (a_clean - a_corrupt) · ∂metric/∂a, per position and, where there is one, head. */
function linearCells(
  site: AttributionSite,
  layer: number,
  clean: Tensor,
  corrupt: Tensor,
  grad: Tensor,
): AttributionCell[] {
  const shape = clean.shape
  const heads = shape.length === 4 ? shape[2]! : 1
  const width = shape.at(-1)!
  return Array.from({ length: shape[1]! * heads }, (_, row) => {
    let estimate = 0
    for (let i = row * width; i < (row + 1) * width; i++)
      estimate += (clean.data[i]! - corrupt.data[i]!) * grad.data[i]!
    const pos = Math.floor(row / heads)
    return { site, layer, ...(shape.length === 4 ? { head: row % heads } : {}), pos, estimate }
  })
}

function softmaxCells(
  site: 'q' | 'k',
  layer: number,
  spec: LayerSpec,
  clean: Tensor,
  { captures, grads }: Gradients,
): AttributionCell[] {
  const of = (local: string) => captures.get(blockHook(layer, local))!
  const run = {
    q: of('attn.hook_rot_q').data,
    k: of('attn.hook_rot_k').data,
    scores: of('attn.hook_attn_scores').data,
    pattern: of('attn.hook_pattern').data,
    grad: grads.get(blockHook(layer, 'attn.hook_pattern'))!.data,
  }
  const length = clean.shape[1]!
  const effects =
    site === 'q' ? queryEffects(spec, length, run, clean.data) : keyEffects(spec, length, run, clean.data)
  const heads = clean.shape[2]!
  return Array.from(effects, (estimate, row) => ({
    site,
    layer,
    head: row % heads,
    pos: Math.floor(row / heads),
    estimate,
  }))
}

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

/** Exact runs of the places with the largest estimates. */
async function verifyLargest(
  model: Model,
  corrupt: readonly number[],
  source: ReadonlyMap<string, Tensor>,
  cells: readonly AttributionCell[],
  options: AttributeOptions,
): Promise<AttributionCell[]> {
  const size = (cell: AttributionCell) => Math.max(Math.abs(cell.estimate), cell.dropped ?? 0)
  const order = [...cells.keys()].sort((a, b) => size(cells[b]!) - size(cells[a]!)).slice(0, options.verify)
  const engine = model.engine(options.mode)
  const hooks = new Map(engine.hooks.map((hook) => [hook.name, hook]))
  const metric = resolveMetric(options.metric, [corrupt], model.spec.dVocab, model.tokenizer)
  const base = await sweepBase(engine, corrupt, metric, options.signal)
  const exact = new Map<number, number>()
  const sweep = order.map((index): SweepCell<number> => {
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
      for (const { key, value } of results) exact.set(key, value - base.value)
      const seconds = (performance.now() - started) / 1000
      const left = (seconds / exact.size) * (sweep.length - exact.size)
      options.onProgress?.({ done: exact.size, total: sweep.length, secondsLeft: left })
    },
    options.signal,
  )
  return cells.map((cell, i) => (exact.has(i) ? { ...cell, exact: exact.get(i)! } : cell))
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
