/**
 * Sweeps and finished analyses in the store, cell by cell. In: a checkpoint, a plan (what was asked, plain data) and
 * cells as they come, or all at once. Out: the same later, also after a crash, so that known cells need not be computed
 * again. Each append is one short transaction; a cell is told from another by its key, and kept once.
 */
import { createHash } from 'node:crypto'
import type Database from 'better-sqlite3'
import { HeadscopeError } from '../errors.ts'
import { keepCheckpoint } from './prompts.ts'
import type { CheckpointInput } from './types.ts'

export interface ExperimentInput {
  readonly kind: string
  readonly checkpoint: CheckpointInput
  /** What was asked and where it comes from: enough to do it again. */
  readonly plan: unknown
  /** Cells that the plan has. */
  readonly cells: number
  readonly name?: string
}

/** Work that is kept when it has ended. */
export interface FinishedInput extends Omit<ExperimentInput, 'cells'> {
  readonly cells: readonly CellInput[]
  readonly result: unknown
  /** Further checkpoints that it is about, beside `checkpoint`. */
  readonly others?: readonly CheckpointInput[]
}

export interface CellInput {
  readonly key: string
  readonly value: unknown
}

export interface ExperimentRow {
  readonly id: number
  readonly kind: string
  readonly name: string | null
  readonly contentHash: string
  /** Path: as the plan says, where it names models; the same weights may lie elsewhere too. */
  readonly model: string
  readonly modelName: string
  readonly created: string
  /** Cells of the plan, and those that are there. */
  readonly cells: number
  readonly done: number
  readonly complete: boolean
}

export interface StoredExperiment extends ExperimentRow {
  readonly plan: unknown
  /** In the order in which they came. */
  readonly cellList: readonly CellInput[]
  /** null until it is complete. */
  readonly result: unknown
}

export interface Experiments {
  /** Begins an experiment; its id. */
  saveExperiment(input: ExperimentInput): number
  /** Keeps cells; those that are there already stay as they are. */
  appendCells(experiment: number, cells: readonly CellInput[]): void
  /** Sets the result and the complete flag. */
  completeExperiment(experiment: number, result: unknown): void
  /** Keeps finished work whole, or not at all; its id. */
  keepExperiment(input: FinishedInput): number
  /** Newest first, of these kinds. */
  listExperiments(kinds: readonly string[]): ExperimentRow[]
  experiment(id: number): StoredExperiment
  deleteExperiment(id: number): void
}

/** Statements over experiment and experiment_cell. Unknown ids throw not-found. */
export function experimentTable(db: Database.Database): Experiments {
  const count = db
    .prepare<[number], number>('SELECT count(*) FROM experiment_cell WHERE experiment = ?')
    .pluck()
  const insert = db.prepare(
    `INSERT INTO experiment_cell (experiment, cell, key, value)
     SELECT ?, ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM experiment_cell WHERE experiment = ? AND key = ?)`,
  )

  function begin({ kind, checkpoint, plan, cells, name }: ExperimentInput): number {
    const json = JSON.stringify(plan)
    const hash = createHash('sha256').update(json).digest('hex')
    const owner = keepCheckpoint(db, checkpoint)
    const { lastInsertRowid } = db
      .prepare(
        `INSERT INTO experiment (kind, name, checkpoint, plan, plan_hash, cells, created, complete)
         VALUES (?, ?, ?, ?, ?, ?, ?, 0)`,
      )
      .run(kind, name ?? null, owner, json, hash, cells, new Date().toISOString())
    return Number(lastInsertRowid)
  }

  function append(experiment: number, cells: readonly CellInput[]): void {
    let next = count.get(experiment)!
    for (const { key, value } of cells)
      next += insert.run(experiment, next, key, JSON.stringify(value), experiment, key).changes
  }

  function complete(experiment: number, result: unknown): void {
    const update = db.prepare('UPDATE experiment SET result = ?, cells = ?, complete = 1 WHERE id = ?')
    if (update.run(JSON.stringify(result), count.get(experiment)!, experiment).changes === 0)
      throw missing(experiment)
  }

  function saveExperiment(input: ExperimentInput): number {
    return db.transaction(() => begin(input)).immediate() as number
  }

  function keepExperiment({ cells, result, others = [], ...input }: FinishedInput): number {
    return db
      .transaction(() => {
        for (const other of others) keepCheckpoint(db, other)
        const id = begin({ ...input, cells: cells.length })
        append(id, cells)
        complete(id, result)
        return id
      })
      .immediate() as number
  }

  function appendCells(experiment: number, cells: readonly CellInput[]): void {
    db.transaction(() => {
      row(experiment)
      append(experiment, cells)
    }).immediate()
  }

  function completeExperiment(experiment: number, result: unknown): void {
    db.transaction(() => complete(experiment, result)).immediate()
  }

  function row(id: number): ExperimentRow & { plan: string; result: string | null } {
    const found = db
      .prepare<[number], Raw & { plan: string; result: string | null }>(
        `SELECT ${COLUMNS}, e.plan, e.result ${FROM} WHERE e.id = ?`,
      )
      .get(id)
    if (!found) throw missing(id)
    return { ...shaped(found), plan: found.plan, result: found.result }
  }

  function experiment(id: number): StoredExperiment {
    const { plan, result, ...rest } = row(id)
    const cells = db
      .prepare<[number], { key: string; value: string }>(
        'SELECT key, value FROM experiment_cell WHERE experiment = ? ORDER BY cell',
      )
      .all(id)
    return {
      ...rest,
      plan: JSON.parse(plan),
      result: result === null ? null : JSON.parse(result),
      cellList: cells.map(({ key, value }) => ({ key, value: JSON.parse(value) })),
    }
  }

  function listExperiments(kinds: readonly string[]): ExperimentRow[] {
    const places = kinds.map(() => '?').join(', ')
    return db
      .prepare<string[], Raw>(`SELECT ${COLUMNS} ${FROM} WHERE e.kind IN (${places}) ORDER BY e.id DESC`)
      .all(...kinds)
      .map(shaped)
  }

  function deleteExperiment(id: number): void {
    if (db.prepare('DELETE FROM experiment WHERE id = ?').run(id).changes === 0) throw missing(id)
  }

  return {
    saveExperiment,
    appendCells,
    completeExperiment,
    keepExperiment,
    listExperiments,
    experiment,
    deleteExperiment,
  }
}

// --- Internal helpers ---

/** Without plan and result, which may be megabytes that a list does not show. */
const COLUMNS = `e.id, e.kind, e.name, c.content_hash, e.created, e.cells,
  ifnull(e.plan ->> '$.models[0].path', c.path) AS path,
  ifnull(e.plan ->> '$.models[0].name', c.name) AS model_name,
  (SELECT count(*) FROM experiment_cell x WHERE x.experiment = e.id) AS done, e.complete`
const FROM = 'FROM experiment e JOIN checkpoint c ON c.id = e.checkpoint'

interface Raw {
  id: number
  kind: string
  name: string | null
  content_hash: string
  path: string
  model_name: string
  created: string
  cells: number
  done: number
  complete: number
}

function shaped(raw: Raw): ExperimentRow {
  return {
    id: raw.id,
    kind: raw.kind,
    name: raw.name,
    contentHash: raw.content_hash,
    model: raw.path,
    modelName: raw.model_name,
    created: raw.created,
    cells: raw.cells,
    done: raw.done,
    complete: raw.complete === 1,
  }
}

function missing(id: number): HeadscopeError {
  return new HeadscopeError('not-found', `Experiment ${id} is not in this workspace.`)
}
