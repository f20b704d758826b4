/** Head scores in the store. In: a checkpoint and a scan's result. Out: the same result later, number for number. */
import { createHash } from 'node:crypto'
import type Database from 'better-sqlite3'
import type { HeadScores, ScanResult, ScanSettings, Score } from '../analysis/types.ts'
import { keepCheckpoint } from './prompts.ts'
import type { CheckpointInput, StoredScan } from './types.ts'

/** Keeps a scan as a complete experiment with one head_score row per head and score; the experiment's id. */
export function saveScan(db: Database.Database, checkpoint: CheckpointInput, scan: ScanResult): number {
  const { heads, settings, ...rest } = scan
  const plan = JSON.stringify(settings)
  const insert = db.prepare(
    `INSERT INTO head_score (experiment, checkpoint, layer, head, score, parameters, n, rows, value, low, high, why)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  return db
    .transaction(() => {
      const owner = keepCheckpoint(db, checkpoint)
      const id = Number(
        db
          .prepare(
            `INSERT INTO experiment (kind, checkpoint, plan, plan_hash, cells, result, created, complete)
             VALUES ('scan', ?, ?, ?, 0, ?, ?, 1)`,
          )
          .run(
            owner,
            plan,
            createHash('sha256').update(plan).digest('hex'),
            JSON.stringify(rest),
            new Date().toISOString(),
          ).lastInsertRowid,
      )
      const parameters = JSON.stringify({
        length: settings.length,
        batch: settings.batch,
        seed: settings.seed,
        bos: settings.bos,
      })
      for (const { layer, head, scores } of heads)
        for (const [name, s] of Object.entries(scores))
          insert.run(
            id,
            owner,
            layer,
            head,
            name,
            parameters,
            s.n,
            s.rows,
            s.value,
            s.low,
            s.high,
            s.why ?? null,
          )
      return id
    })
    .immediate() as number
}

/** The newest complete scan of a checkpoint, or null. */
export function latestScan(db: Database.Database, contentHash: string): StoredScan | null {
  const row = db
    .prepare<[string], ScanRow>(
      `SELECT e.id, e.plan, e.result, e.created FROM experiment e JOIN checkpoint c ON c.id = e.checkpoint
       WHERE e.kind = 'scan' AND e.complete = 1 AND c.content_hash = ? ORDER BY e.id DESC LIMIT 1`,
    )
    .get(contentHash)
  if (!row) return null
  const settings = JSON.parse(row.plan) as ScanSettings
  const rest = JSON.parse(row.result) as Omit<ScanResult, 'heads' | 'settings'>
  return {
    ...rest,
    settings,
    heads: headsOf(db, row.id, settings.scores),
    id: row.id,
    created: row.created,
    contentHash,
  }
}

/** The scores of one scan, by head; empty for an experiment that has none. */
export function scoresOf(db: Database.Database, experiment: number): HeadScores[] {
  return headsOf(db, experiment, [])
}

// --- Internal helpers ---

interface ScanRow {
  id: number
  plan: string
  result: string
  created: string
}

interface ScoreRow extends Omit<Score, 'why'> {
  layer: number
  head: number
  score: string
  why: string | null
}

/** Scores in the order in which they were asked for. */
function headsOf(db: Database.Database, experiment: number, order: readonly string[]): HeadScores[] {
  const rows = db
    .prepare<[number], ScoreRow>('SELECT * FROM head_score WHERE experiment = ? ORDER BY layer, head')
    .all(experiment)
  const heads: { layer: number; head: number; scores: Record<string, Score> }[] = []
  for (const { layer, head, score, value, n, rows: queries, low, high, why } of rows) {
    let last = heads.at(-1)
    if (last?.layer !== layer || last.head !== head) heads.push((last = { layer, head, scores: {} }))
    last.scores[score] = { value, n, rows: queries, low, high, ...(why === null ? {} : { why }) }
  }
  const rank = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length)
  return heads.map((h) => ({
    ...h,
    scores: Object.fromEntries(Object.entries(h.scores).sort(([a], [b]) => rank(a) - rank(b))),
  }))
}
