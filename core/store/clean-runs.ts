/**
 * Runs that a text need not be run for again. In: a checkpoint. Out: its complete, unedited runs of one prompt whose
 * patterns are there, with the ids. Cost: one pass over the checkpoint's runs.
 */
import type Database from 'better-sqlite3'
import { aligned } from './codec.ts'

export interface CleanRun {
  readonly run: number
  readonly ids: readonly number[]
}

/** Oldest first. */
export function cleanRuns(db: Database.Database, contentHash: string): CleanRun[] {
  return db
    .prepare<[string], { run: number; ids: Uint8Array }>(
      `SELECT r.id AS run, p.ids FROM checkpoint c JOIN run r ON r.checkpoint = c.id
       JOIN run_item m ON m.run = r.id AND m.item = 0 AND m.sequence = 'main' JOIN prompt p ON p.id = m.prompt
       WHERE c.content_hash = ? AND r.complete = 1 AND r.edits = 0
         AND json_extract(r.provenance, '$.tokenTypes') IS NULL
         AND NOT EXISTS (SELECT 1 FROM run_item o WHERE o.run = r.id AND (o.item > 0 OR o.sequence = 'source'))
         AND EXISTS (SELECT 1 FROM activation a WHERE a.run = r.id AND a.head IS NOT NULL)
       ORDER BY r.id`,
    )
    .all(contentHash)
    .map(({ run, ids }) => {
      const bytes = aligned(ids, 4)
      return { run, ids: [...new Int32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)] }
    })
}
