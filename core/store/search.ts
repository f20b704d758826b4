/**
 * Heads where X attends to Y above t, over every stored run. In: token ids, threshold, limits to a model, run or head.
 * Out: counts per head and the strongest places. Reads the packed edges, about 100 million a second; the token index
 * leaves out prompts that lack a wanted token. Below 0.2 it reads the stored patterns, and says so in `source`.
 * A weight counts as t or more when its float16 is at least the float16 of t.
 */
/// <reference lib="esnext.float16" />
import type Database from 'better-sqlite3'
import { HeadscopeError } from '../errors.ts'
import {
  aligned,
  bytesPerWeight,
  type Codec,
  entriesOf,
  floatsOf,
  type PatternLayout,
  rowLength,
  rowStart,
  type StoredDtype,
} from './codec.ts'
import { EDGE_WEIGHT, type EdgeBlock, endOfHead, halfBits, unpackEdges } from './edges.ts'
import { collectHits, type HeadEntry, type Hits } from './hits.ts'
import { layoutOfRow } from './runs.ts'
import { keySequenceOf, type SequenceName, sequenceOfAxis, stackOf } from './sequences.ts'
import type { EdgeQuery, EdgeSearch } from './types.ts'

const LARGEST = 0x7bff // the largest finite float16

/** Below this share of all items each one is looked up; above it the blocks are read in the order of the file. */
const LOOK_UP_SHARE = 0.25

/** A wanted token that stands in more places than this is found faster in the prompts than in the index. */
const COMMON = 5000

/** Bytes of the file that a search maps: what SQLite allows at most. */
const MAPPED = 0x7fff0000

/** Throws `bad-request` for a threshold that is no weight. */
export function searchEdges(db: Database.Database, query: EdgeQuery): EdgeSearch {
  const least = query.minWeight ?? EDGE_WEIGHT
  if (!(least >= 0))
    throw new HeadscopeError(
      'bad-request',
      `minWeight ${query.minWeight} is not a weight; give a number of 0 or more.`,
    )
  // Reading through a map of the file takes a third of the time. It is left on: every new map costs its page faults.
  db.pragma(`mmap_size = ${MAPPED}`)
  const places = placesOf(db, query)
  const found = collectHits(query.limit ?? 100)
  if (least < EDGE_WEIGHT) {
    visitPatterns(db, query, halfBits(least), places, found)
    return { source: 'patterns', items: places.size, ...found.result() }
  }
  visitBlocks(db, query, halfBits(least), places, found)
  return { source: 'edges', items: places.size, ...found.result() }
}

// --- Internal helpers ---

/** An item to look at: of a complete run, and holding every wanted token somewhere. */
type Place = PlaceRow & { flags(side: 'query' | 'key', sequence: SequenceName): Uint8Array | null }

interface PlaceRow {
  readonly run: number
  readonly item: number
  readonly contentHash: string | null
  readonly prompt: number
  readonly source: number | null
}

/** 1 where a wanted token stands, by prompt; prompts without one are absent. null when any token will do. */
type Flags = Map<number, Uint8Array> | null

const NONE = new Uint8Array(0)

/** The items to look at, by `placeKey`. */
function placesOf(db: Database.Database, query: EdgeQuery): Map<number, Place> {
  const sides = { query: flagsOf(db, query.query), key: flagsOf(db, query.key) }
  const wanted = Object.values(sides).filter((side) => side !== null)
  // The rarer token says which prompts can hold both; without one, all can.
  const rarest = wanted.sort((a, b) => a.size - b.size)[0]
  const few = rarest && rarest.size < COMMON
  const rows = db
    .prepare<unknown[], [number, number, string | null, number, number | null]>(
      `SELECT m.run, m.item, c.content_hash, m.prompt, s.prompt
       FROM run r JOIN run_item m ON m.run = r.id AND m.sequence = 'main'
       LEFT JOIN run_item s ON s.run = m.run AND s.item = m.item AND s.sequence = 'source'
       LEFT JOIN checkpoint c ON c.id = r.checkpoint
       WHERE r.complete = 1 AND (@edited OR r.edits = 0) AND (@run IS NULL OR r.id = @run)
         AND (@hash IS NULL OR c.content_hash = @hash)
         ${few ? 'AND r.id IN (SELECT run FROM run_item WHERE prompt IN (SELECT value FROM json_each(@prompts)))' : ''}`,
    )
    .raw()
    .all({
      edited: Number(query.edited ?? false),
      run: query.run ?? null,
      hash: query.contentHash ?? null,
      ...(few ? { prompts: JSON.stringify([...rarest.keys()]) } : {}),
    })
  const places = new Map<number, Place>()
  for (const [run, item, contentHash, prompt, source] of rows) {
    if (!wanted.every((side) => side.has(prompt) || (source !== null && side.has(source)))) continue
    places.set(placeKey(run, item), {
      run,
      item,
      contentHash,
      prompt,
      source,
      flags(side, sequence) {
        const flags = sides[side]
        return flags && (flags.get(sequence === 'main' ? prompt : source!) ?? NONE)
      },
    })
  }
  return places
}

