/**
 * SQL over what is stored as blobs. In: a connection that only reads, and a second one for the blobs (a connection
 * cannot be asked anything while it runs a query). Out: the views
 *   attention(run, item, hook, layer, head, query, key, weight)            every stored weight
 *   edge(run, item, hook, layer, head, query, key, weight, query_token, key_token)   weights of 0.2 or more
 *   residual(run, item, hook, layer, pos, dim, value)                      captures with the axes [pos, d_model]
 * and the table function edge_search(query_token, key_token, min_weight, max_rows), which answers by the fast search.
 * A condition on run, item, hook or layer picks rows by index before any blob is decoded; on head, query or key it
 * filters decoded rows. Cost: about 1 µs per decoded row.
 */
import type Database from 'better-sqlite3'
import { HeadscopeError } from '../errors.ts'
import {
  bytesPerWeight,
  type Codec,
  entriesOf,
  floatsOf,
  rowLength,
  rowStart,
  type StoredDtype,
} from './codec.ts'
import { endOfHead, fromHalfBits, unpackEdges } from './edges.ts'
import { idsOf } from './prompts.ts'
import { layoutOfRow } from './runs.ts'
import { searchEdges } from './search.ts'
import { keySequenceOf, sequenceOfAxis } from './sequences.ts'

/** The names that `addVirtualTables` adds, for whoever lists what can be asked. */
export const VIRTUAL_TABLES = ['attention', 'edge', 'residual', 'edge_search'] as const

/** Adds the views and their table functions to `db`. `blobs` is another connection to the same file. */
export function addVirtualTables(db: Database.Database, blobs: Database.Database): void {
  addAttention(db, blobs)
  addEdges(db, blobs)
  addResidual(db, blobs)
  addSearch(db, blobs)
}

// --- Internal helpers ---

function addAttention(db: Database.Database, blobs: Database.Database): void {
  const row = blobs.prepare<[unknown], PatternRow>(
    'SELECT head, heads, shape, codec, band, dtype, data FROM activation WHERE id = ?',
  )
  db.table('attention_rows', {
    parameters: ['activation'],
    columns: ['head', 'query', 'key', 'weight'],
    *rows(id) {
      const found = row.get(asked('attention_rows', id))
      if (found === undefined || found.head === null) return
      const layout = layoutOfRow(found)
      const size = entriesOf(layout) * bytesPerWeight(found.dtype)
      for (let h = 0; h < found.heads; h++) {
        const weights = floatsOf(found.data.subarray(h * size, (h + 1) * size), found.dtype)
        let at = 0
        for (let q = 0; q < layout.queries; q++) {
          const first = rowStart(layout, q)
          const end = first + rowLength(layout, q)
          for (let k = first; k < end; k++) yield [found.head + h, q, k, weights[at++]]
        }
      }
    },
  })
  // CROSS JOIN keeps this order: first the row is picked by index, then its blob is decoded.
  db.exec(`CREATE TEMP VIEW attention AS
    SELECT a.run, a.item, a.hook, a.layer, c.head, c.query, c.key, c.weight
    FROM run r CROSS JOIN activation a ON a.run = r.id CROSS JOIN attention_rows c ON c.activation = a.id
    WHERE r.complete = 1 AND a.head IS NOT NULL`)
}

