/**
 * Many edited runs of one prompt by causal restart. A cell names where it restarts (layer, position) and what it sets.
 * Cells of nearly equal suffixes run as one batch that goes up through the blocks once: each cell joins it at its own
 * layer from the base run's residuals, so that every block multiplies many rows at a time. Keys and values before the
 * suffix are the base run's, and so are those that cross-attention made of the source. Logits are made only where the metric looks. A cell that changes nothing (its position is
 * the prompt's length) is the base run and costs nothing.
 *
 * Cost in block × rows: Σ over cells of (layers - layer) · (T - first position of its batch).
 */

import { decoderOf } from '../graph/model-spec.ts'
import { sizeOf } from '../graph/tensor.ts'
import { type Dense, slice, windowed } from '../run/dense.ts'
import type { ResolvedEdit } from '../run/edits.ts'
import type { Engine } from '../run/engine.ts'
import type { ResolvedMetric } from '../run/metrics.ts'
import { type KeyValues, runPass, type State, throwIfCancelled } from '../run/pass.ts'
import type { BaseRun } from '../run/restart.ts'
import type { HookInfo } from '../run/segments.ts'
import { metricsOf, type SweepBase } from './base.ts'
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
  /** The prompt's length where the edits change nothing. */
  readonly pos: number
  readonly edits: readonly CellEdit[]
}

/** Rows of one batch, all cells together: enough for full speed, few enough to stream. */
export const ROWS_PER_BATCH = 1024
/** Suffixes in one batch differ by less than this share of the prompt. */
const SUFFIX_GROUPS = 16

/** Cells that run together: each joins the batch at its own layer. */
export interface Batch<K> {
  readonly pos: number
  /** Ascending layers. */
  readonly cells: readonly SweepCell<K>[]
}

/** The batches of a sweep of a prompt of `length` tokens: changing cells of one kind, in groups of near-equal suffixes. */
export function planBatches<K>(cells: readonly SweepCell<K>[], length: number): Batch<K>[] {
  const groups = new Map<string, SweepCell<K>[]>()
  const width = Math.max(1, Math.ceil(length / SUFFIX_GROUPS))
  const changing = cells.filter((cell) => cell.pos < length)
  for (const cell of changing.sort((one, other) => one.layer - other.layer)) {
    const places = cell.edits.map((edit) => edit.hook.name.replace(`.${cell.layer}.`, '.*.')).join()
    const key = `${Math.floor(cell.pos / width)} ${places}`
    const group = groups.get(key) ?? []
    group.push(cell)
    groups.set(key, group)
  }
  return [...groups.values()].flatMap((group) => {
    const pos = Math.min(...group.map((cell) => cell.pos))
    const size = Math.max(1, Math.floor(ROWS_PER_BATCH / (length - pos)))
    const count = Math.ceil(group.length / size)
    const even = Math.ceil(group.length / count)
    return Array.from({ length: count }, (_, i) => group.slice(i * even, (i + 1) * even))
      .filter((part) => part.length > 0)
      .map((part) => ({ pos: Math.min(...part.map((cell) => cell.pos)), cells: part }))
  })
}

/** Block × rows of a plan. */
export function blockRows<K>(batches: readonly Batch<K>[], layers: number, length: number): number {
  return batches.reduce((sum, batch) => sum + rowsOf(batch, layers, length), 0)
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
  const unchanged = cells.filter((cell) => cell.pos >= length)
  if (unchanged.length > 0)
    onBatch(
      unchanged.map(({ key }) => ({ key, value: base.value })),
      0,
    )
  for (const batch of planBatches(cells, length)) {
    throwIfCancelled(signal)
    const state = await restartBatch(engine, base.run, batch, signal)
    // Before its first row a batch is the base run, whatever the edit.
    const values =
      metric.positions.at(-1)! < batch.pos
        ? null
        : await metricsOf(engine, state, batch.pos, metric, base.rows)
    onBatch(
      batch.cells.map((cell, i) => ({ key: cell.key, value: values ? values[i]! : base.value })),
      rowsOf(batch, layers, length),
    )
  }
}

/**
 * The last residual of each cell of a batch, rows pos … T - 1 [cells, rows, d_model]. The batch goes up through the
 * blocks once: at each layer the cells that restart there join it from the base run.
 */
