/**
 * Questions in SQL over a workspace that cannot change it. In: a database opened for reading, one statement. Out:
 * columns and at most so many rows, as values that JSON has. Costs what the query costs, on the thread that asks.
 */
import Database from 'better-sqlite3'
import { HeadscopeError, sentence } from '../errors.ts'
import type { SqlReply } from './contract.ts'

const READING = /^(select|with|explain|values|pragma)\b/i
/** Pragmas that describe; any of them with `=` would set something. */
const READING_PRAGMA =
  /^pragma\s+(\w+\.)?(table_list|table_x?info|index_list|index_x?info|foreign_key_list|user_version|application_id|page_count|page_size|freelist_count|journal_mode|encoding|compile_options|database_list|schema_version|foreign_keys|integrity_check|quick_check|foreign_key_check)\s*(\([^)=]*\))?\s*;?\s*$/i

export interface ReadOnlySql {
  /** Throws `bad-request` with what SQLite says of the statement. */
  query(text: string): SqlReply
  close(): void
}

/** Opens a second, read-only connection to the workspace file. `most` bounds the rows that are returned. */
export function openReadOnlySql(path: string, most = 1000): ReadOnlySql {
  const db = new Database(path, { readonly: true, fileMustExist: true })
  db.defaultSafeIntegers(true)
  db.pragma('query_only = ON')
  return {
    query(text) {
      const statement = bare(text)
      if (!READING.test(statement) || (/^pragma\b/i.test(statement) && !READING_PRAGMA.test(statement))) {
        throw new HeadscopeError(
          'bad-request',
          'Only questions may be asked here: begin with select, with, explain, or a pragma that reads.',
        )
      }
      try {
        return read(db, text, most)
      } catch (error) {
        throw new HeadscopeError('bad-request', `SQLite refused the query: ${sentence(error)}.`, {
          cause: error,
        })
      }
    },
    close: () => void db.close(),
  }
}

function read(db: Database.Database, text: string, most: number): SqlReply {
  const statement = db.prepare<unknown[], unknown[]>(text).raw()
  const rows: (string | number | null)[][] = []
  let truncated = false
  for (const row of statement.iterate()) {
    if (rows.length === most) {
      truncated = true
      break
    }
    rows.push(row.map(plain))
  }
  return { columns: statement.columns().map(({ name }) => name), rows, truncated }
}

/** A value as JSON has it: numbers that JavaScript cannot hold as text, bytes by their size. */
function plain(value: unknown): string | number | null {
  if (value === null || typeof value === 'string') return value
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  return `<${(value as Uint8Array).byteLength} bytes>`
}

/** The statement without the comments and white space before it. */
function bare(text: string): string {
  return text.replace(/^(\s+|--[^\n]*(\n|$)|\/\*[\s\S]*?\*\/)+/, '')
}