function addEdges(db: Database.Database, blobs: Database.Database): void {
  const row = blobs.prepare<
    [unknown],
    { run: number; item: number; edges: number; width: number; hook: string; data: Uint8Array }
  >('SELECT run, item, hook, edges, width, data FROM edge_block WHERE id = ?')
  const promptIds = blobs.prepare<[number, number], { sequence: string; ids: Uint8Array }>(
    'SELECT i.sequence, p.ids FROM run_item i JOIN prompt p ON p.id = i.prompt WHERE i.run = ? AND i.item = ?',
  )
  db.table('edge_rows', {
    parameters: ['block'],
    columns: ['layer', 'head', 'query', 'key', 'weight', 'query_token', 'key_token'],
    *rows(id) {
      const found = row.get(asked('edge_rows', id))
      if (found === undefined) return
      const block = unpackEdges(found.data, found.edges, found.width)
      const sequences = new Map(promptIds.all(found.run, found.item).map((p) => [p.sequence, idsOf(p.ids)]))
      const queries = sequences.get(sequenceOfAxis(found.hook, 'query') ?? 'main')!
      const keys = sequences.get(keySequenceOf(found.hook, ['key']))!
      for (let i = 0; i < block.heads; i++) {
        const end = endOfHead(block, i)
        for (let e = block.directory[3 * i + 2]!; e < end; e++) {
          const [q, k] = [block.query[e]!, block.key[e]!]
          const weight = fromHalfBits(block.weight[e]!)
          yield [block.directory[3 * i], block.directory[3 * i + 1], q, k, weight, queries[q], keys[k]]
        }
      }
    },
  })
  db.exec(`CREATE TEMP VIEW edge AS
    SELECT b.run, b.item, b.hook, c.layer, c.head, c.query, c.key, c.weight, c.query_token, c.key_token
    FROM run r CROSS JOIN edge_block b ON b.run = r.id CROSS JOIN edge_rows c ON c.block = b.id
    WHERE r.complete = 1`)
}

function addResidual(db: Database.Database, blobs: Database.Database): void {
  const row = blobs.prepare<[unknown], { shape: string; axes: string; dtype: StoredDtype; data: Uint8Array }>(
    'SELECT shape, axes, dtype, data FROM activation WHERE id = ?',
  )
  db.table('residual_rows', {
    parameters: ['activation'],
    columns: ['pos', 'dim', 'value'],
    *rows(id) {
      const found = row.get(asked('residual_rows', id))
      if (found === undefined) return
      const width = (JSON.parse(found.shape) as number[]).at(-1)!
      const values = floatsOf(found.data, found.dtype)
      for (let i = 0; i < values.length; i++) yield [Math.floor(i / width), i % width, values[i]]
    },
  })
  db.exec(`CREATE TEMP VIEW residual AS
    SELECT a.run, a.item, a.hook, a.layer, c.pos, c.dim, c.value
    FROM run r CROSS JOIN activation a ON a.run = r.id CROSS JOIN residual_rows c ON c.activation = a.id
    WHERE r.complete = 1 AND a.axes = '["pos","d_model"]'`)
}

/**
 * `SELECT * FROM edge_search WHERE key_token = 9 AND min_weight = 0.3`, or as a call, `edge_search(5, 9, 0.3)`, where
 * -1 stands for any token. Strongest first, 1,000 rows unless `max_rows` says so. A null equals nothing in SQL.
 */
function addSearch(db: Database.Database, blobs: Database.Database): void {
  db.table('edge_search', {
    parameters: ['query_token', 'key_token', 'min_weight', 'max_rows'],
    columns: ['run', 'item', 'hook', 'layer', 'head', 'query', 'key', 'weight'],
    *rows(queryToken, keyToken, minWeight, maxRows) {
      const { examples } = searchEdges(blobs, {
        ...(isToken(queryToken) ? { query: [queryToken] } : {}),
        ...(isToken(keyToken) ? { key: [keyToken] } : {}),
        ...(typeof minWeight === 'number' ? { minWeight } : {}),
        limit: typeof maxRows === 'number' ? maxRows : 1000,
      })
      for (const e of examples) yield [e.run, e.item, e.hook, e.layer, e.head, e.query, e.key, e.weight]
    },
  })
}

function isToken(value: unknown): value is number {
  return typeof value === 'number' && value >= 0
}

interface PatternRow {
  head: number | null
  heads: number
  shape: string
  codec: Codec
  band: number | null
  dtype: StoredDtype
  data: Uint8Array
}

/** The functions behind the views decode one row each; without its id there is nothing to decode. */
function asked(name: string, id: unknown): unknown {
  if (id === undefined || id === null)
    throw new HeadscopeError(
      'bad-request',
      `${name} decodes one stored row; ask the view instead (attention, edge, residual).`,
    )
  return id
}
