/**
 * The share of a plan in a workspace file of its own: one experiment of kind `sweep` whose cells are the plan's. In: a
 * header that says which share this is. Out: what is done already, and a place for what comes. Each cell is one short
 * transaction, so that a kill loses at most the cell in flight.
 */
import { existsSync, statSync } from 'node:fs'
import type Database from 'better-sqlite3'
import { HeadscopeError } from '../errors.ts'
import { connect } from './connect.ts'
import { guarded } from './problem.ts'

/** Which share of which plan a file holds. */
export interface ShardHeader {
  readonly planHash: string
  /** The plan with its defaults written out. */
  readonly plan: unknown
  /** Counted from 1. */
  readonly shard: number
  readonly of: number
  /** Cells of the whole plan. */
  readonly cells: number
  /** What computed it: shares of different versions are not joined. */
  readonly versions: Readonly<Record<string, string>>
}

export interface ShardCell {
  readonly cell: number
  readonly key: string
  readonly value: unknown
}

export interface ShardReads {
  readonly path: string
  readonly header: ShardHeader
  readonly complete: boolean
  /** Indices of the cells that are there, ascending. */
  done(): number[]
  cell(index: number): ShardCell
  close(): void
}

export interface ShardStore extends ShardReads {
  put(cell: ShardCell): void
}

/** True when a file of some size is at the path. */
export function shardExists(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0
}

/** Opens a share for reading. Throws `not-found` or `bad-store`. */
export function readShard(path: string): ShardReads {
  const db = connect(path, { readonly: true })
  try {
    return guarded(path, () => readsOf(db, path, headerOf(db, path)))
  } catch (error) {
    db.close()
    throw error
  }
}

/** Begins a share, or goes on with it. Throws `bad-store` when the file holds something else. */
export function openShard(path: string, header: ShardHeader): ShardStore {
  if (existsSync(path)) requireSame(path, header)
  const db = connect(path)
  try {
    return guarded(path, () => {
      if (rowOf(db) === undefined) insertShard(db, header, new Date().toISOString(), false)
      const { experiment } = headerOf(db, path)
      const insert = insertCells(db, experiment)
      return {
        ...readsOf(db, path, headerOf(db, path)),
        put: (cell) => guarded(path, () => void db.transaction(() => insert(cell)).immediate()),
      }
    })
  } catch (error) {
    db.close()
    throw error
  }
}

/** Inserts the experiment of a share; its id. */
export function insertShard(
  db: Database.Database,
  header: ShardHeader,
  created: string,
  complete: boolean,
): number {
  const { planHash, cells, ...rest } = header
  return Number(
    db
      .prepare(
        `INSERT INTO experiment (kind, plan, plan_hash, cells, created, complete) VALUES ('sweep', ?, ?, ?, ?, ?)`,
      )
      .run(JSON.stringify(rest), planHash, cells, created, complete ? 1 : 0).lastInsertRowid,
  )
}

/** A function that inserts cells of an experiment; one that is there stays. */
export function insertCells(db: Database.Database, experiment: number): (cell: ShardCell) => void {
  const insert = db.prepare(
    'INSERT OR IGNORE INTO experiment_cell (experiment, cell, key, value) VALUES (?, ?, ?, ?)',
  )
  return ({ cell, key, value }) => void insert.run(experiment, cell, key, JSON.stringify(value))
}

// --- Internal helpers ---

interface Row {
  id: number
  plan: string
  plan_hash: string
  cells: number
  complete: number
}

function rowOf(db: Database.Database): Row | undefined {
  return db
    .prepare<[], Row>(
      "SELECT id, plan, plan_hash, cells, complete FROM experiment WHERE kind = 'sweep' ORDER BY id LIMIT 1",
    )
    .get()
}

function headerOf(db: Database.Database, path: string) {
  const row = rowOf(db)
  if (!row)
    throw new HeadscopeError(
      'bad-store',
      `${path}: this workspace holds no share of a plan; name a file that headscope sweep has written.`,
    )
  const header: ShardHeader = { ...JSON.parse(row.plan), planHash: row.plan_hash, cells: row.cells }
  return { header, experiment: row.id, complete: row.complete === 1 }
}

function readsOf(
  db: Database.Database,
  path: string,
  { header, experiment, complete }: ReturnType<typeof headerOf>,
): ShardReads {
  const indices = db
    .prepare<[number], number>('SELECT cell FROM experiment_cell WHERE experiment = ? ORDER BY cell')
    .pluck()
  const one = db.prepare<[number, number], { key: string; value: string }>(
    'SELECT key, value FROM experiment_cell WHERE experiment = ? AND cell = ?',
  )
  return {
    path,
    header,
    complete,
    done: () => guarded(path, () => indices.all(experiment) as number[]),
    cell: (index) =>
      guarded(path, () => {
        const row = one.get(experiment, index)
        if (!row) throw new HeadscopeError('not-found', `${path}: cell ${index} is not in this share.`)
        return { cell: index, key: row.key, value: JSON.parse(row.value) }
      }),
    close: () => void db.close(),
  }
}

/** Refuses a file that holds another share, another plan, or a person's own work. Reads only. */
function requireSame(path: string, header: ShardHeader): void {
  if (!shardExists(path)) return
  const other = readShard(path)
  try {
    const { planHash, shard, of, versions } = other.header
    const refuse = (what: string): never => {
      throw new HeadscopeError(
        'bad-store',
        `${path}: this file holds ${what}; name another one with --store.`,
      )
    }
    if (planHash !== header.planHash)
      refuse(`shard ${shard}/${of} of another plan (or of this one before it was changed)`)
    if (shard !== header.shard || of !== header.of)
      refuse(`shard ${shard}/${of} of this plan, not ${header.shard}/${header.of}`)
    const changed = Object.keys(header.versions).find((name) => versions[name] !== header.versions[name])
    if (changed)
      refuse(`cells that ${changed} ${versions[changed]} computed, and this is ${header.versions[changed]}`)
  } finally {
    other.close()
  }
}
