/**
 * Ablation of a model that is one graph and cannot restart in its middle (an ONNX file made by others): each place is a
 * whole run with its edits. In: places and the values that replace their hooks. Out: cells. Costs one run a place.
 */
import { decoderOf } from '../graph/model-spec.ts'
import type { Dense } from '../run/dense.ts'
import { type MetricRows, metricValue, type ResolvedMetric } from '../run/metrics.ts'
import type { Model } from '../run/model.ts'
import type { Edit } from '../run/types.ts'
import { finiteOr, ofLayers, placeOf } from './collect.ts'
import type { AblationCell, Cell, SweepEstimate, SweepOptions } from './types.ts'

/** A place of an ablation, and the hooks whose values it replaces. */
export interface AblationPlace {
  readonly key: Pick<Cell, 'layer' | 'head' | 'pos'>
  readonly hooks: readonly string[]
}

/** Places in the order given (of `options.layers`, where given); `values` gives what replaces a hook. Throws `cancelled`. */
export async function ablateByRuns(
  model: Model,
  ids: readonly number[],
  metric: ResolvedMetric,
  places: readonly AblationPlace[],
  values: (hook: string) => Dense,
  options: SweepOptions<AblationCell> & { readonly onEstimate?: (estimate: SweepEstimate) => void },
): Promise<{ readonly base: number; readonly cells: readonly AblationCell[] }> {
  const rowsOf = async (edits: readonly Edit[]): Promise<MetricRows> => {
    const run = await model.run(ids, {
      edits,
      capture: ['logits'],
      top: 0,
      ...(options.signal ? { signal: options.signal } : {}),
    })
    const { data, shape } = run.get('logits')
    const vocab = shape.at(-1)!
    return data.subarray(metric.positions[0]! * vocab, (metric.positions.at(-1)! + 1) * vocab)
  }
  const started = performance.now()
  const base = await rowsOf([])
  const each = (performance.now() - started) / 1000
  const chosen = ofLayers(places, ({ key }) => key.layer, options.layers)
  const known = new Map((options.known ?? []).map((cell) => [placeOf(cell), cell]))
  const blocks = decoderOf(model.spec).layers.length
  options.onEstimate?.({
    cells: chosen.length,
    blockRows: chosen.length * blocks * ids.length,
    baseBytes: 4 * base.length,
    seconds: each * (chosen.length - known.size),
  })
  const value = metricValue(metric, base, base)
  const cells: AblationCell[] = []
  for (const { key, hooks } of chosen) {
    const before = known.get(placeOf(key))
    const cell = before ?? (await cellOf(key, hooks))
    cells.push(cell)
    options.onProgress?.({
      done: cells.length,
      total: chosen.length,
      secondsLeft: each * (chosen.length - cells.length),
    })
    if (!before) options.onCells?.([cell])
  }
  return { base: value, cells }

  async function cellOf(key: AblationPlace['key'], hooks: readonly string[]): Promise<AblationCell> {
    const edits = hooks.map((hook): Edit => {
      const { data, shape } = values(hook)
      const { head, pos } = key
      const place = { ...(head === undefined ? {} : { head }), ...(pos === undefined ? {} : { pos }) }
      return { hook, ...place, op: 'set', from: { values: data, shape } }
    })
    const found = finiteOr(metricValue(metric, await rowsOf(edits), base))
    return { ...key, ...found, delta: found.value === null ? null : found.value - value }
  }
}
