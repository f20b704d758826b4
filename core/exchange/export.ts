/**
 * What a workspace holds, as a file: a run as safetensors, .npz, CSV or JSON; an experiment (scans and their scores
 * too) as CSV or JSON. In: a store and a name. Out: one file, whole or not at all. Cost: one tensor in memory at a time
 * for one item, all items of one hook for a batch.
 */
import { extname } from 'node:path'
import type { HeadScores } from '../analysis/types.ts'
import {
  type TensorToWrite,
  temporaryFile,
  writeError,
  writeSafetensors,
} from '../checkpoint/safetensors-write.ts'
import { HeadscopeError } from '../errors.ts'
import { sizeOf, type Tensor } from '../graph/tensor.ts'
import type { Store } from '../store/capture-store.ts'
import type { StoredRunDetail } from '../store/types.ts'
import { type NamedArray, writeNpz } from './npz.ts'

export type Exported =
  | { readonly kind: 'run'; readonly id: number; readonly hooks: readonly string[] }
  | { readonly kind: 'experiment'; readonly id: number; readonly rows: number }

const TENSORS = ['.safetensors', '.npz']
const TABLES = ['.csv', '.json']

/**
 * Exports `12` or `run:12` (a run), or `experiment:3`. The format is the file's extension. Throws `bad-request` for an
 * unknown name or format, `not-found` for what the store lacks, `no-space` on a full disk.
 */
export function exportStored(store: Store, what: string, file: string): Exported {
  const match = /^(?:(run|experiment):)?(\d+)$/.exec(what)
  if (!match)
    throw new HeadscopeError(
      'bad-request',
      `${JSON.stringify(what)} names nothing that can be exported; write a run's number (12) or experiment:3.`,
    )
  const id = Number(match[2])
  const format = extname(file).toLowerCase()
  const allowed = match[1] === 'experiment' ? TABLES : [...TENSORS, ...TABLES]
  if (!allowed.includes(format))
    throw new HeadscopeError(
      'bad-request',
      `${file} says no format for this; its name must end in ${allowed.join(', ')}.`,
    )
  return match[1] === 'experiment'
    ? exportExperiment(store, id, file, format)
    : exportRun(store, id, file, format)
}

/** Rows as CSV: RFC 4180, first row the titles; null is empty. */
export function csv(rows: readonly (readonly (string | number | null)[])[]): string {
  const cell = (value: string | number | null) => {
    const text = value === null ? '' : String(value)
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
  }
  return rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('')
}

// --- Internal helpers ---

function exportRun(store: Store, id: number, file: string, format: string): Exported {
  const run = store.run(id)
  const { hooks } = run
  if (format === '.csv') writeText(file, csv(predictionRows(run)))
  else if (format === '.json') writeText(file, `${JSON.stringify(runDocument(run))}\n`)
  else {
    const ids = paddedIds(run)
    if (format === '.npz') writeNpz(file, arrays(store, run, ids))
    else
      writeSafetensors(file, [
        ...ids,
        ...hooks.map(
          (hook): TensorToWrite => ({
            name: hook,
            shape: batchShape(store, run, hook),
            dtype: 'F32',
            data: function* () {
              const { data } = batched(store, run, hook)
              yield new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
            },
          }),
        ),
      ])
  }
  return { kind: 'run', id, hooks }
}

function* arrays(store: Store, run: StoredRunDetail, ids: readonly NamedArray[]): Iterable<NamedArray> {
  yield* ids
  for (const hook of run.hooks) yield { name: hook, ...batched(store, run, hook) }
}

/** `input_ids` and `attention_mask` [batch, pos], and the encoder's ids under their usual names where there are two texts. */
function paddedIds(run: StoredRunDetail): (NamedArray & TensorToWrite)[] {
  const padded = (name: string, rows: readonly (readonly number[])[]) => {
    const longest = Math.max(...rows.map((row) => row.length))
    const data = rows.flatMap((row) => Array.from({ length: longest }, (_, pos) => BigInt(row[pos] ?? 0)))
    return { name, shape: [rows.length, longest], data: BigInt64Array.from(data) }
  }
  const main = run.itemList.map((item) => item.ids)
  const sources = run.itemList.flatMap((item) => (item.source ? [item.source.ids] : []))
  const both = sources.length === main.length
  const first = both ? sources : main
  const mask = padded(
    'attention_mask',
    first.map((row) => row.map(() => 1)),
  )
  return [padded('input_ids', first), mask, ...(both ? [padded('decoder_input_ids', main)] : [])]
}

/** Shape of a hook over the batch: each axis the largest of the items. */
function batchShape(store: Store, run: StoredRunDetail, hook: string): number[] {
  const shapes = run.itemList.map((_, item) => store.tensor(run.id, item, hook).shape)
  return [shapes.length, ...shapes[0]!.map((_, axis) => Math.max(...shapes.map((shape) => shape[axis]!)))]
}

