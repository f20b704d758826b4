/**
 * Activation patching (Meng et al. 2022; Zhang and Nanda 2309.16042): values of one run put into the other, one place
 * at a time. denoise: clean values into the corrupt run (is the place enough?); noise: corrupt values into the clean
 * run (is it needed?). The two are not mirror images.
 */
import { HeadscopeError } from '../errors.ts'
import { blockHook } from '../graph/hook-names.ts'
import { decoderOf } from '../graph/model-spec.ts'
import type { Dense } from '../run/dense.ts'
import { type Metric, resolveMetric } from '../run/metrics.ts'
import type { Model } from '../run/model.ts'
import { checkPrompts } from '../run/prompts.ts'
import {
  alignPrompts,
  captureRun,
  metricOfState,
  type Readers,
  readersOf,
  requireCausal,
  sourceLength,
  sweepBase,
} from './base.ts'
import { collectCells, finiteOr, modeFor, ofLayers } from './collect.ts'
import { hasHeads, PATCH_SITE_NAMES, PATCH_SITES, type PatchSite } from './patch-sites.ts'
import { estimateSweep, type SweepCell } from './sweep.ts'
import type { Cell, PatchCell, SweepEstimate, SweepOptions } from './types.ts'

/** What a cell is: one position of a layer, or one head. */
export type PatchBy = 'layer,pos' | 'layer,head'

export { PATCH_SITES, type PatchSite }

export interface PatchOptions extends SweepOptions<PatchCell> {
  readonly site: PatchSite
  readonly by?: PatchBy
  readonly direction?: 'denoise' | 'noise'
  readonly metric: Metric
  /** Who reads the corrupt prompt, where its source is another: `model.reading` of that. Default: the same model. */
  readonly corruptModel?: Model
  readonly onEstimate?: (estimate: SweepEstimate) => void
}

export interface Patched {
  readonly clean: number
  readonly corrupt: number
  /** Positions where the prompts differ; of an encoder–decoder those of the decoder's own texts. */
  readonly differing: readonly number[]
  readonly cells: readonly PatchCell[]
  readonly settings: {
    readonly site: PatchSite
    readonly by: PatchBy
    readonly direction: 'denoise' | 'noise'
    readonly metric: Metric
    /** Under grouped keys and values, a cell's head is a key/value head: the query heads that read it. */
    readonly groups: readonly (readonly number[])[] | null
  }
  readonly warnings: readonly string[]
}

/** Below this share of the larger metric, a normalised effect would be noise. */
const SMALL_DENOMINATOR = 1e-3

