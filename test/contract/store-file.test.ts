/** The workspace file: born whole, refused untouched, migrated, full, read-only. Numbers are rules of SPEC.md. */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { openStore, type Store } from '../../core/store/capture-store.ts'
import { APPLICATION_ID, MIGRATIONS, migrate, SCHEMA_VERSION } from '../../core/store/migrate.ts'
import { madePattern, madeProvenance, madeTokens } from '../support/store-made.ts'

const folder = mkdtempSync(join(tmpdir(), 'headscope-store-file-'))
chmodSync(folder, 0o755)
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let next = 0
let path: string
beforeEach(() => {
  path = join(folder, `${next++}.db`)
})

function write(store: Store, tokens = 16): number {
  const writer = store.beginRun({ provenance: madeProvenance(), items: [{ ids: madeTokens(tokens, 1) }] })
  writer.write('blocks.0.attn.hook_pattern', madePattern([tokens], 4, 1))
  return writer.complete()
}

/** Opens in a process of its own, without root's rights; its JSON. */
function openAsUser(file: string, how: 'write' | 'read') {
  const script = fileURLToPath(new URL('../support/store-open.ts', import.meta.url))
  const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
  const child = spawnSync(process.execPath, [script, file, how], { encoding: 'utf8', ...user })
  expect(child.stderr).toBe('')
  return JSON.parse(child.stdout)
}

describe('a new workspace', () => {
  it('appears whole, with nothing beside it (S1)', () => {
    const deep = join(folder, 'new', 'deeper', 'work.db')
    const store = openStore(deep)
    expect(write(store)).toBe(1)
    store.close()
    expect(readdirSync(join(folder, 'new', 'deeper'))).toEqual(['work.db'])
    writeFileSync(path, '') // an empty file, as mktemp makes, is a place for a new one
    openStore(path).close()
    expect(statSync(path).size).toBeGreaterThan(0)
  })

  it('has its log, keys and numbers set (S4)', () => {
    openStore(path).close()
    const db = new Database(path, { readonly: true })
    expect(db.pragma('journal_mode', { simple: true })).toBe('wal')
    expect(db.pragma('application_id', { simple: true })).toBe(APPLICATION_ID)
    expect(db.pragma('user_version', { simple: true })).toBe(SCHEMA_VERSION)
    db.close()
  })
})

describe('a file that is not to be opened (S2)', () => {
  function refused(message: RegExp, code = 'bad-store'): void {
    const before = readFileSync(path)
    for (const readonly of [false, true]) {
      expect(() => openStore(path, { readonly })).toThrow(
        expect.objectContaining({ code, message: expect.stringMatching(message) }),
      )
      expect(readFileSync(path).equals(before)).toBe(true)
      for (const end of ['-wal', '-journal', '-shm']) expect(existsSync(path + end)).toBe(false)
    }
  }

  it('is text, or another program’s database', () => {
    writeFileSync(path, 'my diary\n'.repeat(100))
    refused(/not a Headscope workspace; it was left as it is/)
    rmSync(path)
    const db = new Database(path)
    db.exec('CREATE TABLE run (id); CREATE TABLE checkpoint (id)')
    db.close()
    refused(/not a Headscope workspace/)
  })

  it('comes from a newer Headscope', () => {
    openStore(path).close()
    const db = new Database(path)
    db.pragma('journal_mode = DELETE')
    db.pragma(`user_version = ${SCHEMA_VERSION + 1}`)
    db.close()
    refused(/has version 3, and this Headscope knows versions up to 2; update Headscope/)
  })

  it('is cut short', () => {
    const store = openStore(path)
    write(store, 200)
    store.close()
    truncateSync(path, statSync(path).size - 8192)
    refused(/damaged/)
  })

  it('has a broken schema page', () => {
    openStore(path).close()
    const file = openSync(path, 'r+')
    writeSync(file, Buffer.alloc(4000, 0xa5), 0, 4000, 100)
    closeSync(file)
    const before = readFileSync(path)
    expect(() => openStore(path)).toThrow(
      expect.objectContaining({ code: 'bad-store', message: expect.stringMatching(/damaged/) }),
    )
    expect(readFileSync(path).equals(before)).toBe(true)
  })

  it('is a folder, or is not there', () => {
    mkdirSync(path)
    expect(() => openStore(path)).toThrow(expect.objectContaining({ code: 'bad-store' }))
    expect(() => openStore(`${path}-none`, { readonly: true })).toThrow(
      expect.objectContaining({ code: 'not-found' }),
    )
    writeFileSync(`${path}-file`, 'x')
    expect(() => openStore(join(`${path}-file`, 'work.db'))).toThrow(
      expect.objectContaining({ code: 'bad-store' }),
    )
  })
})