/** Items of a run are fewer than a million. */
function placeKey(run: number, item: number): number {
  return run * 1_000_000 + item
}

function flagsOf(db: Database.Database, ids: readonly number[] | undefined): Flags {
  if (ids === undefined) return null
  const list = JSON.stringify(ids)
  const isCommon = db
    .prepare('SELECT 1 FROM token WHERE id IN (SELECT value FROM json_each(?)) LIMIT 1 OFFSET ?')
    .pluck()
    .get(list, COMMON)
  return isCommon === undefined ? flagsByIndex(db, list) : flagsByReading(db, new Set(ids))
}

function flagsByIndex(db: Database.Database, list: string): Map<number, Uint8Array> {
  const places = db
    .prepare<[string], [prompt: number, pos: number]>(
      'SELECT prompt, pos FROM token WHERE id IN (SELECT value FROM json_each(?)) ORDER BY prompt, pos DESC',
    )
    .raw()
  const found = new Map<number, Uint8Array>()
  for (const [prompt, pos] of places.all(list)) {
    const flags = found.get(prompt) ?? new Uint8Array(pos + 1)
    flags[pos] = 1
    found.set(prompt, flags)
  }
  return found
}

function flagsByReading(db: Database.Database, wanted: ReadonlySet<number>): Map<number, Uint8Array> {
  const found = new Map<number, Uint8Array>()
  const prompts = db.prepare<[], [prompt: number, ids: Uint8Array]>('SELECT id, ids FROM prompt').raw()
  for (const [prompt, blob] of prompts.all()) {
    const data = aligned(blob, 4)
    const tokens = new Int32Array(data.buffer, data.byteOffset, data.byteLength / 4)
    let flags: Uint8Array | undefined
    for (let pos = 0; pos < tokens.length; pos++) {
      if (!wanted.has(tokens[pos]!)) continue
      flags ??= new Uint8Array(tokens.length)
      flags[pos] = 1
    }
    if (flags) found.set(prompt, flags)
  }
  return found
}

type BlockRow = [run: number, item: number, hook: string, edges: number, width: number, data: Uint8Array]

/** Packed edges of all places. */
function visitBlocks(
  db: Database.Database,
  query: EdgeQuery,
  least: number,
  places: Map<number, Place>,
  found: Hits,
): void {
  for (const [run, item, hook, edges, width, data] of blockRows(db, places)) {
    const place = places.get(placeKey(run, item))
    if (!place || (query.hook !== undefined && hook !== query.hook)) continue
    const block = unpackEdges(data, edges, width)
    const atQuery = place.flags('query', sequenceOfAxis(hook, 'query')!) ?? anywhere(width, block.query)
    const atKey = place.flags('key', keySequenceOf(hook, ['key'])) ?? anywhere(width, block.key)
    const entries = found.entries(place.contentHash, hook)
    for (let i = 0; i < block.heads; i++) {
      const layer = block.directory[3 * i]!
      const head = block.directory[3 * i + 1]!
      if (query.layer !== undefined && layer !== query.layer) continue
      if (query.head !== undefined && head !== query.head) continue
      visitHead(block, i, atQuery, atKey, least, found, place, entries(layer, head))
    }
  }
}

function* blockRows(db: Database.Database, places: Map<number, Place>): Iterable<BlockRow> {
  const columns = 'SELECT run, item, hook, edges, width, data FROM edge_block'
  const all = db.prepare('SELECT max(id) FROM edge_block').pluck().get() as number | null
  if (places.size >= LOOK_UP_SHARE * (all ?? 0)) {
    yield* db.prepare<[], BlockRow>(columns).raw().iterate()
    return
  }
  const one = db.prepare<[number, number], BlockRow>(`${columns} WHERE run = ? AND item = ?`).raw()
  for (const { run, item } of places.values()) yield* one.all(run, item)
}