/** Throws `bad-prompt` for prompts that cannot be aligned, `bad-edit` for a site or metric that does not fit. */
export async function patch(
  model: Model,
  clean: readonly number[],
  corrupt: readonly number[],
  options: PatchOptions,
): Promise<Patched> {
  requireCausal(model, 'Patching')
  const { site, direction = 'denoise' } = options
  if (direction !== 'denoise' && direction !== 'noise')
    throw new HeadscopeError('bad-edit', `"${direction}" is not a direction; use denoise or noise.`)
  const warnings = checkPrompts([clean, corrupt], model.spec)
  const readers = readersOf(model, options.corruptModel)
  const differing = alignPrompts(clean, corrupt, readers.together)
  const metric = resolveMetric(options.metric, [clean], model.spec.dVocab, model.tokenizer)
  const by = options.by ?? (/(z|pattern)$/.test(site) ? 'layer,head' : 'layer,pos')
  const places = placesOf(model, site, by, clean.length)
  requireOneSource(readers, site)
  // Before the first token that differs both runs are the same, bit for bit: nothing looks ahead. Another source is
  // seen from the first position on.
  const first = readers.together ? (differing[0] ?? clean.length) : 0
  const rows = places.reduce((sum, { pos = first }) => sum + (pos < first ? 0 : clean.length - pos), 0)
  const mode = options.mode ?? modeFor(rows)
  const denoise = direction === 'denoise'
  const engine = (denoise ? readers.corrupt : model).engine(mode)
  const other = (denoise ? model : readers.corrupt).engine(mode)
  const hooks = new Map(engine.hooks.map((hook) => [hook.name, hook]))
  const [into, from] = denoise ? [corrupt, clean] : [clean, corrupt]
  const chosen = ofLayers(places, ({ layer }) => layer, options.layers)
  const wanted = new Set(chosen.map((place) => blockHook(place.layer, PATCH_SITES[site])))
  const base = await sweepBase(engine, into, metric, options.signal)
  const { captured: source, state } = await captureRun(other, from, wanted, options.signal)
  // kl is measured from the run that is patched, at both ends.
  const end = await metricOfState(other, state, metric, base.rows)
  const ends = denoise ? { clean: end, corrupt: base.value } : { clean: base.value, corrupt: end }
  const span = ends.clean - ends.corrupt
  const tiny = Math.abs(span) <= SMALL_DENOMINATOR * Math.max(Math.abs(ends.clean), Math.abs(ends.corrupt))
  if (tiny)
    warnings.push(
      `The metric hardly differs between the prompts (clean ${ends.clean.toPrecision(4)}, corrupt ${ends.corrupt.toPrecision(4)}), so normalised effects do not exist; choose a metric that tells them apart.`,
    )
  const cells = chosen.map((key): SweepCell<Place> => {
    const hook = hooks.get(blockHook(key.layer, PATCH_SITES[site]))!
    const { data, shape } = source.get(hook.name)!
    const value: Dense = { data, shape }
    return {
      key,
      layer: key.layer,
      pos: key.pos === undefined ? first : key.pos < first ? clean.length : key.pos,
      edits: [{ hook, head: key.head ?? null, pos: key.pos ?? null, value }],
    }
  })
  options.onEstimate?.(estimateSweep(engine, cells, base))
  const finish = (place: Place, value: number): PatchCell => {
    const found = finiteOr(value)
    return {
      ...place,
      ...found,
      normalized: found.value === null || tiny ? null : (value - ends.corrupt) / span,
    }
  }
  const results = await collectCells(engine, base, cells, metric, finish, options)
  const settings = { site, by, direction, metric: options.metric, groups: groupsOf(model, site, by) }
  return { ...ends, differing, cells: results, settings, warnings }
}

// --- Internal helpers ---

type Place = Pick<Cell, 'layer' | 'head' | 'pos'>

/** Weights over a source go into a run over one of as many tokens. */
function requireOneSource({ clean, corrupt }: Readers, site: PatchSite): void {
  const [own, other] = [sourceLength(clean), sourceLength(corrupt)]
  if (site !== 'cross_pattern' || own === other) return
  throw new HeadscopeError(
    'bad-edit',
    `${site} has a weight for every token of the source, and the clean source has ${own} and the corrupt one ${other}; use cross_z, or sources of one length.`,
  )
}

function placesOf(model: Model, site: PatchSite, by: PatchBy, length: number): Place[] {
  if (!Object.hasOwn(PATCH_SITES, site))
    throw new HeadscopeError('bad-edit', `"${site}" is not a site; use ${PATCH_SITE_NAMES.join(', ')}.`)
  if (!model.hooks.some(({ name }) => name === blockHook(0, PATCH_SITES[site])))
    throw new HeadscopeError(
      'bad-edit',
      `This model has no ${PATCH_SITES[site]}, so it has no site ${site}; use another.`,
    )
  if (by !== 'layer,pos' && by !== 'layer,head')
    throw new HeadscopeError('bad-edit', `"${String(by)}" is not a sweep; use layer,pos or layer,head.`)
  if (by === 'layer,head' && !hasHeads(site))
    throw new HeadscopeError('bad-edit', `${site} belongs to no single head; sweep it by layer,pos.`)
  return decoderOf(model.spec).layers.flatMap((spec, layer) => {
    const heads = site === 'k' || site === 'v' ? spec.nKvHeads : spec.nHeads
    const count = by === 'layer,pos' ? length : heads
    return Array.from({ length: count }, (_, i) =>
      by === 'layer,pos' ? { layer, pos: i } : { layer, head: i },
    )
  })
}

/** Query heads of each key/value head, where a cell is one. */
function groupsOf(model: Model, site: PatchSite, by: PatchBy): number[][] | null {
  const { nHeads, nKvHeads } = decoderOf(model.spec).layers[0]!
  if (by !== 'layer,head' || (site !== 'k' && site !== 'v') || nHeads === nKvHeads) return null
  const size = nHeads / nKvHeads
  return Array.from({ length: nKvHeads }, (_, kv) => Array.from({ length: size }, (_, i) => kv * size + i))
}
