/**
 * Ablation: what the metric loses without a head, an MLP, a layer or a position. zero: the output is 0; mean: its mean
 * over a corpus (position by position or over all positions; corpus and n are said); resample: its value on another
 * prompt of the same length. The ablation point of a head is z, so the bias b_O stays.
 *
 * zero and mean ablations are off the model's distribution to a degree; see Heimersheim and Nanda 2404.15255.
 */
import { HeadscopeError } from '../errors.ts'
import { blockHook } from '../graph/hook-names.ts'
import { decoderOf } from '../graph/model-spec.ts'
import type { Tensor } from '../graph/tensor.ts'
import { meanOver } from '../run/corpus-mean.ts'
import type { Dense } from '../run/dense.ts'
import { type Metric, resolveMetric } from '../run/metrics.ts'
import type { Model } from '../run/model.ts'
import { checkPrompts } from '../run/prompts.ts'
import type { HookInfo } from '../run/segments.ts'
import { type AblationPlace, ablateByRuns } from './ablate-runs.ts'
import { captureHooks, requireCausal, sweepBase } from './base.ts'
import { collectCells, finiteOr, modeFor, ofLayers } from './collect.ts'
import { directEffects } from './direct.ts'
import { estimateSweep, type SweepCell } from './sweep.ts'
import type { AblationCell, Cell, SweepEstimate, SweepOptions } from './types.ts'

/** `cross_heads`: the heads with which a decoder looks at what its encoder read. */
export type AblateOver = 'heads' | 'cross_heads' | 'mlps' | 'layers' | 'positions'
export type AblateKind = 'zero' | 'mean' | 'resample'

export interface AblateOptions extends SweepOptions<AblationCell> {
  readonly over: AblateOver
  readonly kind: AblateKind
  readonly metric: Metric
  /** mean: the corpus; resample: one prompt of the same length. */
  readonly reference?: readonly (readonly number[])[]
  /** mean: over all positions, or position by position (prompts of one length). */
  readonly meanOver?: 'all' | 'pos'
  readonly onEstimate?: (estimate: SweepEstimate) => void
}

export interface Ablated {
  readonly base: number
  readonly cells: readonly AblationCell[]
  readonly settings: {
    readonly over: AblateOver
    readonly kind: AblateKind
    readonly metric: Metric
    /** Prompts and positions behind a mean. */
    readonly reference: { readonly prompts: number; readonly positions: number } | null
  }
  readonly warnings: readonly string[]
}

/** Throws `bad-edit`, `bad-prompt` or `bad-request` before anything runs, `cancelled` by the signal. */
export async function ablate(model: Model, ids: readonly number[], options: AblateOptions): Promise<Ablated> {
  requireCausal(model, 'Ablation')
  const warnings = checkPrompts([ids], model.spec)
  const metric = resolveMetric(options.metric, [ids], model.spec.dVocab, model.tokenizer)
  const places = placesOf(model, options.over, ids.length)
  const hooks = new Map(model.hooks.map((hook) => [hook.name, hook]))
  const targets = [...new Set(places.flatMap((place) => place.hooks))]
  const settings = { over: options.over, kind: options.kind, metric: options.metric }
  if (model.spec.family === 'onnx') {
    const capture: Capture = async (prompt, wanted) => {
      const run = await model.run(prompt, { capture: [...wanted], ...signalOf(options) })
      return new Map([...wanted].map((name) => [name, run.get(name)]))
    }
    const values = await replacements(model, capture, ids, targets, options)
    const made = await ablateByRuns(
      model,
      ids,
      metric,
      places,
      (name) => values.of(hooks.get(name)!),
      options,
    )
    return { ...made, settings: { ...settings, reference: values.reference }, warnings }
  }
  const engine = model.engine(options.mode ?? modeFor(places.length * ids.length))
  const capture: Capture = (prompt, wanted) => captureHooks(engine, prompt, wanted, options.signal)
  const values = await replacements(model, capture, ids, targets, options)
  const chosen = ofLayers(places, ({ key }) => key.layer, options.layers)
  const cells = chosen.map(({ key, hooks: names }): SweepCell<Place> => {
    const edits = names.map((name) => {
      const hook = hooks.get(name)!
      return { hook, head: key.head ?? null, pos: key.pos ?? null, value: values.of(hook) }
    })
    return { key, layer: key.layer, pos: key.pos ?? 0, edits }
  })
  const base = await sweepBase(engine, ids, metric, options.signal)
  options.onEstimate?.(estimateSweep(engine, cells, base))
  const direct =
    options.over === 'heads'
      ? await directEffects(
          model,
          ids,
          metric,
          options.kind === 'zero' ? null : (layer) => values.of(hooks.get(blockHook(layer, 'attn.hook_z'))!),
          options.signal,
        )
      : null
  const finish = (place: Place, value: number): AblationCell => {
    const found = finiteOr(value)
    const delta = found.value === null ? null : value - base.value
    const own = direct?.get(`${place.layer} ${place.head}`)
    return { ...place, ...found, delta, ...(own === undefined ? {} : { direct: own }) }
  }
  return {
    base: base.value,
    cells: await collectCells(engine, base, cells, metric, finish, options),
    settings: { ...settings, reference: values.reference },
    warnings,
  }
}

