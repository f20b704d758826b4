/** SQL over a workspace: what is there, what is refused, what is ended. Numbers are rules of SPEC.md. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStore, type Store } from '../../core/store/capture-store.ts'
import { closeQueries, query } from '../../core/store/sql.ts'
import { madePattern, madeProvenance, madeResidual, madeTokens } from '../support/store-made.ts'

const folder = mkdtempSync(join(tmpdir(), 'headscope-store-sql-'))
const path = join(folder, 'work.db')
const lengths = [12, 7]
let store: Store

beforeAll(() => {
  store = openStore(path)
  const writer = store.beginRun({
    provenance: madeProvenance(),
    items: lengths.map((n, i) => ({ ids: madeTokens(n, i) })),
  })
  for (let layer = 0; layer < 2; layer++)
    writer.write(`blocks.${layer}.attn.hook_pattern`, madePattern(lengths, 3, layer, 'sharp'))
  writer.write('blocks.0.hook_resid_pre', madeResidual(lengths, 4, 1))
  writer.complete()
  const open = store.beginRun({ provenance: madeProvenance(), items: [{ ids: [1, 2] }] })
  open.write('blocks.0.attn.hook_pattern', madePattern([2], 1, 1))
})
afterAll(() => {
  closeQueries()
  store.close()
  rmSync(folder, { recursive: true, force: true })
})

describe('the views', () => {
  it('attention is every stored weight (S29)', async () => {
    const { columns, rows, truncated } = await query(
      path,
      'select * from attention where run = 1 and item = 1 and layer = 1 and head = 2',
    )
    expect(columns).toEqual(['run', 'item', 'hook', 'layer', 'head', 'query', 'key', 'weight'])
    expect(truncated).toBe(false)
    expect(rows).toHaveLength((7 * 8) / 2)
    const pattern = store.pattern(1, 1, 1, 2)
    for (const [, , , , , q, k, weight] of rows) expect(weight).toBe(pattern.data[Number(q) * 7 + Number(k)])
    const all = await query(path, 'select count(*), max(run) from attention') // S9: not the run in flight
    expect(all.rows).toEqual([[2 * 3 * (78 + 28), 1]])
  })

  it('edge is every weight of 0.2 or more, with its tokens (S22, S29)', async () => {
    const { rows } = await query(
      path,
      'select item, layer, head, query, key, weight, query_token, key_token from edge order by weight desc',
    )
    expect(rows).toHaveLength(store.searchEdges({ limit: 0 }).total)
    const plain = await query(path, 'select count(*) from attention where weight >= 0.19995')
    expect(plain.rows).toEqual([[rows.length]])
    const items = store.run(1).itemList
    for (const [item, , , q, k, , queryToken, keyToken] of rows) {
      expect(queryToken).toBe(items[Number(item)]!.ids[Number(q)])
      expect(keyToken).toBe(items[Number(item)]!.ids[Number(k)])
    }
  })

  it('residual is every value (S29)', async () => {
    const { rows } = await query(
      path,
      "select pos, dim, value from residual where hook = 'blocks.0.hook_resid_pre' and item = 0",
    )
    const residual = store.residual(1, 0, 'blocks.0.hook_resid_pre')
    expect(rows.map((row) => row[2])).toEqual([...residual.data])
    expect(rows.at(-1)!.slice(0, 2)).toEqual([11, 3])
  })

  it('edge_search answers as the search does (S29)', async () => {
    const token = store.run(1).itemList[0]!.ids[0]!
    const { rows } = await query(
      path,
      `select run, item, hook, layer, head, query, key, weight from edge_search where key_token = ${token} and min_weight = 0.3`,
    )
    const found = store.searchEdges({ key: [token], minWeight: 0.3, limit: 1000 }).examples
    expect(rows).toEqual(found.map((e) => [e.run, e.item, e.hook, e.layer, e.head, e.query, e.key, e.weight]))
    expect((await query(path, `select count(*) from edge_search(-1, ${token}, 0.3)`)).rows).toEqual([
      [found.length],
    ])
    await expect(query(path, 'select * from attention_rows')).rejects.toThrow(/ask the view instead/)
  })

  it('values are plain, and rows limited', async () => {
    const { rows } = await query(path, "select 1, 9007199254740993, 0.5, 9e999, null, 'x', x'00ff'")
    expect(rows).toEqual([[1, '9007199254740993', 0.5, 'Infinity', null, 'x', '<2 bytes>']])
    const cut = await query(path, 'select * from attention', { limit: 5 })
    expect([cut.rows.length, cut.truncated]).toEqual([5, true])
  })
})

describe('what is refused (S28)', () => {
  // The store copies its log into the file when it has been quiet for a while; done now, nothing of that comes between.
  beforeAll(() => {
    const db = new Database(path)
    db.pragma('wal_checkpoint(TRUNCATE)')
    db.close()
  })

  it.each([
    'delete from run',
    'insert into note (text, created) values (1, 2)',
    'with a as (select 1) delete from run',
    '-- select\nupdate run set complete = 0',
    '/* select */ drop table run',
    'pragma user_version = 7',
    'pragma journal_mode(delete)',
    'pragma query_only = 0',
    'pragma writable_schema',
    'explain pragma user_version = 7',
    `attach '${join(folder, 'other.db')}' as other`,
    `vacuum into '${join(folder, 'copy.db')}'`,
    'begin',
    'create temp table t (x)',
    'select 1; delete from run',
    "select load_extension('x')",
    'selekt',
    ';',
    '',
  ])('%s', async (sql) => {
    const before = readFileSync(path)
    await expect(query(path, sql)).rejects.toMatchObject({
      code: 'bad-request',
      message: expect.stringMatching(/^[^\n]+$/),
    })
    expect(readFileSync(path).equals(before)).toBe(true)
    expect(store.listRuns()).toHaveLength(1)
  })

  it.each([
    'pragma table_info(run)',
    'PRAGMA user_version;',
    'explain query plan select * from run',
    'values (1)',
    ' -- note\n with a as (select 1) select * from a',
    'pragma integrity_check',
  ])('not: %s', async (sql) => {
    expect((await query(path, sql)).rows.length).toBeGreaterThan(0)
  })
})

describe('a query that would not end (S30)', () => {
  const endless = 'with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c'

  it('is ended after its time', async () => {
    const begun = performance.now()
    await expect(query(path, endless, { timeoutMs: 200 })).rejects.toMatchObject({
      code: 'bad-request',
      message: expect.stringMatching(/ended after 0.2 s/),
    })
    expect(performance.now() - begun).toBeLessThan(2000)
    expect((await query(path, 'select 1')).rows).toEqual([[1]])
  })

  it('is cancelled by its signal', async () => {
    await expect(query(path, endless, { signal: AbortSignal.timeout(100) })).rejects.toMatchObject({
      code: 'cancelled',
    })
    await expect(query(path, 'select 1', { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'cancelled',
    })
  })

  it('does not hold up another one', async () => {
    const slow = query(path, endless, { timeoutMs: 1000 })
    slow.catch(() => {})
    const rows = await Promise.all([query(path, 'select 1'), query(path, 'select 2')])
    expect(rows.map((r) => r.rows[0]![0])).toEqual([1, 2])
    await expect(slow).rejects.toThrow(/ended/)
  })

  it('a workspace that is not there is said so', async () => {
    await expect(query(join(folder, 'none.db'), 'select 1')).rejects.toMatchObject({ code: 'not-found' })
  })
})
