/**
 * Writes one run as its captures stream in. In: provenance and prompts, then a tensor per hook. Out: rows of run,
 * run_item, activation, edge_block, thumbnail and prediction.
 * Every write is one short transaction (BEGIN IMMEDIATE), so that other processes can write between two layers;
 * `complete` is set by the last one. Memory: one layer's heads of one item, plus summaries until the end.
 * Cost (12 layers × 12 heads × 256 × 256 with 13 residuals 256 × 768): see test/bench/store.ts.
 */
/// <reference lib="esnext.float16" />
import type Database from 'better-sqlite3'
import { HeadscopeError } from '../errors.ts'
import { parseHook } from '../graph/hook-names.ts'
import type { Tensor } from '../graph/tensor.ts'
import { bytesOf, entriesOf, layoutOf, type PatternSource, packRows } from './codec.ts'
import { cropItem } from './crop.ts'
import { packPredictions } from './predictions.ts'
import { guarded, storeProblem } from './problem.ts'
import { keepCheckpoint, type Prompts } from './prompts.ts'
import { checkpointOf, insertRun } from './run-begin.ts'
import { keySequenceOf, type SequenceName, sequenceOfAxis } from './sequences.ts'
import { summaryRows } from './summary-rows.ts'
import type { RunInfo, RunOutcome, RunWriter } from './types.ts'

/** Heads share a row until its blob is about this large: a row wastes up to a page. A head of 1,024 tokens has its own. */
const ROW_BYTES = 2 ** 20

