/**
 * Which SQL may run over a workspace: what only reads. In: text. Out: rows, or one sentence why not.
 * Runs in the calling thread, for as long as the query takes: see sql.ts for the call that a server can make.
 */
import type Database from 'better-sqlite3'
import { HeadscopeError, sentence } from '../errors.ts'
import { connect } from './connect.ts'
import { addVirtualTables } from './virtual-tables.ts'

export interface SqlResult {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly (string | number | null)[])[]
  /** There were more rows than the limit. */
  readonly truncated: boolean
}

/** Pragmas that only read, and whether they take a name in brackets. */
const PRAGMAS: Readonly<Record<string, boolean>> = {
  table_info: true,
  table_xinfo: true,
  index_list: true,
  index_info: true,
  index_xinfo: true,
  foreign_key_list: true,
  foreign_key_check: false,
  table_list: false,
  database_list: false,
  collation_list: false,
  function_list: false,
  module_list: false,
  pragma_list: false,
  compile_options: false,
  integrity_check: false,
  quick_check: false,
  user_version: false,
  application_id: false,
  schema_version: false,
  page_count: false,
  page_size: false,
  freelist_count: false,
  journal_mode: false,
  encoding: false,
  data_version: false,
}

const ONLY_READS = 'this console only reads: use select, with, explain, or a pragma that reads.'

/** Text longer than this is cut in a result; select a part of it to see more. */
const LONGEST_TEXT = 1_000_000

/** A connection for queries, with the virtual tables. Close it with the returned function. */
export function openForQueries(path: string): { db: Database.Database; close: () => void } {
  const db = connect(path, { readonly: true })
  const blobs = connect(path, { readonly: true })
  addVirtualTables(db, blobs)
  return {
    db,
    close: () => {
      db.close()
      blobs.close()
    },
  }
}

/** Runs one reading statement. Throws `bad-request` in one sentence for anything else, and for SQL that is wrong. */
export function readRows(db: Database.Database, sql: string, limit: number): SqlResult {
  mustOnlyRead(sql)
  try {
    const statement = db.prepare<[], unknown[]>(sql)
    if (!statement.reader || !statement.readonly) throw refused(sql)
    statement.raw().safeIntegers()
    const columns = statement.columns().map((column) => column.name)
    const rows: (string | number | null)[][] = []
    for (const row of statement.iterate()) {
      if (rows.length === limit) return { columns, rows, truncated: true }
      rows.push(row.map(plain))
    }
    return { columns, rows, truncated: false }
  } catch (error) {
    if (error instanceof HeadscopeError) throw error
    throw new HeadscopeError(
      'bad-request',
      `This SQL cannot be run: ${sentence(error).replace(/\.$/, '')}.`,
      { cause: error },
    )
  }
}

// --- Internal helpers ---

function mustOnlyRead(sql: string): void {
  // Comments may stand before the first word.
  const text = sql.replace(/^(\s+|--[^\n]*(\n|$)|\/\*[\s\S]*?(\*\/|$))+/, '')
  const word = /^[a-z]+/i.exec(text)?.[0].toLowerCase()
  if (word === undefined)
    throw new HeadscopeError(
      'bad-request',
      'There is no SQL here; write a select, for example: select * from run.',
    )
  if (word === 'pragma') {
    const match = /^pragma\s+(?:\w+\.)?(\w+)\s*(\([^()]*\))?\s*;?\s*$/i.exec(text)
    const takesName = match ? PRAGMAS[match[1]!.toLowerCase()] : undefined
    if (takesName === undefined || (match![2] !== undefined && !takesName)) throw refused(sql)
    return
  }
  if (word !== 'select' && word !== 'with' && word !== 'explain' && word !== 'values') throw refused(sql)
}

function refused(sql: string): HeadscopeError {
  const shown = sql.trim().replace(/\s+/g, ' ')
  return new HeadscopeError(
    'bad-request',
    `“${shown.length > 60 ? `${shown.slice(0, 60)}…` : shown}” was not run: ${ONLY_READS}`,
  )
}

/** A value as JSON can hold it: large integers and infinities as text, blobs by their size. */
function plain(value: unknown): string | number | null {
  if (value === null || value === undefined) return null
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  if (typeof value === 'string')
    return value.length > LONGEST_TEXT ? `${value.slice(0, LONGEST_TEXT)}…` : value
  return `<${(value as Uint8Array).byteLength} bytes>`
}
