/**
 * What an edge search gathers: counts per head and the strongest edges. In: edges in the order they are found.
 * Out: heads by count, examples by weight and then by place, so that an answer never wavers.
 */
import { fromHalfBits } from './edges.ts'
import type { EdgeHit, EdgeSearch } from './types.ts'

export interface HeadEntry {
  readonly contentHash: string | null
  readonly hook: string
  readonly layer: number
  readonly head: number
  count: number
  items: number
  bits: number // of the largest weight
  last: unknown // the item counted last
}

export interface Hits {
  /** Float16 bits at or below it are no longer among the strongest. */
  readonly bar: number
  /** The heads of one checkpoint and kind of attention. */
  entries(contentHash: string | null, hook: string): (layer: number, head: number) => HeadEntry
  /** Notes an edge above `bar`; the new bar. */
  keep(
    place: { run: number; item: number },
    entry: HeadEntry,
    query: number,
    key: number,
    bits: number,
  ): number
  /** Adds what one head had in one item, or in some of its rows: an item's parts come one after the other. */
  count(entry: HeadEntry, place: object, count: number, largest: number): void
  result(): Pick<EdgeSearch, 'total' | 'heads' | 'examples'>
}

/** Heads of a layer are fewer. */
const MOST_HEADS = 1 << 20

/** Keeps the `limit` strongest edges and counts all of them. */
export function collectHits(limit: number): Hits {
  const kinds = new Map<string, Map<number, HeadEntry>>()
  let total = 0
  let kept: (Omit<EdgeHit, 'weight'> & { bits: number })[] = []
  let bar = limit === 0 ? Number.POSITIVE_INFINITY : -1

  function entries(contentHash: string | null, hook: string): (layer: number, head: number) => HeadEntry {
    const name = `${contentHash} ${hook}`
    const known = kinds.get(name) ?? new Map<number, HeadEntry>()
    kinds.set(name, known)
    return (layer, head) => {
      const place = layer * MOST_HEADS + head
      let entry = known.get(place)
      if (!entry) {
        entry = { contentHash, hook, layer, head, count: 0, items: 0, bits: 0, last: null }
        known.set(place, entry)
      }
      return entry
    }
  }

  function keep(
    place: { run: number; item: number },
    entry: HeadEntry,
    query: number,
    key: number,
    bits: number,
  ) {
    const { hook, layer, head } = entry
    kept.push({ run: place.run, item: place.item, hook, layer, head, query, key, bits })
    if (kept.length >= 4 * limit + 1000) trim()
    return bar
  }

  function count(entry: HeadEntry, place: object, found: number, largest: number): void {
    if (found === 0) return
    total += found
    entry.count += found
    if (entry.last !== place) entry.items++
    entry.last = place
    if (largest > entry.bits) entry.bits = largest
  }

  function trim(): void {
    kept.sort((a, b) => b.bits - a.bits || a.run - b.run || a.item - b.item)
    kept = kept.slice(0, limit)
    if (limit > 0 && kept.length === limit) bar = kept.at(-1)!.bits
  }

  function result() {
    trim()
    const heads = [...kinds.values()].flatMap((known) =>
      [...known.values()].filter((entry) => entry.count > 0),
    )
    heads.sort((a, b) => b.count - a.count || a.layer - b.layer || a.head - b.head)
    return {
      total,
      heads: heads.map(({ bits, last: _, ...entry }) => ({ ...entry, largest: fromHalfBits(bits) })),
      examples: kept.map(({ bits, ...hit }) => ({ ...hit, weight: fromHalfBits(bits) })),
    }
  }

  return {
    get bar() {
      return bar
    },
    entries,
    keep,
    count,
    result,
  }
}
