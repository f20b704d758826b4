/** Reads what runs hold. In: run, item, hook or head. Out: plain data and tensors. Only complete runs exist here. */
import type Database from 'better-sqlite3'
import { HeadscopeError } from '../errors.ts'
import type { Axis } from '../graph/axes.ts'
import { blockHook, headName } from '../graph/hook-names.ts'
import { sizeOf, type Tensor } from '../graph/tensor.ts'
import {
  bytesPerWeight,
  type Codec,
  entriesOf,
  floatsOf,
  type PatternLayout,
  type StoredDtype,
  unpackPattern,
} from './codec.ts'
import { unpackPredictions } from './predictions.ts'
import type { Prompts } from './prompts.ts'
import { SIDE, spread, thumbnailBytes } from './thumbnails.ts'
import type { PatternBytes, RunSummary, StoredItem, StoredRunDetail, Thumbnails } from './types.ts'

export interface RunReads {
  /** Newest first. */
  listRuns(): RunSummary[]
  run(id: number): StoredRunDetail
  runBytes(id: number): number
  /** The hooks stored for an item, in the order they were written. */
  hooks(id: number, item?: number): string[]
  /** `where` is a layer (its self-attention) or a pattern hook's full name. */
  patternBytes(id: number, item: number, where: number | string, head: number): PatternBytes
  /** [query, key], float32; 0 where nothing was stored. */
  pattern(id: number, item: number, where: number | string, head: number): Tensor
  /** Any capture of one item, its own part: `blocks.0.hook_resid_pre` is [pos, d_model], a pattern [head, query, key]. */
  tensor(id: number, item: number, hook: string): Tensor
  residual(id: number, item: number, hook: string): Tensor
  /** `hook` as in `thumbnails.hook`; the item's first kind of attention unless given. */
  thumbnails(id: number, item: number, hook?: string): Thumbnails
}

const SUMMARY = `SELECT r.id, r.provenance, r.model_name, r.tokens, r.created, r.bytes, r.edits,
    CASE WHEN si.run IS NULL THEN p.text ELSE sp.text END AS text,
    (SELECT count(*) FROM run_item i WHERE i.run = r.id AND i.sequence = 'main') AS items,
    EXISTS (SELECT 1 FROM activation a WHERE a.run = r.id) AS captures
  FROM run r JOIN run_item ri ON ri.run = r.id AND ri.item = 0 AND ri.sequence = 'main' JOIN prompt p ON p.id = ri.prompt
  LEFT JOIN run_item si ON si.run = r.id AND si.item = 0 AND si.sequence = 'source' LEFT JOIN prompt sp ON sp.id = si.prompt
  WHERE r.complete = 1`

