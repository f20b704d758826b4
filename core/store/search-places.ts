/**
 * Which items an edge search looks at, and where the wanted tokens stand in them. In: an EdgeQuery. Out: places.
 * Rare tokens are found by the token index, common ones by reading the ids of every prompt.
 * Cost: about 1 µs per run and 0.3 µs per place of a wanted token.
 */
import type Database from 'better-sqlite3'
import { aligned } from './codec.ts'
import type { SequenceName } from './sequences.ts'
import type { EdgeQuery } from './types.ts'

/** A wanted token that stands in more places than this is found faster in the prompts than in the index. */
const COMMON = 40_000

/** An item to look at: of a complete run, and holding every wanted token somewhere. */
export type Place = PlaceRow & { flags(side: 'query' | 'key', sequence: SequenceName): Uint8Array | null }

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
export function placesOf(db: Database.Database, query: EdgeQuery): Map<number, Place> {
  const prompts = promptsOf(db)
  const atQuery = flagsOf(db, query.query, prompts)
  const same = JSON.stringify(query.key) === JSON.stringify(query.query)
  const sides = { query: atQuery, key: same ? atQuery : flagsOf(db, query.key, prompts) }
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
export function placeKey(run: number, item: number): number {
  return run * 1_000_000 + item
}

// --- Internal helpers ---

type Prompts = () => readonly (readonly [prompt: number, tokens: Int32Array])[]

/** The ids of every prompt, read when they are first asked for. */
function promptsOf(db: Database.Database): Prompts {
  let all: ReturnType<Prompts> | null = null
  return () => {
    if (all) return all
    const rows = db.prepare<[], [prompt: number, ids: Uint8Array]>('SELECT id, ids FROM prompt').raw().all()
    all = rows.map(([prompt, blob]) => {
      const data = aligned(blob, 4)
      return [prompt, new Int32Array(data.buffer, data.byteOffset, data.byteLength / 4)]
    })
    return all
  }
}

function flagsOf(db: Database.Database, ids: readonly number[] | undefined, prompts: Prompts): Flags {
  if (ids === undefined) return null
  const list = JSON.stringify(ids)
  const isCommon = db
    .prepare('SELECT 1 FROM token WHERE id IN (SELECT value FROM json_each(?)) LIMIT 1 OFFSET ?')
    .pluck()
    .get(list, COMMON)
  return isCommon === undefined ? flagsByIndex(db, list) : flagsByReading(prompts(), new Set(ids))
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

function flagsByReading(prompts: ReturnType<Prompts>, wanted: ReadonlySet<number>): Map<number, Uint8Array> {
  const only = wanted.size === 1 ? [...wanted][0]! : null // asking a set costs five times as much
  const found = new Map<number, Uint8Array>()
  for (const [prompt, tokens] of prompts) {
    let flags: Uint8Array | undefined
    for (let pos = 0; pos < tokens.length; pos++) {
      if (only === null ? !wanted.has(tokens[pos]!) : tokens[pos] !== only) continue
      flags ??= new Uint8Array(tokens.length)
      flags[pos] = 1
    }
    if (flags) found.set(prompt, flags)
  }
  return found
}
