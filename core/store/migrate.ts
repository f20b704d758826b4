/**
 * The versions of a workspace file. In: an open database. Out: the same at SCHEMA_VERSION, or one sentence why not.
 * A file that is not ours, comes from a newer Headscope, or is damaged is refused before anything is written to it.
 */
import { randomBytes } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  linkSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { makeFolder } from '../checkpoint/files.ts'
import { HeadscopeError } from '../errors.ts'
import { damaged } from './problem.ts'

/** 'HdSc' in the header of every workspace file. */
export const APPLICATION_ID = 0x48645363

/** Migration i takes a file from version i to i + 1. Add to the end; never change one that was released. */
export const MIGRATIONS: readonly string[] = [
  new URL('./schema.sql', import.meta.url),
  new URL('./notebook.sql', import.meta.url),
].map((file) => readFileSync(file, 'utf8'))

export const SCHEMA_VERSION = MIGRATIONS.length

/** Large pages: a capture is mostly blobs of 60 KB and more, and these are written in half of the time of 4 KB. */
const PAGE_SIZE = 16384

/**
 * Makes a workspace at `path` unless a file is there. It is made beside and linked into place, so that whoever opens
 * the path finds a whole workspace or none, also when two processes begin at once or one is killed.
 */
export function createIfMissing(path: string): void {
  if (existsSync(path) && statSync(path).size > 0) return
  makeFolder(dirname(path), 'bad-store')
  accessSync(dirname(path), constants.W_OK) // said better than SQLite does
  const fresh = `${path}.new-${process.pid}-${randomBytes(4).toString('hex')}`
  try {
    const db = new Database(fresh)
    try {
      db.pragma(`page_size = ${PAGE_SIZE}`)
      migrate(db, path)
      db.pragma('journal_mode = WAL')
    } finally {
      db.close()
    }
    putInPlace(fresh, path)
  } finally {
    for (const end of ['', '-journal', '-wal', '-shm']) rmSync(fresh + end, { force: true })
  }
}

/** Refuses what is not a whole workspace file of ours, by its first bytes alone: nothing is written, nothing locked. */
export function checkHeader(path: string): void {
  const file = openSync(path, 'r')
  try {
    if (!fstatSync(file).isFile())
      throw new HeadscopeError(
        'bad-store',
        `${path}: not a file; a workspace is one file, name it with --store.`,
      )
    const header = Buffer.alloc(100)
    const got = readSync(file, header, 0, 100, 0)
    if (
      got < 100 ||
      header.toString('latin1', 0, 16) !== 'SQLite format 3\0' ||
      header.readUInt32BE(68) !== APPLICATION_ID
    )
      throw new HeadscopeError(
        'bad-store',
        `${path}: not a Headscope workspace; it was left as it is. Choose another file with --store.`,
      )
    const pageSize = header.readUInt16BE(16) === 1 ? 65536 : header.readUInt16BE(16)
    // A write-ahead log may hold what the file itself still lacks. The size is asked last: the file may be growing.
    if (!logged(path) && fstatSync(file).size < pageSize * header.readUInt32BE(28)) throw damaged(path)
  } finally {
    closeSync(file)
  }
}

/** Refuses a workspace of a newer version. Reads only. */
export function checkVersion(db: Database.Database, path: string): number {
  const version = db.pragma('user_version', { simple: true }) as number
  if (version > SCHEMA_VERSION)
    throw new HeadscopeError(
      'bad-store',
      `${path}: this workspace has version ${version}, and this Headscope knows versions up to ${SCHEMA_VERSION}; update Headscope, or choose another file with --store.`,
    )
  return version
}

/** Brings an open database to the last of `migrations`, all in one transaction: after a failure it is as it was. */
export function migrate(
  db: Database.Database,
  path: string,
  migrations: readonly string[] = MIGRATIONS,
): void {
  const steps = db.transaction(() => {
    // Read inside the write lock: another process may have migrated meanwhile.
    const version = db.pragma('user_version', { simple: true }) as number
    for (const sql of migrations.slice(version)) db.exec(sql)
    if (version < migrations.length) db.pragma(`user_version = ${migrations.length}`)
    if (version === 0) db.pragma(`application_id = ${APPLICATION_ID}`)
    const broken = db.pragma('foreign_key_check') as unknown[]
    if (broken.length > 0) throw damaged(path)
  })
  steps.immediate()
}

// --- Internal helpers ---

function putInPlace(fresh: string, path: string): void {
  if (existsSync(path) && statSync(path).size === 0) {
    renameSync(fresh, path) // over an empty file, as mktemp makes
    return
  }
  try {
    linkSync(fresh, path)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'EEXIST') return // another process was first: its workspace is as good
    if (!existsSync(path)) renameSync(fresh, path) // a file system without links
  }
}

function logged(path: string): boolean {
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false })
  return log !== undefined && log.size > 0
}
