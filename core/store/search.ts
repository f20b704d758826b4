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
import { EDGE_WEIGHT, type EdgeBlock, fromHalfBits, halfBits, unpackEdges } from './edges.ts'
import { layoutOfRow } from './runs.ts'
import { keySequenceOf, sequenceOfAxis, stackOf } from './sequences.ts'
import type { EdgeHit, EdgeQuery, EdgeSearch } from './types.ts'

const LARGEST = 0x7bff // the largest finite float16

/** Throws `bad-request` for a threshold that is no weight. */
export function searchEdges(db: Database.Database, query: EdgeQuery): EdgeSearch {
  const least = query.minWeight ?? EDGE_WEIGHT
  if (!(least >= 0))
    throw new HeadscopeError(
      'bad-request',
      `minWeight ${query.minWeight} is not a weight; give a number of 0 or more.`,
    )
  const places = placesOf(db, query)
  const found = collect(query.limit ?? 100)
  const source = least < EDGE_WEIGHT ? 'patterns' : 'edges'
  const visit =
    source === 'edges' ? edgeVisitor(db, query, halfBits(least)) : patternVisitor(db, query, halfBits(least))
  for (const place of places) visit(place, found)
  return { source, items: places.length, ...found.result() }
}

// --- Internal helpers ---

interface Place {
  run: number
  item: number
  contentHash: string | null
  /** 1 where a wanted token stands; null when any token will do. */
  flags(side: 'query' | 'key', sequence: 'main' | 'source'): Uint8Array | null
}

interface PlaceRow {
  run: number
  item: number
  content_hash: string | null
  prompt: number
  source: number | null
}

/** The items to look at: of complete runs, and holding every wanted token somewhere. */
function placesOf(db: Database.Database, query: EdgeQuery): Place[] {
  const sides = { query: positionsOf(db, query.query), key: positionsOf(db, query.key) }
  const wanted = Object.values(sides).filter((side) => side !== null)
  // The rarer token says which prompts can hold both; without one, all can.
  const rarest = wanted.sort((a, b) => a.size - b.size)[0]
  const rows = db
    .prepare<unknown[], PlaceRow>(
      `SELECT m.run, m.item, c.content_hash, m.prompt, s.prompt AS source
       FROM run r JOIN run_item m ON m.run = r.id AND m.sequence = 'main'
       LEFT JOIN run_item s ON s.run = m.run AND s.item = m.item AND s.sequence = 'source'
       LEFT JOIN checkpoint c ON c.id = r.checkpoint
       WHERE r.complete = 1 AND (@edited OR r.edits = 0) AND (@run IS NULL OR r.id = @run)
         AND (@hash IS NULL OR c.content_hash = @hash)
         ${rarest ? 'AND r.id IN (SELECT run FROM run_item WHERE prompt IN (SELECT value FROM json_each(@prompts)))' : ''}`,
    )
    .all({
      edited: Number(query.edited ?? false),
      run: query.run ?? null,
      hash: query.contentHash ?? null,
      ...(rarest ? { prompts: JSON.stringify([...rarest.keys()]) } : {}),
    })
  const holds = (row: PlaceRow) =>
    wanted.every((side) => side.has(row.prompt) || (row.source !== null && side.has(row.source)))
  return rows.filter(holds).map((row) => ({
    run: row.run,
    item: row.item,
    contentHash: row.content_hash,
    flags: (side, sequence) => {
      const positions = sides[side]
      if (positions === null) return null
      const here = positions.get(sequence === 'main' ? row.prompt : row.source!) ?? []
      const out = new Uint8Array(1 + (here.at(-1) ?? -1))
      for (const pos of here) out[pos] = 1
      return out
    },
  }))
}

/** Where the wanted tokens stand, ascending, by prompt; null when any token will do. */
function positionsOf(
  db: Database.Database,
  ids: readonly number[] | undefined,
): Map<number, number[]> | null {
  if (ids === undefined) return null
  const found = new Map<number, number[]>()
  const rows = db
    .prepare<[string], [number, number]>(
      'SELECT prompt, pos FROM token WHERE id IN (SELECT value FROM json_each(?)) ORDER BY prompt, pos',
    )
    .raw()
    .all(JSON.stringify(ids))
  for (const [prompt, pos] of rows) {
    const here = found.get(prompt)
    if (here) here.push(pos)
    else found.set(prompt, [pos])
  }
  return found
}

type Found = ReturnType<typeof collect>

function edgeVisitor(db: Database.Database, query: EdgeQuery, least: number) {
  const blocks = db.prepare<
    [number, number],
    { hook: string; edges: number; width: number; data: Uint8Array }
  >('SELECT hook, edges, width, data FROM edge_block WHERE run = ? AND item = ?')
  return (place: Place, found: Found): void => {
    for (const row of blocks.all(place.run, place.item)) {
      if (query.hook !== undefined && row.hook !== query.hook) continue
      const block = unpackEdges(row.data, row.edges, row.width)
      const atQuery = place.flags('query', sequenceOfAxis(row.hook, 'query')!)
      const atKey = place.flags('key', keySequenceOf(row.hook, ['key']))
      const kind = found.kind(place, row.hook)
      for (let i = 0; i < block.heads.length; i++) {
        const layer = block.layers[i]!
        const head = block.heads[i]!
        if (query.layer !== undefined && layer !== query.layer) continue
        if (query.head !== undefined && head !== query.head) continue
        visitHead(block, i, atQuery, atKey, least, kind(layer, head))
      }
    }
  }
}

