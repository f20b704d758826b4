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
import { type Place, placeKey, placesOf } from './search-places.ts'
import { keySequenceOf, sequenceOfAxis, stackOf } from './sequences.ts'
import type { EdgeQuery, EdgeSearch } from './types.ts'

const LARGEST = 0x7bff // the largest finite float16

/** Below this share of all items each one is looked up; above it the blocks are read in the order of the file. */
const LOOK_UP_SHARE = 0.25

/** A row is looked up where a head has more edges than this for each wanted row; else all of them are read. */
const EDGES_PER_ROW_FOUND = 24

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
    const atQuery = place.flags('query', sequenceOfAxis(hook, 'query')!)
    const atKey = place.flags('key', keySequenceOf(hook, ['key']))
    visitBlock(block, query, { query: atQuery, key: atKey }, least, found, place, hook)
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

function placesOfOnes(flags: Uint8Array): number[] {
  const places: number[] = []
  for (let at = flags.indexOf(1); at !== -1; at = flags.indexOf(1, at + 1)) places.push(at)
  return places
}

/** Where a wanted token stands in an item, on each side; null where any token will do. */
interface Wanted {
  readonly query: Uint8Array | null
  readonly key: Uint8Array | null
}

/** Edges of a block's heads. They are ordered by query, so that few wanted rows are looked up instead of all read. */
function visitBlock(
  block: EdgeBlock,
  { layer: onlyLayer, head: onlyHead }: EdgeQuery,
  { query: atQuery, key: atKey }: Wanted,
  least: number,
  found: Hits,
  place: Place,
  hook: string,
): void {
  const { directory, query, key, weight } = block
  const rows = atQuery && placesOfOnes(atQuery)
  const entries = found.entries(place.contentHash, hook)
  let { bar } = found // read once: a getter in the inner loop costs more than all the rest
  for (let i = 0; i < block.heads; i++) {
    const layer = directory[3 * i]!
    const head = directory[3 * i + 1]!
    if ((onlyLayer !== undefined && layer !== onlyLayer) || (onlyHead !== undefined && head !== onlyHead))
      continue
    const end = endOfHead(block, i)
    let from = directory[3 * i + 2]!
    const lookUp = rows !== null && rows.length * EDGES_PER_ROW_FOUND < end - from
    const entry = entries(layer, head)
    let count = 0
    let largest = 0
    for (let range = 0; range < (lookUp ? rows.length : 1); range++) {
      if (lookUp) from = firstOfRow(query, from, end, rows[range]!)
      const to = lookUp ? firstOfRow(query, from, end, rows[range]! + 1) : end
      for (; from < to; from++) {
        if (atKey !== null && atKey[key[from]!] !== 1) continue
        if (atQuery !== null && atQuery[query[from]!] !== 1) continue
        const bits = weight[from]!
        if (bits < least) continue
        count++
        if (bits > largest) largest = bits
        if (bits > bar) bar = found.keep(place, entry, query[from]!, key[from]!, bits)
      }
    }
    found.count(entry, place, count, largest)
  }
}

/** First edge in [from, end) whose query is `q` or more. */
function firstOfRow(query: EdgeBlock['query'], from: number, end: number, q: number): number {
  let low = from
  let high = end
  while (low < high) {
    const middle = (low + high) >>> 1
    if (query[middle]! < q) low = middle + 1
    else high = middle
  }
  return low
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
  found.count(entry, place, count, largest)
}
