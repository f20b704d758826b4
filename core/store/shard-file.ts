/**
 * The final form of a share, or of a whole plan: a workspace whose bytes depend on what it holds and on nothing else.
 * Rows go in in the order of the plan, times are 1970-01-01, no process is named, and SQLite copies the result page by
 * page (VACUUM INTO). In: header and cells. Out: the file, put in place whole. Cost: each value is written twice.
 */
import { randomBytes } from 'node:crypto'
import { readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { openStore, type Store } from './capture-store.ts'
import { connect } from './connect.ts'
import { guarded } from './problem.ts'
import { insertCells, insertShard, type ShardCell, type ShardHeader } from './shard-store.ts'

/** The time in a file that says none. */
const NO_TIME = '1970-01-01T00:00:00.000Z'

/**
 * Writes the file, over what is there. `keep` also stores a cell where the rest of the app looks for it: scans among
 * the scores, sweeps among the experiments.
 */
export function writeShardFile(
  path: string,
  header: ShardHeader,
  cells: Iterable<ShardCell>,
  keep: (store: Store, cell: ShardCell) => void,
): void {
  const mark = `${process.pid}-${randomBytes(4).toString('hex')}`
  const [draft, fresh] = [`${path}.draft-${mark}`, `${path}.new-${mark}`]
  const remove = (file: string) => {
    for (const end of ['', '-journal', '-wal', '-shm']) rmSync(file + end, { force: true })
  }
  guarded(path, () => {
    for (const file of leftBehind(path)) rmSync(file, { force: true })
    try {
      fill(draft, fresh, header, cells, keep)
      // A log that a reader has kept alive must not be read as the new file's.
      for (const end of ['-wal', '-shm']) rmSync(path + end, { force: true })
      renameSync(fresh, path)
    } finally {
      remove(draft)
      remove(fresh)
    }
  })
}

// --- Internal helpers ---

/** Files of this kind beside `path` whose process was killed before it could remove them. */
function leftBehind(path: string): string[] {
  return readdirSync(dirname(path)).flatMap((name) => {
    if (!name.startsWith(`${basename(path)}.`)) return []
    const pid = /^(?:draft|new)-(\d+)-[0-9a-f]{8}(?:-journal|-wal|-shm)?$/.exec(
      name.slice(basename(path).length + 1),
    )?.[1]
    return pid === undefined || lives(Number(pid)) ? [] : [join(dirname(path), name)]
  })
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

function fill(
  draft: string,
  fresh: string,
  header: ShardHeader,
  cells: Iterable<ShardCell>,
  keep: (store: Store, cell: ShardCell) => void,
): void {
  const store = openStore(draft)
  const db = connect(draft)
  try {
    const insert = insertCells(db, insertShard(db, header, NO_TIME, true))
    for (const cell of cells) {
      insert(cell)
      keep(store, cell)
    }
    for (const table of ['checkpoint', 'prompt', 'experiment', 'note'])
      db.prepare(`UPDATE ${table} SET created = ?`).run(NO_TIME)
    store.close()
    db.prepare('VACUUM INTO ?').run(fresh)
  } finally {
    store.close()
    db.close()
  }
}
