import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openReadOnlySql, type ReadOnlySql } from './read-only-sql.ts'

let folder: string
let sql: ReadOnlySql
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headscope-sql-'))
  const path = join(folder, 'a.db')
  const db = new Database(path)
  db.exec("create table t (a integer, b text, c blob, d real); insert into t values (1, 'x', x'0102', 9e999)")
  db.exec('insert into t values (9007199254740993, null, null, 0.5)')
  db.close()
  sql = openReadOnlySql(path, 3)
})
afterAll(() => {
  sql.close()
  rmSync(folder, { recursive: true })
})

it('answers questions in values that JSON has', () => {
  expect(sql.query('-- a comment\n select a, b, c, d from t')).toEqual({
    columns: ['a', 'b', 'c', 'd'],
    rows: [
      [1, 'x', '<2 bytes>', 'Infinity'],
      ['9007199254740993', null, null, 0.5],
    ],
    truncated: false,
  })
  expect(sql.query('/* c */ with n as (values (1), (2)) select * from n').rows).toEqual([[1], [2]])
  expect(sql.query('pragma table_info(t)').rows).toHaveLength(3)
  expect(sql.query('explain query plan select * from t').columns).toContain('detail')
})

it('says when there are more rows than it returns, and goes on working', () => {
  const many = 'with recursive n(i) as (select 1 union all select i + 1 from n) select i from n'
  expect(sql.query(many)).toEqual({ columns: ['i'], rows: [[1], [2], [3]], truncated: true })
  expect(sql.query('select count(*) from t').rows).toEqual([[2]])
})

it('refuses everything else in one sentence', () => {
  for (const text of [
    'delete from t',
    'with x as (select 1) delete from t',
    "attach 'other.db' as o",
    'pragma user_version = 4',
    'pragma journal_mode = delete',
    'select 1; delete from t',
    'select nothing from t',
    'vacuum',
    '',
  ]) {
    expect(() => sql.query(text), text).toThrow(/^(Only questions may be asked|SQLite refused)[^\n]*\.$/)
  }
  expect(sql.query('select count(*) from t').rows).toEqual([[2]])
})
