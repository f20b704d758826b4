/**
 * What a sweep stands on: the base run with its residuals at block borders and its keys and values, captures of a
 * source run where values come from, and the metric on both.
 */
import { HeadscopeError } from '../errors.ts'
import type { Tensor } from '../graph/tensor.ts'
import { slice } from '../run/dense.ts'
import type { Engine } from '../run/engine.ts'
import { fewTokens, type MetricRows, metricValue, type ResolvedMetric } from '../run/metrics.ts'
import type { Model } from '../run/model.ts'
import { runPass, type State } from '../run/pass.ts'
import { logitsOf } from '../run/predictions.ts'
import { type BaseRun, baseRun } from '../run/restart.ts'
import { tokenLogits } from '../run/token-logits.ts'

export interface SweepBase {
  readonly run: BaseRun
  readonly value: number
  /** Logits of the metric's rows: the unedited run, for kl. */
  readonly rows: MetricRows
  /** Seconds of the base run. */
  readonly seconds: number
}

/** Runs one prompt unedited and keeps what restarts need. */
export async function sweepBase(
  engine: Engine,
  ids: readonly number[],
  metric: ResolvedMetric,
  signal?: AbortSignal,
): Promise<SweepBase> {
  const started = performance.now()
  const run = await baseRun(engine, [ids], signal)
  const rows = await metricRows(engine, run.borders.at(-1)!, metric)
  const seconds = (performance.now() - started) / 1000
  return { run, value: metricValue(metric, rows, rows), rows, seconds }
}

/** Captures of one unedited run, by hook name. */
export async function captureHooks(
  engine: Engine,
  ids: readonly number[],
  hooks: ReadonlySet<string>,
  signal?: AbortSignal,
): Promise<Map<string, Tensor>> {
  return (await captureRun(engine, ids, hooks, signal)).captured
}

/** The same with the last state, so that a metric of that run needs no second pass. */
export async function captureRun(
  engine: Engine,
  ids: readonly number[],
  hooks: ReadonlySet<string>,
  signal?: AbortSignal,
): Promise<{ captured: Map<string, Tensor>; state: State }> {
  const captured = new Map<string, Tensor>()
  const { state } = await runPass(engine, {
    ids: [ids],
    lengths: [ids.length],
    start: 0,
    total: ids.length,
    wanted: hooks,
    edits: [],
    signal,
    onTensor: (hook, tensor) => {
      captured.set(hook.name, tensor)
    },
  })
  return { captured, state }
}

/** Logits of the metric's rows of a one-item state that holds rows 0 … . */
async function metricRows(engine: Engine, state: State, { positions }: ResolvedMetric): Promise<MetricRows> {
  const [first, end] = [positions[0]!, positions.at(-1)! + 1]
  return (await logitsOf(engine, slice(state.get('resid')!, 1, first, end), first, [])).data
}

/**
 * The metric of each item of a state whose rows begin at `start`, not after the metric's last position. `base`: logits
 * of the metric's rows that kl is measured from, and those of rows before `start`. Metrics of one or two logits read
 * only their rows of the unembedding.
 */
export async function metricsOf(
  engine: Engine,
  state: State,
  start: number,
  metric: ResolvedMetric,
  base: MetricRows | null,
): Promise<number[]> {
  const first = metric.positions[0]!
  const from = Math.max(first, start)
  const resid = slice(state.get('resid')!, 1, from - start, metric.positions.at(-1)! + 1 - start)
  const few = fewTokens(metric)
  const { data } = await (few ? tokenLogits(engine, resid, few.tokens) : logitsOf(engine, resid, from, []))
  const items = resid.shape[0]!
  const size = data.length / items
  return Array.from({ length: items }, (_, item) => {
    const own = data.subarray(item * size, (item + 1) * size)
    if (few) return metricValue(few.metric, own, null)
    if (from === first) return metricValue(metric, own, base)
    const rows = base!.slice()
    rows.set(own, rows.length - size)
    return metricValue(metric, rows, base)
  })
}

/** The metric of a one-item state that holds rows 0 … ; `base` as above. */
export async function metricOfState(
  engine: Engine,
  state: State,
  metric: ResolvedMetric,
  base: MetricRows | null,
): Promise<number> {
  return (await metricsOf(engine, state, 0, metric, base))[0]!
}

/** Throws `bad-request` where a decoder reads an encoder: places are named by layer and head of one stack. */
export function requireOneStack(model: Model, what: string): void {
  if (!model.spec.encoderDecoder) return
  throw new HeadscopeError(
    'bad-request',
    `${what} goes over the layers of one stack, and this model has two; give the encoder's text first (model.reading), or edit its hooks (encoder.…, decoder.…) in a run.`,
  )
}

/** Who reads each prompt of a comparison. */
export interface Readers {
  readonly clean: Model
  readonly corrupt: Model
  /** Both read the same source, or there is none: the decoder's texts alone can differ. */
  readonly together: boolean
}

/** `corrupt`: the same checkpoint over another source. Throws `bad-request` for another checkpoint, or without a source. */
export function readersOf(clean: Model, corrupt: Model = clean): Readers {
  if (corrupt === clean) return { clean, corrupt, together: true }
  const [own, other] = [clean.engine().reads, corrupt.engine().reads]
  if (!own || !other || clean.path !== corrupt.path)
    throw new HeadscopeError(
      'bad-request',
      'The corrupt prompt is read by another model; give the same checkpoint over another source (model.reading of each), or leave corruptModel out.',
    )
  return { clean, corrupt, together: own.ids.join() === other.ids.join() }
}

/** Tokens of the source that a model reads; 0 where there is none. */
export function sourceLength(model: Model): number {
  return model.engine().reads?.ids[0]?.length ?? 0
}

/**
 * Two prompts of one length, whose differing positions are named; only what they are read beside may differ where
 * `together` is false. Throws `bad-prompt` with both lengths.
 */
export function alignPrompts(
  clean: readonly number[],
  corrupt: readonly number[],
  together = true,
): number[] {
  if (clean.length !== corrupt.length)
    throw new HeadscopeError(
      'bad-prompt',
      `The clean prompt has ${clean.length} tokens and the corrupt one ${corrupt.length}; patching goes position by position, so replace tokens one for one.`,
    )
  const differing = clean.flatMap((id, pos) => (id === corrupt[pos] ? [] : [pos]))
  if (differing.length === 0 && together)
    throw new HeadscopeError(
      'bad-prompt',
      'The clean and the corrupt prompt are the same; change at least one token.',
    )
  return differing
}

/** One causal decoder: restarts need that nothing before a position depends on it. */
export function requireCausal(model: Model, what: string): void {
  requireOneStack(model, what)
  if (model.spec.stacks.at(-1)!.causal) return
  throw new HeadscopeError(
    'bad-request',
    `${what} restarts runs in the middle, which needs a causal model; this one is bidirectional.`,
  )
}
