import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { askSql } from './sql-process.ts'

const ENDLESS = 'with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n'
let folder: string
let path: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headscope-sql-process-'))
  path = join(folder, 'a.db')
  new Database(path).exec('create table t (a integer)').close()
})
afterAll(() => rmSync(folder, { recursive: true }))

it('answers and refuses as the query itself does', async () => {
  expect(await askSql(path, 'select 1 as one')).toEqual({ columns: ['one'], rows: [[1]], truncated: false })
  await expect(askSql(path, 'delete from t')).rejects.toMatchObject({ code: 'bad-request' })
  await expect(askSql(path, 'select x from t')).rejects.toThrow(
    'SQLite refused the query: no such column: x.',
  )
})

it('stops a query without an end', async () => {
  await expect(askSql(path, ENDLESS, { limit: 500 })).rejects.toThrow(
    'took longer than 0.5 s and was stopped',
  )
})

it('can be cancelled', async () => {
  const stop = new AbortController()
  const asked = askSql(path, ENDLESS, { signal: stop.signal })
  setTimeout(() => stop.abort(), 100)
  await expect(asked).rejects.toMatchObject({ code: 'cancelled' })
})