/** Statements over run, run_item, activation, prediction and thumbnail. */
export function runReads(db: Database.Database, prompts: Prompts): RunReads {
  const list = db.prepare<[], SummaryRow>(`${SUMMARY} ORDER BY r.id DESC`)
  const one = db.prepare<[number], SummaryRow & DetailRow>(
    `${SUMMARY.replace('SELECT', 'SELECT r.spec, r.warnings,')} AND r.id = ?`,
  )
  const exists = db.prepare('SELECT bytes FROM run WHERE id = ? AND complete = 1').pluck()
  const itemRows = db.prepare<[number], ItemRow>(
    'SELECT item, sequence, prompt, loss FROM run_item WHERE run = ? ORDER BY item, sequence',
  )
  const predictionRows = db.prepare<[number], { item: number; top: number; data: Uint8Array }>(
    'SELECT item, top, data FROM prediction WHERE run = ?',
  )
  const hookRows = db
    .prepare('SELECT hook FROM activation WHERE run = ? AND item = ? GROUP BY hook ORDER BY min(id)')
    .pluck()
  const headRow = db.prepare<[number, number, string, number, number], ActivationRow>(
    `SELECT a.* FROM activation a JOIN run r ON r.id = a.run
     WHERE a.run = ? AND a.item = ? AND a.hook = ? AND a.head <= ? AND a.head + a.heads > ? AND r.complete = 1`,
  )
  const rowsOf = db.prepare<[number, number, string], ActivationRow>(
    `SELECT a.* FROM activation a JOIN run r ON r.id = a.run
     WHERE a.run = ? AND a.item = ? AND a.hook = ? AND r.complete = 1 ORDER BY ifnull(a.head, -1)`,
  )
  const thumbnailRow = db.prepare<[number, number, string | null, string | null], ThumbnailRow>(
    `SELECT t.* FROM thumbnail t JOIN run r ON r.id = t.run
     WHERE t.run = ? AND t.item = ? AND (? IS NULL OR t.hook = ?) AND r.complete = 1 ORDER BY t.id LIMIT 1`,
  )

  function mustExist(id: number): number {
    const bytes = exists.get(id) as number | undefined
    if (bytes === undefined)
      throw new HeadscopeError(
        'not-found',
        `Run ${id} is not in this workspace; list the runs to see what is.`,
      )
    return bytes
  }

  function run(id: number): StoredRunDetail {
    mustExist(id)
    const row = one.get(id)!
    const predictions = new Map(predictionRows.all(id).map((p) => [p.item, unpackPredictions(p.data, p.top)]))
    const rows = itemRows.all(id)
    const sources = new Map(
      rows.filter((r) => r.sequence === 'source').map((r) => [r.item, prompts.read(r.prompt)]),
    )
    const itemList = rows
      .filter((r) => r.sequence === 'main')
      .map(
        (r): StoredItem => ({
          ...prompts.read(r.prompt),
          loss: r.loss,
          positions: predictions.get(r.item) ?? [],
          source: sources.get(r.item) ?? null,
        }),
      )
    return {
      ...summaryOf(row),
      provenance: JSON.parse(row.provenance),
      spec: row.spec === null ? null : JSON.parse(row.spec),
      warnings: JSON.parse(row.warnings),
      itemList,
      hooks: hookRows.all(id, 0) as string[],
    }
  }

  function patternBytes(id: number, item: number, where: number | string, head: number): PatternBytes {
    const hook = typeof where === 'number' ? blockHook(where, 'attn.hook_pattern') : where
    const row = headRow.get(id, item, hook, head, head)
    if (!row) {
      mustExist(id)
      const name = typeof where === 'number' ? headName(where, head) : `head ${head} of ${hook}`
      throw new HeadscopeError(
        'not-found',
        `Run ${id} holds no pattern of ${name} for item ${item}; run it again with ${hook} captured.`,
      )
    }
    const layout = layoutOfRow(row)
    const size = entriesOf(layout) * bytesPerWeight(row.dtype)
    const from = (head - row.head!) * size
    return {
      ...layout,
      bytes: row.data.subarray(from, from + size),
      dtype: row.dtype,
      shape: [layout.queries, layout.keys],
      querySequence: row.query_sequence,
      keySequence: row.key_sequence,
    }
  }

  function pattern(id: number, item: number, where: number | string, head: number): Tensor {
    const stored = patternBytes(id, item, where, head)
    return {
      data: unpackPattern(stored.bytes, stored, stored.dtype),
      shape: stored.shape,
      axes: ['query', 'key'],
    }
  }

  function tensor(id: number, item: number, hook: string): Tensor {
    const rows = rowsOf.all(id, item, hook)
    const first = rows[0]
    if (!first) {
      mustExist(id)
      throw new HeadscopeError(
        'not-found',
        `Run ${id} holds no ${hook} for item ${item}; run it again with that hook captured.`,
      )
    }
    const shape = JSON.parse(first.shape) as number[]
    const axes = JSON.parse(first.axes) as Axis[]
    if (first.head === null) return { data: floatsOf(first.data, first.dtype), shape, axes }
    const heads = rows.reduce((sum, row) => sum + row.heads!, 0)
    const size = sizeOf(shape)
    const data = new Float32Array(heads * size) // [head, query, key]
    for (const row of rows) {
      const layout = layoutOfRow(row)
      const bytes = entriesOf(layout) * bytesPerWeight(row.dtype)
      for (let i = 0; i < row.heads!; i++)
        data.set(
          unpackPattern(row.data.subarray(i * bytes, (i + 1) * bytes), layout, row.dtype),
          (row.head! + i) * size,
        )
    }
    return { data, shape: [heads, ...shape], axes: ['head', ...axes] }
  }

  function residual(id: number, item: number, hook: string): Tensor {
    const found = tensor(id, item, hook)
    if (found.axes.join() !== 'pos,d_model')
      throw new HeadscopeError(
        'bad-request',
        `${hook} has axes [${found.axes}]; a residual has [pos,d_model].`,
      )
    return found
  }

  function thumbnails(id: number, item: number, hook?: string): Thumbnails {
    const row = thumbnailRow.get(id, item, hook ?? null, hook ?? null)
    if (!row) {
      mustExist(id)
      throw new HeadscopeError(
        'not-found',
        `Run ${id} holds no patterns for item ${item}, so it has no thumbnails.`,
      )
    }
    const places = JSON.parse(row.heads) as [layer: number, head: number][]
    const layers = [...new Set(places.map(([layer]) => layer))].sort((a, b) => a - b)
    const heads = 1 + Math.max(...places.map(([, head]) => head))
    const data = new Uint8Array(layers.length * heads * SIDE * SIDE) // [layer, head, 32, 32]
    const causal = row.codec === 'tri'
    const size = thumbnailBytes(row.rows, row.columns, causal)
    places.forEach(([layer, head], i) => {
      const at = (layers.indexOf(layer) * heads + head) * SIDE * SIDE
      spread(row.data.subarray(i * size, (i + 1) * size), row.rows, row.columns, causal, data, at)
    })
    return { hook: row.hook, layers, heads, side: SIDE, data }
  }

  return {
    listRuns: () => list.all().map(summaryOf),
    run,
    runBytes: mustExist,
    hooks: (id, item = 0) => {
      mustExist(id)
      return hookRows.all(id, item) as string[]
    },
    patternBytes,
    pattern,
    tensor,
    residual,
    thumbnails,
  }
}