/** All ones, for as many positions as a block of this width can name. */
function anywhere(width: number, positions: Uint8Array | Uint16Array | Uint32Array): Uint8Array {
  const needed = width < 4 ? 2 ** (8 * width) : 1 + Array.from(positions).reduce((a, b) => Math.max(a, b), 0)
  if (ones.length < needed) ones = new Uint8Array(needed).fill(1)
  return ones
}
let ones = new Uint8Array(256).fill(1)

function visitHead(
  block: EdgeBlock,
  i: number,
  atQuery: Uint8Array,
  atKey: Uint8Array,
  least: number,
  found: Hits,
  place: Place,
  entry: HeadEntry,
): void {
  const { query, key, weight } = block
  const end = endOfHead(block, i)
  let { bar } = found // read once: a getter in the inner loop costs more than all the rest
  let count = 0
  let largest = 0
  for (let e = block.directory[3 * i + 2]!; e < end; e++) {
    const bits = weight[e]!
    if (bits < least || atQuery[query[e]!] !== 1 || atKey[key[e]!] !== 1) continue
    count++
    if (bits > largest) largest = bits
    if (bits > bar) bar = found.keep(place, entry, query[e]!, key[e]!, bits)
  }
  found.count(entry, count, largest)
}

interface HeadsRow {
  hook: string
  layer: number
  head: number
  heads: number
  shape: string
  codec: Codec
  band: number | null
  dtype: StoredDtype
  data: Uint8Array
}

/** Stored patterns of all places: every weight is looked at, a hundred times as many bytes as the edges. */
function visitPatterns(
  db: Database.Database,
  query: EdgeQuery,
  least: number,
  places: Map<number, Place>,
  found: Hits,
): void {
  const rows = db.prepare<unknown[], HeadsRow>(
    `SELECT hook, layer, head, heads, shape, codec, band, dtype, data FROM activation
     WHERE run = @run AND item = @item AND head IS NOT NULL AND (@layer IS NULL OR layer = @layer)
       AND (@head IS NULL OR (head <= @head AND head + heads > @head))`,
  )
  const limits = { layer: query.layer ?? null, head: query.head ?? null }
  for (const place of places.values()) {
    for (const row of rows.all({ run: place.run, item: place.item, ...limits })) {
      const stack = stackOf(row.hook)
      if (query.hook !== undefined && stack !== query.hook) continue
      const layout = layoutOfRow(row)
      const bytes = entriesOf(layout) * bytesPerWeight(row.dtype)
      const atQuery = place.flags('query', sequenceOfAxis(row.hook, 'query')!)
      const atKey = place.flags('key', keySequenceOf(row.hook, ['key']))
      const entries = found.entries(place.contentHash, stack)
      for (let h = 0; h < row.heads; h++) {
        if (query.head !== undefined && row.head + h !== query.head) continue
        const weights = floatsOf(row.data.subarray(h * bytes, (h + 1) * bytes), row.dtype)
        const bits = new Int16Array(Float16Array.from(weights).buffer)
        visitPattern(bits, layout, atQuery, atKey, least, found, place, entries(row.layer, row.head + h))
      }
    }
  }
}

function visitPattern(
  bits: Int16Array,
  layout: PatternLayout,
  atQuery: Uint8Array | null,
  atKey: Uint8Array | null,
  least: number,
  found: Hits,
  place: Place,
  entry: HeadEntry,
): void {
  let at = 0
  let { bar } = found // read once: a getter in the inner loop costs more than all the rest
  let count = 0
  let largest = 0
  for (let q = 0; q < layout.queries; q++) {
    const first = rowStart(layout, q)
    const end = first + rowLength(layout, q)
    for (let k = first; k < end; k++) {
      const b = bits[at++]!
      if (b < least || b > LARGEST) continue
      if ((atQuery !== null && atQuery[q] !== 1) || (atKey !== null && atKey[k] !== 1)) continue
      count++
      if (b > largest) largest = b
      if (b > bar) bar = found.keep(place, entry, q, k, b)
    }
  }
  found.count(entry, count, largest)
}