export async function restartBatch<K>(
  engine: Engine,
  base: BaseRun,
  batch: Batch<K>,
  signal?: AbortSignal,
): Promise<State> {
  const ids = base.ids[0]!
  const end = decoderOf(engine.model.spec).layers.length
  const window = { start: batch.pos, rows: ids.length - batch.pos, keys: ids.length }
  const stops = [...new Set(batch.cells.map((cell) => cell.layer))]
  const axes = engine.model.state
  let state: State = new Map()
  let count = 0
  for (const [i, layer] of stops.entries()) {
    const joining = batch.cells.filter((cell) => cell.layer === layer)
    const border = [...base.borders[layer]!].map(
      ([part, value]) => [part, repeated(windowed(value, axes[part]!, window), joining.length)] as const,
    )
    state = new Map(border.map(([part, value]) => [part, joined(state.get(part), value)]))
    const before = count
    count += joining.length
    const to = stops[i + 1] ?? end
    const past = base.keyValues.map((one, at) =>
      at < layer || at >= to ? undefined : repeatedPast(one, batch.pos, count),
    )
    const suffix = ids.slice(batch.pos)
    state = (
      await runPass(engine, {
        ids: Array.from({ length: count }, () => suffix),
        lengths: new Array<number>(count).fill(ids.length),
        start: batch.pos,
        total: ids.length,
        from: { layer, state },
        to,
        past,
        wanted: new Set(),
        edits: batchEdits(joining, ids.length, before),
        signal,
      })
    ).state
  }
  return state
}

/** The cells' edits as slots with one mask and value per item; `before` items stand in front of them, unedited. */
export function batchEdits<K>(cells: readonly SweepCell<K>[], length: number, before = 0): ResolvedEdit[] {
  return cells[0]!.edits.map((first, slot) => {
    const edits = cells.map((cell) => cell.edits[slot]!)
    return {
      hook: first.hook,
      kind: 'set',
      value: stackedValues(edits, before),
      mask: stackedMasks(edits, length, before),
    }
  })
}

/** Rows 0 … rows - 1 of one item's keys and values `count` times, and those of its source, which every row meets. */
export function repeatedPast({ k, v, cross }: KeyValues, rows: number, count: number): KeyValues {
  const part = (dense: Dense) => repeated(slice(dense, 2, 0, rows), count)
  const past = { k: part(k), v: part(v) }
  return cross ? { ...past, cross: { k: repeated(cross.k, count), v: repeated(cross.v, count) } } : past
}

// --- Internal helpers ---

function rowsOf<K>(batch: Batch<K>, layers: number, length: number): number {
  return batch.cells.reduce((sum, cell) => sum + (layers - cell.layer) * (length - batch.pos), 0)
}

/** Items of one array, then those of another. */
function joined(first: Dense | undefined, second: Dense): Dense {
  if (!first) return second
  const data = new Float32Array(first.data.length + second.data.length)
  data.set(first.data)
  data.set(second.data, first.data.length)
  return { data, shape: [first.shape[0]! + second.shape[0]!, ...first.shape.slice(1)] }
}

/** The same item `count` times. */
export function repeated(dense: Dense, count: number): Dense {
  if (count === 1) return dense
  const data = new Float32Array(dense.data.length * count)
  for (let i = 0; i < count; i++) data.set(dense.data, i * dense.data.length)
  return { data, shape: [count, ...dense.shape.slice(1)] }
}

/** One value where all items share it, else one per item. */
function stackedValues(edits: readonly CellEdit[], before: number): Dense {
  const first = edits[0]!.value
  if (edits.every((edit) => edit.value.data === first.data)) return first
  const size = first.data.length
  const data = new Float32Array(size * (before + edits.length))
  edits.forEach((edit, i) => {
    data.set(edit.value.data, (before + i) * size)
  })
  return { data, shape: [before + edits.length, ...first.shape.slice(1)] }
}

function stackedMasks(edits: readonly CellEdit[], length: number, before: number): Dense<Uint8Array> {
  const { axes, shape: sizes } = edits[0]!.hook
  const headAxis = axes.findIndex((axis) => axis === 'head' || axis === 'kv_head')
  const rowAxis = axes.findIndex((axis) => axis === 'pos' || axis === 'query')
  const shape = axes.map((_, i) => {
    if (i === 0) return before + edits.length
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
          (before + item) * stride(0) +
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