/** The layout of a stored row of heads. */
export function layoutOfRow(row: { shape: string; codec: Codec; band: number | null }): PatternLayout {
  const [queries, keys] = JSON.parse(row.shape) as [number, number]
  return { codec: row.codec, queries, keys, band: row.band }
}

// --- Internal helpers ---

interface SummaryRow {
  id: number
  provenance: string
  model_name: string
  tokens: number
  created: string
  bytes: number
  edits: number
  text: string | null
  items: number
  captures: number
}

interface DetailRow {
  spec: string | null
  warnings: string
}

interface ItemRow {
  item: number
  sequence: string
  prompt: number
  loss: number | null
}

interface ActivationRow {
  shape: string
  axes: string
  head: number | null
  heads: number | null
  query_sequence: 'main' | 'source'
  key_sequence: 'main' | 'source'
  codec: Codec
  dtype: StoredDtype
  band: number | null
  data: Uint8Array
}

interface ThumbnailRow {
  hook: string
  rows: number
  columns: number
  codec: 'tri' | 'full'
  heads: string
  data: Uint8Array
}

function summaryOf(row: SummaryRow): RunSummary {
  const { modelPath, contentHash } = JSON.parse(row.provenance)
  return {
    id: row.id,
    model: modelPath,
    modelName: row.model_name,
    contentHash,
    text: row.text,
    items: row.items,
    tokens: row.tokens,
    created: row.created,
    bytes: row.bytes,
    edits: row.edits,
    captures: row.captures === 1,
  }
}