function visitHead(
  { query, key, weight, starts }: EdgeBlock,
  i: number,
  atQuery: Uint8Array | null,
  atKey: Uint8Array | null,
  least: number,
  tally: Tally,
): void {
  const end = starts[i + 1]!
  let count = 0
  let largest = 0
  for (let e = starts[i]!; e < end; e++) {
    const bits = weight[e]!
    if (bits < least) continue
    if (atQuery !== null && atQuery[query[e]!] !== 1) continue
    if (atKey !== null && atKey[key[e]!] !== 1) continue
    count++
    if (bits > largest) largest = bits
    if (bits > tally.bar()) tally.keep(query[e]!, key[e]!, bits)
  }
  tally.add(count, largest)
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

function patternVisitor(db: Database.Database, query: EdgeQuery, least: number) {
  const rows = db.prepare<unknown[], HeadsRow>(
    `SELECT hook, layer, head, heads, shape, codec, band, dtype, data FROM activation
     WHERE run = @run AND item = @item AND head IS NOT NULL AND (@layer IS NULL OR layer = @layer)
       AND (@head IS NULL OR (head <= @head AND head + heads > @head))`,
  )
  return (place: Place, found: Found): void => {
    const limits = { layer: query.layer ?? null, head: query.head ?? null }
    for (const row of rows.all({ run: place.run, item: place.item, ...limits })) {
      const stack = stackOf(row.hook)
      if (query.hook !== undefined && stack !== query.hook) continue
      const layout = layoutOfRow(row)
      const bytes = entriesOf(layout) * bytesPerWeight(row.dtype)
      const atQuery = place.flags('query', sequenceOfAxis(row.hook, 'query')!)
      const atKey = place.flags('key', keySequenceOf(row.hook, ['key']))
      const kind = found.kind(place, stack)
      for (let h = 0; h < row.heads; h++) {
        if (query.head !== undefined && row.head + h !== query.head) continue
        const weights = floatsOf(row.data.subarray(h * bytes, (h + 1) * bytes), row.dtype)
        const bits = new Int16Array(Float16Array.from(weights).buffer)
        visitPattern(bits, layout, atQuery, atKey, least, kind(row.layer, row.head + h))
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
  tally: Tally,
): void {
  let at = 0
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
      if (b > tally.bar()) tally.keep(q, k, b)
    }
  }
  tally.add(count, largest)
}

interface Tally {
  /** Bits at or below it are no longer among the strongest. */
  bar(): number
  keep(query: number, key: number, bits: number): void
  /** Counts what one head of one item had. */
  add(count: number, largest: number): void
}

/** Counts per head, and the strongest edges: ordered by weight, then by place, so that an answer never wavers. */
function collect(limit: number) {
  const heads = new Map<string, HeadEntry[]>()
  let total = 0
  let kept: (Omit<EdgeHit, 'weight'> & { bits: number })[] = []
  let least = limit === 0 ? LARGEST : -1
  const bar = () => least

  function trim(): void {
    kept.sort((a, b) => b.bits - a.bits || a.run - b.run || a.item - b.item)
    kept = kept.slice(0, limit)
    if (kept.length === limit && limit > 0) least = kept.at(-1)!.bits
  }

  /** Where the edges of one item and kind of attention are counted, head by head. */
  function kind({ run, item, contentHash }: Place, hook: string): (layer: number, head: number) => Tally {
    const name = `${contentHash} ${hook}`
    const known = heads.get(name) ?? []
    heads.set(name, known)
    return (layer, head) => {
      let entry = known.find((e) => e.layer === layer && e.head === head)
      if (!entry) known.push((entry = { contentHash, hook, layer, head, count: 0, items: 0, bits: 0 }))
      return {
        bar,
        keep: (query, key, bits) => {
          kept.push({ run, item, hook, layer, head, query, key, bits })
          if (kept.length >= 4 * limit + 1000) trim()
        },
        add: (count, largest) => {
          total += count
          entry.count += count
          entry.items += Number(count > 0)
          entry.bits = Math.max(entry.bits, largest)
        },
      }
    }
  }

  function result() {
    trim()
    const ranked = [...heads.values()].flat().filter((entry) => entry.count > 0)
    ranked.sort((a, b) => b.count - a.count || a.layer - b.layer || a.head - b.head)
    return {
      total,
      heads: ranked.map(({ bits, ...entry }) => ({ ...entry, largest: fromHalfBits(bits) })),
      examples: kept.map(({ bits, ...hit }) => ({ ...hit, weight: fromHalfBits(bits) })),
    }
  }

  return { kind, result }
}

interface HeadEntry {
  contentHash: string | null
  hook: string
  layer: number
  head: number
  count: number
  items: number
  bits: number
}