/** Begins a run. Throws `bad-request` for an empty run or one that does not fit itself. */
export function beginRun(db: Database.Database, path: string, prompts: Prompts, info: RunInfo): RunWriter {
  const { items, provenance } = info
  if (items.length === 0 || items.some((item) => item.ids.length === 0))
    throw new HeadscopeError(
      'bad-request',
      'A stored run needs at least one item, each with at least one token.',
    )
  const insertActivation = db.prepare(
    `INSERT INTO activation (run, item, hook, layer, head, heads, shape, axes, query_sequence, key_sequence, codec, dtype, band, data)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const hooks = new Set<string>()
  const summaries = summaryRows(db)
  let bytes = 0
  let state: 'open' | 'complete' | 'gone' = 'open'

  const id = inTransaction(() => insertRun(db, prompts, info))

  function write(hook: string, tensor: Tensor): void {
    mustBeOpen()
    if (hooks.has(hook))
      throw new HeadscopeError(
        'bad-request',
        `${hook} was written to this run already; each hook is stored once.`,
      )
    if (tensor.axes[0] !== 'batch' || tensor.shape[0] !== items.length)
      throw new HeadscopeError(
        'bad-request',
        `${hook} has shape [${tensor.shape}] with axes [${tensor.axes}]; a run of ${items.length} items stores [batch ${items.length}, …].`,
      )
    orAbort(() => {
      for (let item = 0; item < items.length; item++) {
        if (isPattern(hook, tensor)) writePattern(hook, tensor, item)
        else writeWhole(hook, tensor, item)
      }
    })
    hooks.add(hook)
  }

  /** Length of each axis after batch, as this item has it. */
  function ownShape(hook: string, tensor: Tensor, item: number): number[] {
    return tensor.axes.slice(1).map((axis, i) => {
      const size = tensor.shape[i + 1]!
      const sequence = sequenceOfAxis(hook, axis)
      if (sequence === null) return size
      const length = lengthOf(hook, sequence, item)
      if (size < length)
        throw new HeadscopeError(
          'bad-request',
          `${hook} has ${size} places on its ${axis} axis, but item ${item} has ${length} tokens.`,
        )
      return length
    })
  }

  function lengthOf(hook: string, sequence: SequenceName, item: number): number {
    const length = sequence === 'main' ? items[item]!.ids.length : items[item]!.source?.ids.length
    if (length === undefined)
      throw new HeadscopeError(
        'bad-request',
        `${hook} runs over the encoder's tokens, but item ${item} was given without a source.`,
      )
    return length
  }

  function writePattern(hook: string, tensor: Tensor, item: number): void {
    const [, heads, padded, keysPadded] = tensor.shape as [number, number, number, number]
    const [, queries, keys] = ownShape(hook, tensor, item) as [number, number, number]
    const source: PatternSource = {
      data: tensor.data,
      start: item * heads * padded * keysPadded,
      heads,
      headStride: padded * keysPadded,
      rowStride: keysPadded,
      queries,
      keys,
    }
    const layer = parseHook(hook).layer
    const layout = layoutOf(source)
    const size = entriesOf(layout)
    const group = Math.max(1, Math.min(heads, Math.floor(ROW_BYTES / (size * 2))))
    const collected = summaries.of(hook, item, queries, keys)
    for (let first = 0; first < heads; first += group) {
      const count = Math.min(group, heads - first)
      const half = new Float16Array(count * size)
      packRows(source, layout, first, count, half)
      const fits = collected.look(new Int16Array(half.buffer), layout, layer ?? 0, first, count)
      const dtype = info.dtype === 'f32' || !fits ? 'f32' : 'f16'
      const data = dtype === 'f16' ? half : new Float32Array(count * size)
      if (data !== half) packRows(source, layout, first, count, data)
      insert(
        hook,
        item,
        layer,
        first,
        count,
        [queries, keys],
        ['query', 'key'],
        layout.codec,
        dtype,
        layout.band,
        bytesOf(data),
      )
    }
  }

  function writeWhole(hook: string, tensor: Tensor, item: number): void {
    const shape = ownShape(hook, tensor, item)
    const data = bytesOf(cropItem(tensor, item, shape))
    insert(
      hook,
      item,
      parseHook(hook).layer,
      null,
      null,
      shape,
      tensor.axes.slice(1),
      'full',
      'f32',
      null,
      data,
    )
  }

  function insert(
    hook: string,
    item: number,
    layer: number | null,
    head: number | null,
    heads: number | null,
    shape: readonly number[],
    axes: readonly string[],
    codec: string,
    dtype: string,
    band: number | null,
    data: Buffer,
  ): void {
    const query = axes.includes('query')
      ? sequenceOfAxis(hook, 'query')!
      : (sequenceOfAxis(hook, 'pos') ?? 'main')
    const key = keySequenceOf(hook, axes)
    insertActivation.run(
      id,
      item,
      hook,
      layer,
      head,
      heads,
      JSON.stringify(shape),
      JSON.stringify(axes),
      query,
      key,
      codec,
      dtype,
      band,
      data,
    )
    bytes += data.byteLength
  }

  function complete(outcome: RunOutcome = {}): number {
    mustBeOpen()
    orAbort(() => {
      bytes += summaries.write(id)
      outcome.items?.forEach((item, i) => {
        db.prepare("UPDATE run_item SET loss = ? WHERE run = ? AND item = ? AND sequence = 'main'").run(
          item.loss,
          id,
          i,
        )
        if (!item.positions || item.positions.length === 0) return
        const { top, data } = packPredictions(item.positions)
        db.prepare('INSERT INTO prediction (run, item, top, data) VALUES (?, ?, ?, ?)').run(id, i, top, data)
        bytes += data.byteLength
      })
      const contentHash = outcome.contentHash ?? provenance.contentHash
      const checkpoint = contentHash === null ? null : keepCheckpoint(db, checkpointOf(info, contentHash))
      const done = db
        .prepare(
          'UPDATE run SET checkpoint = ?, provenance = ?, warnings = ?, bytes = ?, complete = 1 WHERE id = ?',
        )
        .run(
          checkpoint,
          JSON.stringify({ ...provenance, contentHash }),
          JSON.stringify([...(info.warnings ?? []), ...(outcome.warnings ?? [])]),
          bytes,
          id,
        )
      if (done.changes !== 1)
        throw new HeadscopeError('not-found', `Run ${id} was deleted while it was being written.`)
    })
    state = 'complete'
    return id
  }

  function abort(): void {
    if (state !== 'open') return
    state = 'gone'
    guarded(path, () => deleteRun(db, id))
  }

  /** One transaction; after a failure nothing of this run is left. */
  function orAbort(work: () => void): void {
    try {
      inTransaction(work)
    } catch (error) {
      try {
        abort()
      } catch {
        // What could not be removed now stays incomplete, unseen, and is removed at a later open for writing.
      }
      throw error
    }
  }

  function inTransaction<T>(work: () => T): T {
    try {
      return db.transaction(work).immediate() as T
    } catch (error) {
      throw storeProblem(error, path)
    }
  }

  function mustBeOpen(): void {
    if (state !== 'open')
      throw new HeadscopeError(
        'bad-request',
        `Run ${id} is ${state === 'complete' ? 'complete' : 'aborted'}; begin a new one.`,
      )
  }

  return { id, write, complete, abort }
}

/** Removes a run and all that was stored for it. Prompts and checkpoints stay. False when there was none. */
export function deleteRun(db: Database.Database, id: number): boolean {
  return db
    .transaction(() => db.prepare('DELETE FROM run WHERE id = ?').run(id).changes > 0)
    .immediate() as boolean
}

// --- Internal helpers ---

function isPattern(hook: string, tensor: Tensor): boolean {
  return hook.endsWith('hook_pattern') && tensor.axes.join() === 'batch,head,query,key'
}