// --- Internal helpers ---

type Place = Pick<Cell, 'layer' | 'head' | 'pos'>

/** Hooks of an unedited run of one prompt. */
type Capture = (ids: readonly number[], hooks: ReadonlySet<string>) => Promise<ReadonlyMap<string, Tensor>>

function signalOf({ signal }: AblateOptions): { signal?: AbortSignal } {
  return signal ? { signal } : {}
}

/** Every place of a sweep and the hooks whose values it replaces. */
function placesOf(model: Model, over: AblateOver, length: number): AblationPlace[] {
  const { layers } = decoderOf(model.spec)
  const has = (local: string) => model.hooks.some(({ name }) => name === blockHook(0, local))
  const cross = has('hook_cross_attn_out')
  const written = (layer: number) =>
    ['hook_attn_out', ...(cross ? ['hook_cross_attn_out'] : []), 'hook_mlp_out'].map((local) =>
      blockHook(layer, local),
    )
  if (over === 'cross_heads' && !cross)
    throw new HeadscopeError(
      'bad-request',
      'This model has no cross-attention, so there are no cross_heads; ablate over heads.',
    )
  return layers.flatMap((spec, layer): AblationPlace[] => {
    switch (over) {
      case 'heads':
        return range(spec.nHeads).map((head) => ({
          key: { layer, head },
          hooks: [blockHook(layer, 'attn.hook_z')],
        }))
      case 'cross_heads':
        return range(spec.nHeads).map((head) => ({
          key: { layer, head },
          hooks: [blockHook(layer, 'cross_attn.hook_z')],
        }))
      case 'mlps':
        return [{ key: { layer }, hooks: [blockHook(layer, 'hook_mlp_out')] }]
      case 'layers':
        return [{ key: { layer }, hooks: written(layer) }]
      case 'positions':
        return range(length).map((pos) => ({ key: { layer, pos }, hooks: written(layer) }))
      default:
        throw new HeadscopeError(
          'bad-request',
          `"${String(over)}" is not something to ablate over; use heads, cross_heads, mlps, layers or positions.`,
        )
    }
  })
}

/** The values that go in the place of each hook. */
async function replacements(
  model: Model,
  capture: Capture,
  ids: readonly number[],
  names: readonly string[],
  options: AblateOptions,
) {
  const absent = names.find((name) => !model.hooks.some((hook) => hook.name === name))
  if (absent !== undefined)
    throw new HeadscopeError(
      'bad-request',
      `${absent} is no hook of this model, so nothing there can be ablated; inspect --hooks lists those that it has.`,
    )
  const hooks = model.hooks.filter((hook) => names.includes(hook.name))
  if (options.kind === 'zero') {
    const zero = (hook: HookInfo): Dense => ({ data: new Float32Array(1), shape: hook.axes.map(() => 1) })
    const values = new Map(hooks.map((hook) => [hook.name, zero(hook)]))
    return { of: (hook: HookInfo) => values.get(hook.name)!, reference: null }
  }
  const reference = options.reference ?? []
  if (options.kind === 'resample') {
    const [other] = reference
    if (reference.length !== 1 || other!.length !== ids.length)
      throw new HeadscopeError(
        'bad-request',
        `resample takes values from one other prompt of the same length (${ids.length} tokens), but the reference holds ${reference.length === 1 ? `one of ${other!.length}` : `${reference.length} prompts`}.`,
      )
    const sums = await accumulate(model, capture, reference, hooks, 'pos')
    return { ...sums, reference: { prompts: 1, positions: ids.length } }
  }
  if (options.kind !== 'mean')
    throw new HeadscopeError(
      'bad-request',
      `"${String(options.kind)}" is not an ablation; use zero, mean or resample.`,
    )
  if (reference.length === 0)
    throw new HeadscopeError(
      'bad-request',
      'A mean needs a corpus, but the reference is empty; give at least one prompt.',
    )
  const over = options.meanOver ?? 'all'
  if (over === 'pos' && reference.some((prompt) => prompt.length !== ids.length))
    throw new HeadscopeError(
      'bad-request',
      `A mean position by position needs reference prompts of the prompt's length (${ids.length} tokens); use the mean over all positions, or prompts of that length.`,
    )
  return accumulate(model, capture, reference, hooks, over)
}

/** Mean of each hook over prompts, and over positions where `over` is all. */
async function accumulate(
  model: Model,
  capture: Capture,
  prompts: readonly (readonly number[])[],
  hooks: readonly HookInfo[],
  over: 'all' | 'pos',
) {
  checkPrompts(prompts, model.spec)
  const mean = meanOver(over, 'The mean of the reference')
  const wanted = new Set(hooks.map((hook) => hook.name))
  for (const ids of prompts)
    for (const [name, tensor] of await capture(ids, wanted)) mean.tensor(name, tensor)
  const values = mean.finish()
  return {
    of: (hook: HookInfo): Dense => values.get(hook.name)!,
    reference: { prompts: prompts.length, positions: prompts.reduce((sum, ids) => sum + ids.length, 0) },
  }
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i)
}
