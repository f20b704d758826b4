/**
 * What a workspace costs, and less of it. In: an open database. Out: sizes; a run without its captures. What is removed
 * leaves free pages, which later runs fill; `compact` of the store gives them back to the disk.
 */
import { statSync } from 'node:fs'
import type Database from 'better-sqlite3'
import { HeadscopeError } from '../errors.ts'

export interface StoreUse {
  /** Bytes on disk, with the log beside the file. */
  readonly bytes: number
  /** Bytes of these that compacting would give back. */
  readonly free: number
  readonly runs: number
  readonly scans: number
  /** Sweeps of interventions, and shares of plans. */
  readonly experiments: number
  /** Finished analyses: places in texts, examples of heads, relation probes, comparisons, series. */
  readonly analyses: number
  readonly prompts: number
  readonly checkpoints: number
}

const ANALYSES = "'spans', 'corpus', 'relation', 'compare', 'series'"

/** Sizes and counts. */
export function storeUse(db: Database.Database, path: string): StoreUse {
  const number = (sql: string) => db.prepare(sql).pluck().get() as number
  const pragma = (name: string) => Number(db.pragma(name, { simple: true }))
  const size = (end: string) => statSync(path + end, { throwIfNoEntry: false })?.size ?? 0
  return {
    bytes: size('') + size('-wal'),
    free: pragma('freelist_count') * pragma('page_size'),
    runs: number('SELECT count(*) FROM run WHERE complete = 1'),
    scans: number("SELECT count(*) FROM experiment WHERE kind = 'scan'"),
    experiments: number(`SELECT count(*) FROM experiment WHERE kind NOT IN ('scan', ${ANALYSES})`),
    analyses: number(`SELECT count(*) FROM experiment WHERE kind IN (${ANALYSES})`),
    prompts: number('SELECT count(*) FROM prompt'),
    checkpoints: number('SELECT count(*) FROM checkpoint'),
  }
}

/**
 * Removes a run's captures, edges and thumbnails. Its provenance, prompts, losses and predictions stay, and so does all
 * that was computed from it. Returns the bytes that were freed; 0 when they were gone already. Throws `not-found`.
 */
export function keepScoresOnly(db: Database.Database, run: number): number {
  return db
    .transaction(() => {
      const before = db.prepare('SELECT bytes FROM run WHERE id = ? AND complete = 1').pluck().get(run) as
        | number
        | undefined
      if (before === undefined) throw new HeadscopeError('not-found', `Run ${run} is not in this workspace.`)
      for (const table of ['activation', 'edge_block', 'thumbnail'])
        db.prepare(`DELETE FROM ${table} WHERE run = ?`).run(run)
      const after = db
        .prepare('SELECT ifnull(sum(length(data)), 0) FROM prediction WHERE run = ?')
        .pluck()
        .get(run) as number
      db.prepare('UPDATE run SET bytes = ? WHERE id = ?').run(after, run)
      return before - after
    })
    .immediate() as number
}
