/** The rows of edge_block and thumbnail of one run. In: summaries as they fill. Out: one row per item and attention. */
import type Database from 'better-sqlite3'
import { stackOf } from './sequences.ts'
import { collectSummaries, type Summaries } from './summaries.ts'

export interface SummaryRows {
  /** Where the heads of this pattern are looked at. */
  of(hook: string, item: number, queries: number, keys: number): Summaries
  /** Inserts what was collected; its bytes. Call inside a transaction. */
  write(run: number): number
}

/** Keeps the summaries of a run in memory until `write`. */
export function summaryRows(db: Database.Database): SummaryRows {
  const kept = new Map<string, { item: number; stack: string; positions: number; collected: Summaries }>()

  function of(hook: string, item: number, queries: number, keys: number): Summaries {
    const stack = stackOf(hook)
    const name = `${item} ${stack}`
    const known = kept.get(name) ?? {
      item,
      stack,
      positions: Math.max(queries, keys),
      collected: collectSummaries(queries, keys),
    }
    kept.set(name, known)
    return known.collected
  }

  function write(run: number): number {
    const edge = db.prepare(
      'INSERT INTO edge_block (run, item, hook, edges, width, data) VALUES (?, ?, ?, ?, ?, ?)',
    )
    const thumbnail = db.prepare(
      'INSERT INTO thumbnail (run, item, hook, rows, columns, codec, heads, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    )
    let bytes = 0
    for (const { item, stack, positions, collected } of kept.values()) {
      const { data, width } = collected.edges.pack(positions)
      edge.run(run, item, stack, collected.edges.count, width, data)
      const small = collected.pack()
      const heads = JSON.stringify(small.heads)
      const codec = small.causal ? 'tri' : 'full'
      thumbnail.run(run, item, stack, collected.rows, collected.columns, codec, heads, small.data)
      bytes += data.byteLength + small.data.byteLength
    }
    return bytes
  }

  return { of, write }
}
