/**
 * The rows that a run begins with. In: what is known before anything is computed. Out: an incomplete run, its items
 * and their prompts; and the checkpoint that it belongs to once it is complete.
 */
import type Database from 'better-sqlite3'
import type { Prompts } from './prompts.ts'
import type { CheckpointInput, RunInfo } from './types.ts'
import { thisProcess } from './writer-process.ts'

/** Inserts the run, incomplete and with its writer's identity; its id. Call inside a transaction. */
export function insertRun(db: Database.Database, prompts: Prompts, info: RunInfo): number {
  const { items, provenance } = info
  const tokens = items.reduce((sum, item) => sum + item.ids.length, 0)
  const writer = thisProcess()
  const run = Number(
    db
      .prepare(
        `INSERT INTO run (model_name, provenance, spec, warnings, edits, tokens, created, writer_host, writer_pid, writer_start)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        provenance.modelName,
        JSON.stringify(provenance),
        info.spec === undefined ? null : JSON.stringify(info.spec),
        JSON.stringify(info.warnings ?? []),
        provenance.edits.length,
        tokens,
        new Date().toISOString(),
        writer.host,
        writer.pid,
        writer.start,
      ).lastInsertRowid,
  )
  const insertItem = db.prepare('INSERT INTO run_item (run, item, sequence, prompt) VALUES (?, ?, ?, ?)')
  items.forEach((item, i) => {
    insertItem.run(run, i, 'main', prompts.keep(item, info.tokenizerHash ?? null))
    if (item.source) insertItem.run(run, i, 'source', prompts.keep(item.source, info.tokenizerHash ?? null))
  })
  return run
}

/** What a run knows of its checkpoint. */
export function checkpointOf(info: RunInfo, contentHash: string): CheckpointInput {
  const { modelPath, modelName, family } = info.provenance
  return {
    contentHash,
    path: modelPath,
    name: modelName,
    family,
    config: info.config,
    spec: info.spec,
    ...(info.tokenizerHash === undefined ? {} : { tokenizerHash: info.tokenizerHash }),
  }
}