describe('migrations (S3)', () => {
  const later = [
    ...MIGRATIONS,
    'ALTER TABLE note ADD COLUMN colour TEXT',
    'CREATE TABLE extra (id INTEGER PRIMARY KEY) STRICT',
  ]

  it('bring a file of an older version up, data and all', () => {
    const store = openStore(path)
    write(store)
    store.close()
    const db = new Database(path)
    migrate(db, path, later)
    expect(db.pragma('user_version', { simple: true })).toBe(SCHEMA_VERSION + 2)
    expect(db.prepare('SELECT count(*) FROM run').pluck().get()).toBe(1)
    expect(db.prepare('SELECT colour FROM note').all()).toEqual([])
    migrate(db, path, later) // nothing more to do
    db.close()
  })

  it('leave it as it was when one fails', () => {
    openStore(path).close()
    const db = new Database(path)
    expect(() => migrate(db, path, [...later, 'CREATE TABLE run (id)'])).toThrow(/already exists/)
    expect(db.pragma('user_version', { simple: true })).toBe(SCHEMA_VERSION)
    expect(() => db.prepare('SELECT colour FROM note')).toThrow(/no such column/)
    db.close()
    openStore(path).close()
  })
})

describe('places that cannot be written', () => {
  it('are refused at once for writing, and readable for reading (S5, S6)', () => {
    const place = join(folder, 'locked')
    mkdirSync(place)
    const file = join(place, 'work.db')
    const store = openStore(file)
    write(store)
    store.close()
    chmodSync(file, 0o444)
    chmodSync(place, 0o555)
    try {
      expect(openAsUser(file, 'write')).toEqual({
        code: 'bad-store',
        message: expect.stringMatching(/may not be written to/),
      })
      expect(openAsUser(join(place, 'new.db'), 'write')).toEqual({
        code: 'bad-store',
        message: expect.stringMatching(/may not be written to/),
      })
      expect(openAsUser(file, 'read')).toEqual({ runs: [1], edges: expect.any(Number) })
      expect(readdirSync(place)).toEqual(['work.db'])
    } finally {
      chmodSync(place, 0o755)
    }
  })

  it('a store opened for reading refuses to write (S5)', () => {
    openStore(path).close()
    const store = openStore(path, { readonly: true })
    expect(() => write(store)).toThrow(/opened for reading only/)
    expect(() => store.compact()).toThrow(/opened for reading only/)
    store.close()
  })
})

describe('a full disk (S7)', () => {
  it('refuses in one sentence and keeps no half of a run', () => {
    const maxBytes = 2 * 2 ** 20
    const store = openStore(path, { maxBytes })
    const kept: number[] = []
    let problem: unknown
    while (problem === undefined && kept.length < 1000) {
      try {
        kept.push(write(store, 100))
      } catch (error) {
        problem = error
      }
    }
    expect(problem).toMatchObject({
      code: 'no-space',
      message: expect.stringMatching(/no space left for this workspace; the run in flight was not kept/),
    })
    expect(kept.length).toBeGreaterThan(1)
    expect(store.listRuns().map((run) => run.id)).toEqual([...kept].reverse())
    for (const id of kept) expect(store.pattern(id, 0, 0, 3).shape).toEqual([100, 100])
    store.deleteRun(kept.pop()!)
    kept.push(write(store, 100)) // the room of a deleted run is used again
    store.close()
    const db = new Database(path, { readonly: true })
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok')
    expect(db.prepare('SELECT count(*) FROM run').pluck().get()).toBe(kept.length)
    expect(db.prepare('SELECT count(DISTINCT run) FROM activation').pluck().get()).toBe(kept.length)
    db.close()
  })

  it('at any page: each limit leaves whole runs only', () => {
    openStore(path).close()
    const pages = statSync(path).size / 8192
    for (let more = 0; more < 24; more += 2) {
      const copy = `${path}-${more}`
      copyFileSync(path, copy)
      const store = openStore(copy, { maxBytes: (pages + more) * 8192 })
      expect(() => {
        for (;;) write(store, 60)
      }).toThrow(expect.objectContaining({ code: 'no-space' }))
      for (const run of store.listRuns()) expect(store.pattern(run.id, 0, 0, 3).shape).toEqual([60, 60])
      store.close()
      const db = new Database(copy, { readonly: true })
      expect(db.prepare('SELECT count(*) FROM run WHERE complete = 0').pluck().get()).toBe(0)
      expect(db.pragma('integrity_check', { simple: true })).toBe('ok')
      db.close()
    }
  })
})
