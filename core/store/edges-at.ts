/**
 * The heads of one run that have an edge at a place. In: run, item, a query or a key position, or both. Out: each such
 * head with its largest weight there, strongest first. Cost: one pass over the item's packed edges, whatever the number
 * of heads; no pattern is read.
 */
import type Database from 'better-sqlite3'
import { HeadscopeError } from '../errors.ts'
import { EDGE_WEIGHT, endOfHead, fromHalfBits, unpackEdges } from './edges.ts'

/** A place in a pattern. `key` alone: every other query that looks there. `query` alone: every other key it looks at. */
export interface EdgePlace {
  readonly query?: number
  readonly key?: number
}

export interface EdgesAt {
  /** Heads below this weight are not listed. */
  readonly threshold: number
  readonly heads: readonly { readonly layer: number; readonly head: number; readonly weight: number }[]
}

interface BlockRow {
  readonly edges: number
  readonly width: number
  readonly data: Uint8Array
}

/** Edges of the item's first kind of attention. Throws `not-found` when the run has no patterns. */
export function edgesAt(db: Database.Database, run: number, item: number, place: EdgePlace): EdgesAt {
  const row = db
    .prepare<[number, number], BlockRow>(
      'SELECT edges, width, data FROM edge_block WHERE run = ? AND item = ? ORDER BY id LIMIT 1',
    )
    .get(run, item)
  if (!row)
    throw new HeadscopeError(
      'not-found',
      `Run ${run} holds no patterns; run its prompt again to see which heads look at a token.`,
    )
  const block = unpackEdges(row.data, row.edges, row.width)
  const { query, key } = place
  const heads: { layer: number; head: number; weight: number }[] = []
  for (let i = 0; i < block.heads; i++) {
    let bits = -1
    const end = endOfHead(block, i)
    for (let at = block.directory[3 * i + 2]!; at < end; at++) {
      const fits =
        query !== undefined && key !== undefined
          ? block.query[at] === query && block.key[at] === key
          : block.query[at] !== block.key[at] &&
            (query === undefined ? block.key[at] === key : block.query[at] === query)
      if (fits && block.weight[at]! > bits) bits = block.weight[at]!
    }
    if (bits >= 0)
      heads.push({
        layer: block.directory[3 * i]!,
        head: block.directory[3 * i + 1]!,
        weight: fromHalfBits(bits),
      })
  }
  return { threshold: EDGE_WEIGHT, heads: heads.sort((a, b) => b.weight - a.weight) }
}
