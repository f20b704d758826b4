/**
 * Many edited runs of one prompt by causal restart. A cell names where it restarts (layer, position) and what it sets;
 * cells of one layer and nearly equal suffixes run as one batch on the base run's residuals, keys and values. Logits
 * are made only where the metric looks.
 *
 * Cost in block × rows: Σ over batches of (layers - layer) · (T - first position of the batch) · cells.
 */

import { decoderOf } from '../graph/model-spec.ts'
import { sizeOf } from '../graph/tensor.ts'
import { type Dense, slice, windowed } from '../run/dense.ts'
import type { ResolvedEdit } from '../run/edits.ts'
import type { Engine } from '../run/engine.ts'
import { metricValue, type ResolvedMetric } from '../run/metrics.ts'
import { type KeyValues, runPass, type State, throwIfCancelled } from '../run/pass.ts'
import { logitsOf } from '../run/predictions.ts'
import type { BaseRun } from '../run/restart.ts'
import type { HookInfo } from '../run/segments.ts'
import type { SweepBase } from './base.ts'
import type { SweepEstimate } from './types.ts'

/** One place of a cell's edit: which hook, which of its heads and positions, and the values that go there. */
export interface CellEdit {
  readonly hook: HookInfo
  /** Index along the head (or kv_head) axis; null: all. */
  readonly head: number | null
  /** Position (for patterns: the query); null: all. */
  readonly pos: number | null
  /** [1, …] in the hook's axes, axes of size 1 broadcast. */
  readonly value: Dense
}

/** A run of its own: the edits act at or after (layer, pos). */
export interface SweepCell<K> {
  readonly key: K
  readonly layer: number
  readonly pos: number
  readonly edits: readonly CellEdit[]
}

/** Rows of one batch, all cells together: enough for full speed, few enough to stream. */
const ROWS_PER_BATCH = 512
/** Suffixes in one batch differ by at most this share of the prompt: 1 / 4 leaves a quarter of the rows wasted at most. */
const SUFFIX_GROUPS = 8

export interface Batch<K> {
  readonly layer: number
  readonly pos: number
  readonly cells: readonly SweepCell<K>[]
}

/** The batches of a sweep of a prompt of `length` tokens: cells that restart alike, in groups of near-equal suffixes. */
export function planBatches<K>(cells: readonly SweepCell<K>[], length: number): Batch<K>[] {
  const groups = new Map<string, SweepCell<K>[]>()
  const width = Math.max(1, Math.ceil(length / SUFFIX_GROUPS))
  for (const cell of cells) {
    const shape = cell.edits.map((edit) => edit.hook.name).join()
    const key = `${cell.layer} ${Math.floor(cell.pos / width)} ${shape}`
    const group = groups.get(key) ?? []
    group.push(cell)
    groups.set(key, group)
  }
  return [...groups.values()].flatMap((group) => {
    const pos = Math.min(...group.map((cell) => cell.pos))
    const size = Math.max(1, Math.floor(ROWS_PER_BATCH / (length - pos)))
    const count = Math.ceil(group.length / size)
    const even = Math.ceil(group.length / count)
    return Array.from({ length: count }, (_, i) => {
      const part = group.slice(i * even, (i + 1) * even)
      return { layer: part[0]!.layer, pos: Math.min(...part.map((cell) => cell.pos)), cells: part }
    }).filter((batch) => batch.cells.length > 0)
  })
}

/** Block × rows of a plan. */
export function blockRows<K>(batches: readonly Batch<K>[], layers: number, length: number): number {
  return batches.reduce(
    (sum, batch) => sum + (layers - batch.layer) * (length - batch.pos) * batch.cells.length,
    0,
  )
}

/** What a sweep will cost. */
export function estimateSweep<K>(
  engine: Engine,
  cells: readonly SweepCell<K>[],
  base: SweepBase,
): SweepEstimate {
  const { layers } = decoderOf(engine.model.spec)
  const length = base.run.ids[0]!.length
  const rows = blockRows(planBatches(cells, length), layers.length, length)
  const cacheBytes = layers.reduce((sum, layer) => sum + 8 * layer.nKvHeads * layer.dHead * length, 0)
  const baseBytes = cacheBytes + 4 * (layers.length + 1) * length * engine.model.spec.dModel
  return {
    cells: cells.length,
    blockRows: rows,
    baseBytes,
    seconds: (base.seconds * rows) / (layers.length * length),
  }
}

/**
 * Runs the cells and hands out each with its metric, batch by batch. Throws `cancelled` between blocks; what was
 * handed out before stays valid.
 */
export async function runSweep<K>(
  engine: Engine,
  base: SweepBase,
  cells: readonly SweepCell<K>[],
  metric: ResolvedMetric,
  onBatch: (results: readonly { key: K; value: number }[], rows: number) => void,
  signal?: AbortSignal,
): Promise<void> {
  const length = base.run.ids[0]!.length
  const layers = decoderOf(engine.model.spec).layers.length
  for (const batch of planBatches(cells, length)) {
    throwIfCancelled(signal)
    const state = await restartBatch(engine, base.run, batch, signal)
    const values = await metricOf(engine, state, batch, metric, base)
    onBatch(
      batch.cells.map((cell, i) => ({ key: cell.key, value: values[i]! })),
      (layers - batch.layer) * (length - batch.pos) * batch.cells.length,
    )
  }
}

