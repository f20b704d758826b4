/**
 * Opens the database file of a workspace, for writing or reading. In: a path. Out: a connection with foreign keys,
 * write-ahead log and busy timeout set. Cost: about 1 ms; making a new file about 20 ms.
 */
import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { HeadscopeError } from '../errors.ts'
import { checkHeader, checkVersion, createIfMissing, migrate, SCHEMA_VERSION } from './migrate.ts'
import { guarded } from './problem.ts'

/** How long a writer waits for another one, in ms. Transactions are one capture long: milliseconds. */
const BUSY_TIMEOUT = 10_000

/** The log is copied into the file when it passes this many bytes, or when the store is idle. */
const LOG_BYTES = 128 * 2 ** 20

/** A workspace in a read-only folder is read into memory up to this size. */
const LARGEST_IN_MEMORY = 2 ** 30

export interface ConnectOptions {
  readonly readonly?: boolean
  /** Largest size of the workspace file in bytes; a write beyond it is refused with `no-space`. */
  readonly maxBytes?: number
}

/** Throws `bad-store` or `not-found` in one sentence; the file is then left as it was. */
export function connect(path: string, options: ConnectOptions = {}): Database.Database {
  return guarded(path, () =>
    options.readonly ? connectReading(path) : connectWriting(path, options.maxBytes),
  )
}

// --- Internal helpers ---

function connectWriting(path: string, maxBytes: number | undefined): Database.Database {
  if (!existsSync(path) || statSync(path).size === 0) createIfMissing(path)
  checkHeader(path)
  // SQLite would open a protected file for reading and fail later; its log needs the folder too.
  accessSync(path, constants.W_OK)
  accessSync(dirname(path), constants.W_OK)
  // A first look without write access, so that a newer or broken file stays as it is.
  connectReading(path).close()
  const db = new Database(path, { fileMustExist: true, timeout: BUSY_TIMEOUT })
  try {
    db.pragma('journal_mode = WAL')
    db.pragma('synchronous = NORMAL')
    db.pragma('foreign_keys = ON')
    const pageSize = db.pragma('page_size', { simple: true }) as number
    db.pragma(`wal_autocheckpoint = ${Math.floor(LOG_BYTES / pageSize)}`)
    if (checkVersion(db, path) < SCHEMA_VERSION) migrate(db, path)
    db.exec('BEGIN IMMEDIATE; ROLLBACK') // a file that cannot be written to is refused now, not after an hour of work
    if (maxBytes !== undefined) db.pragma(`max_page_count = ${Math.max(1, Math.floor(maxBytes / pageSize))}`)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

function connectReading(path: string): Database.Database {
  if (!existsSync(path))
    throw new HeadscopeError(
      'not-found',
      `${path}: there is no workspace here; name an existing file with --store.`,
    )
  checkHeader(path)
  const db = openForReading(path)
  try {
    checkVersion(db, path)
    db.prepare('SELECT count(*) FROM run, checkpoint WHERE run.id < 0').get() // the schema can be read and is ours
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/**
 * SQLite keeps a shared-memory file beside a database with a write-ahead log, and cannot where the folder is
 * read-only. When no log is left there, nobody is writing, and the file is read into memory whole instead.
 */
function openForReading(path: string): Database.Database {
  if (existsSync(`${path}-wal`) || existsSync(`${path}-shm`) || isWritable(dirname(path)))
    return new Database(path, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT })
  const bytes = statSync(path).size
  if (bytes > LARGEST_IN_MEMORY)
    throw new HeadscopeError(
      'bad-store',
      `${path}: this workspace of ${(bytes / 2 ** 30).toFixed(1)} GB lies in a read-only folder, from which only 1 GB or less can be read; copy it to a folder that you may write to.`,
    )
  const image = readFileSync(path)
  image.fill(1, 18, 20) // says “no write-ahead log”: in memory there is none
  return new Database(image, { readonly: true })
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}