/** A hook's tensors of all items, right-padded with 0. */
function batched(store: Store, run: StoredRunDetail, hook: string): { data: Float32Array; shape: number[] } {
  const shape = batchShape(store, run, hook)
  const own = shape.slice(1)
  const data = new Float32Array(sizeOf(shape))
  run.itemList.forEach((_, item) => {
    place(store.tensor(run.id, item, hook), data, item * sizeOf(own), own)
  })
  return { data, shape }
}

function place(tensor: Tensor, into: Float32Array, offset: number, shape: readonly number[]): void {
  const copy = (axis: number, from: number, to: number): void => {
    if (axis === shape.length - 1) {
      into.set(tensor.data.subarray(from, from + tensor.shape[axis]!), to)
      return
    }
    const fromStep = sizeOf(tensor.shape.slice(axis + 1))
    const toStep = sizeOf(shape.slice(axis + 1))
    for (let i = 0; i < tensor.shape[axis]!; i++) copy(axis + 1, from + i * fromStep, to + i * toStep)
  }
  copy(0, 0, offset)
}

function runDocument(run: StoredRunDetail) {
  const { itemList, ...rest } = run
  return { ...rest, items: itemList.map(({ prompt: _, ...item }) => item) }
}

/** One row a position: the token, its loss, and the likeliest next tokens. */
function predictionRows(run: StoredRunDetail): (string | number | null)[][] {
  const width = Math.max(
    0,
    ...run.itemList.flatMap((item) => item.positions.map((position) => position.top.length)),
  )
  const titles = ['item', 'pos', 'id', 'token', 'loss_of_next']
  for (let n = 1; n <= width; n++) titles.push(`next_${n}_id`, `next_${n}_logit`, `next_${n}_prob`)
  const rows = run.itemList.flatMap((item, n) =>
    item.ids.map((id, pos) => {
      const position = item.positions[pos]
      const top = Array.from({ length: width }, (_, k) => position?.top[k])
      return [
        n,
        pos,
        id,
        item.tokens?.[pos]?.text ?? null,
        position?.loss ?? null,
        ...top.flatMap((one) => [one?.id ?? null, one?.logit ?? null, one?.prob ?? null]),
      ]
    }),
  )
  return [titles, ...rows]
}

function exportExperiment(store: Store, id: number, file: string, format: string): Exported {
  const found = store.experiment(id)
  const heads = store.scores(id)
  const table = heads.length > 0 ? scoreRows(heads) : cellRows(found.cellList)
  const whole = heads.length > 0 ? { ...found, heads } : found
  writeText(file, format === '.json' ? `${JSON.stringify(whole)}\n` : csv(table))
  return { kind: 'experiment', id, rows: table.length - 1 }
}

/** One row a head and score. */
function scoreRows(heads: readonly HeadScores[]): (string | number | null)[][] {
  const rows = heads.flatMap(({ layer, head, scores }) =>
    Object.entries(scores).map(([score, { value, n, rows, low, high, why }]) => [
      layer,
      head,
      score,
      value,
      n,
      rows,
      low,
      high,
      why ?? null,
    ]),
  )
  return [['layer', 'head', 'score', 'value', 'n', 'rows', 'low', 'high', 'why'], ...rows]
}

/** Cells of an experiment: their fields are columns, those of objects inside (scores) as `difference.low`. */
function cellRows(
  cells: readonly { readonly key: string; readonly value: unknown }[],
): (string | number | null)[][] {
  const flat = cells.map(({ key, value }) => ({ key, fields: fieldsOf(value) }))
  const columns = [...new Set(flat.flatMap(({ fields }) => [...fields.keys()]))]
  const rows = flat.map(({ key, fields }) => [key, ...columns.map((name) => shown(fields.get(name)))])
  return [['key', ...columns], ...rows]
}

/** Lists stay lists; a cell that is a bare number is its `value`. */
function fieldsOf(value: unknown): Map<string, unknown> {
  const fields = new Map<string, unknown>()
  const add = (name: string, one: unknown): void => {
    if (!one || typeof one !== 'object' || Array.isArray(one)) fields.set(name || 'value', one)
    else for (const [key, part] of Object.entries(one)) add(name ? `${name}.${key}` : key, part)
  }
  add('', value)
  return fields
}

function shown(value: unknown): string | number | null {
  if (value === null || value === undefined) return null
  return typeof value === 'number' || typeof value === 'string' ? value : JSON.stringify(value)
}

function writeText(file: string, text: string): void {
  let target: ReturnType<typeof temporaryFile> | null = null
  try {
    target = temporaryFile(file)
    target.write(Buffer.from(text))
    target.commit()
  } catch (error) {
    throw writeError(file, error)
  } finally {
    target?.discard()
  }
}