/** The last residual of each cell of a batch, rows pos … T - 1 [cells, rows, d_model]. */
export async function restartBatch<K>(
  engine: Engine,
  base: BaseRun,
  batch: Batch<K>,
  signal?: AbortSignal,
): Promise<State> {
  const ids = base.ids[0]!
  const count = batch.cells.length
  const window = { start: batch.pos, rows: ids.length - batch.pos, keys: ids.length }
  const axes = engine.model.state
  const border = new Map(
    [...base.borders[batch.layer]!].map(
      ([part, value]) => [part, repeated(windowed(value, axes[part]!, window), count)] as const,
    ),
  )
  const { state } = await runPass(engine, {
    ids: batch.cells.map(() => ids.slice(batch.pos)),
    lengths: batch.cells.map(() => ids.length),
    start: batch.pos,
    total: ids.length,
    from: { layer: batch.layer, state: border },
    past: base.keyValues.map((past, layer) =>
      layer < batch.layer ? undefined : repeatedPast(past, batch.pos, count),
    ),
    wanted: new Set(),
    edits: batchEdits(batch.cells, ids.length),
    signal,
  })
  return state
}

/** The cells' edits as slots with one mask and value per item. */
export function batchEdits<K>(cells: readonly SweepCell<K>[], length: number): ResolvedEdit[] {
  return cells[0]!.edits.map((first, slot) => {
    const edits = cells.map((cell) => cell.edits[slot]!)
    return { hook: first.hook, kind: 'set', value: stackedValues(edits), mask: stackedMasks(edits, length) }
  })
}

// --- Internal helpers ---

async function metricOf<K>(
  engine: Engine,
  state: State,
  batch: Batch<K>,
  metric: ResolvedMetric,
  base: SweepBase,
): Promise<number[]> {
  const first = metric.positions[0]!
  const end = metric.positions.at(-1)! + 1
  // Rows before the restart are those of the base run, whatever the edit.
  const from = Math.max(first, batch.pos)
  const vocab = base.rows.length / metric.positions.length
  const count = end - from
  if (count <= 0) return batch.cells.map(() => base.value)
  const resid = slice(state.get('resid')!, 1, from - batch.pos, end - batch.pos)
  const { data } = await logitsOf(engine, resid, from, [])
  return batch.cells.map((_, i) => {
    const own = data.subarray(i * count * vocab, (i + 1) * count * vocab)
    if (from === first) return metricValue(metric, own, base.rows)
    const rows = base.rows.slice()
    rows.set(own, (from - first) * vocab)
    return metricValue(metric, rows, base.rows)
  })
}

/** The same item `count` times. */
function repeated(dense: Dense, count: number): Dense {
  if (count === 1) return dense
  const data = new Float32Array(dense.data.length * count)
  for (let i = 0; i < count; i++) data.set(dense.data, i * dense.data.length)
  return { data, shape: [count, ...dense.shape.slice(1)] }
}

function repeatedPast(past: KeyValues, rows: number, count: number): KeyValues {
  const part = (dense: Dense) => repeated(slice(dense, 2, 0, rows), count)
  return { k: part(past.k), v: part(past.v) }
}

/** One value where all items share it, else one per item. */
function stackedValues(edits: readonly CellEdit[]): Dense {
  const first = edits[0]!.value
  if (edits.every((edit) => edit.value.data === first.data)) return first
  const size = first.data.length
  const data = new Float32Array(size * edits.length)
  edits.forEach((edit, i) => {
    data.set(edit.value.data, i * size)
  })
  return { data, shape: [edits.length, ...first.shape.slice(1)] }
}

function stackedMasks(edits: readonly CellEdit[], length: number): Dense<Uint8Array> {
  const { axes, shape: sizes } = edits[0]!.hook
  const headAxis = axes.findIndex((axis) => axis === 'head' || axis === 'kv_head')
  const rowAxis = axes.findIndex((axis) => axis === 'pos' || axis === 'query')
  const shape = axes.map((_, i) => {
    if (i === 0) return edits.length
    if (i === headAxis && edits.some((edit) => edit.head !== null)) return sizes[i] as number
    return i === rowAxis && edits.some((edit) => edit.pos !== null) ? length : 1
  })
  const data = new Uint8Array(sizeOf(shape))
  const stride = (axis: number) => sizeOf(shape.slice(axis + 1))
  edits.forEach((edit, item) => {
    const heads =
      headAxis < 0 || shape[headAxis] === 1 ? [0] : edit.head === null ? range(shape[headAxis]!) : [edit.head]
    const rows = rowAxis < 0 || shape[rowAxis] === 1 ? [0] : edit.pos === null ? range(length) : [edit.pos]
    for (const head of heads)
      for (const row of rows) {
        const at =
          item * stride(0) +
          (headAxis < 0 ? 0 : head * stride(headAxis)) +
          (rowAxis < 0 ? 0 : row * stride(rowAxis))
        data[at] = 1
      }
  })
  return { data, shape }
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i)
}
