/** Several processes on one workspace, and processes that are killed. Numbers are rules of SPEC.md. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { openStore } from '../../core/store/capture-store.ts'
import { isAlive, thisProcess } from '../../core/store/writer-process.ts'
import { expectSound, expectWhole } from '../support/store-check.ts'
import { madeProvenance, seeded } from '../support/store-made.ts'

const folder = mkdtempSync(join(tmpdir(), 'headscope-store-processes-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let next = 0
let path: string
beforeEach(() => {
  path = join(folder, `${next++}.db`)
})

interface Writer {
  child: ChildProcess
  ready: Promise<unknown>
  ended: Promise<unknown>
  /** What it wrote to stdout. */
  lines(): string[]
}

function startWriter(count: number, seed: number): Writer {
  const script = fileURLToPath(new URL('../support/store-writer.ts', import.meta.url))
  const child = spawn(process.execPath, [script, path, String(count), String(seed)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout!.on('data', (part) => {
    output += part
  })
  return {
    child,
    ready: once(child.stdout!, 'data'),
    ended: once(child, 'close'),
    lines: () => output.split('\n').filter(Boolean),
  }
}

describe('several writers', () => {
  it('make one workspace together, and lose nothing (S1, S4)', async () => {
    const writers = [1, 2, 3].map((seed) => startWriter(25, seed))
    for (const writer of writers) expect(await writer.ended).toEqual([0, null])
    const ids = writers.flatMap((writer) => writer.lines().slice(1).map(Number))
    expect(new Set(ids).size).toBe(75)
    const store = openStore(path)
    expect(store.listRuns()).toHaveLength(75)
    for (const id of ids) expectWhole(store, id)
    store.close()
    expectSound(path)
  })

  it('are left alone by others that open the workspace (S10)', async () => {
    const writer = startWriter(0, 1)
    try {
      await writer.ready
      for (let i = 0; i < 40; i++) {
        openStore(path).close()
        await sleep(3)
      }
      expect(writer.child.exitCode).toBeNull()
    } finally {
      writer.child.kill('SIGKILL')
    }
    await writer.ended
    const store = openStore(path)
    expect(store.listRuns().length).toBeGreaterThan(0)
    for (const run of store.listRuns()) expectWhole(store, run.id)
    store.close()
  })
})

describe('kill -9', () => {
  it('at 30 random moments loses at most the run in flight (S11)', async () => {
    const random = seeded(20)
    let written = 0
    let cleaned = 0
    for (let round = 0; round < 15; round++) {
      // Two at a time: one may be killed while the other holds the lock, or while it is being born.
      const writers = [startWriter(0, 2 * round), startWriter(0, 2 * round + 1)]
      await Promise.all(
        writers.map(async (writer, i) => {
          if (round > 0 || i > 0) await writer.ready
          await sleep(random() * 60)
          writer.child.kill('SIGKILL')
          await writer.ended
        }),
      )
      cleaned += incomplete(path)
      const store = openStore(path)
      const known = new Set(store.listRuns().map((run) => run.id))
      const said = writers.flatMap((writer) => writer.lines().slice(1).map(Number))
      for (const id of said) expect(known.has(id)).toBe(true) // what was said to be complete is there
      for (const id of [...known].slice(0, 6)) expectWhole(store, id)
      written = known.size
      store.close()
      expectSound(path)
    }
    const store = openStore(path)
    for (const run of store.listRuns()) expectWhole(store, run.id)
    store.close()
    expect(written).toBeGreaterThan(5)
    expect(cleaned).toBeGreaterThan(0) // some were caught in the middle of a run
  })
})

describe('a writer that is gone (S10)', () => {
  const self = thisProcess()
  const now = new Date().toISOString()

  it('is told from a living one by host, id and start', async () => {
    expect(isAlive(self, now)).toBe(true)
    expect(isAlive({ ...self, start: 'another boot 1' }, now)).toBe(false) // our own id, given again
    const parent = { ...self, pid: process.ppid, start: 'another boot 1' }
    if (process.platform === 'linux') expect(isAlive(parent, now)).toBe(false) // a living process of that id, but not that one
    const child = spawn(process.execPath, ['-e', ''])
    await once(child, 'close')
    expect(isAlive({ ...self, pid: child.pid!, start: 'x' }, now)).toBe(false)
    expect(isAlive({ ...self, host: 'elsewhere' }, now)).toBe(true)
    expect(isAlive({ ...self, host: 'elsewhere' }, new Date(Date.now() - 8 * 86_400_000).toISOString())).toBe(
      false,
    )
  })

  it('leaves a run that the next open for writing removes, and an open for reading does not', () => {
    const store = openStore(path)
    const mine = store.beginRun({ provenance: madeProvenance(), items: [{ ids: [1] }] })
    const gone = store.beginRun({ provenance: madeProvenance(), items: [{ ids: [2] }] })
    const db = new Database(path)
    db.prepare("UPDATE run SET writer_start = 'another boot 1' WHERE id = ?").run(gone.id)
    const open = () => db.prepare('SELECT id FROM run').pluck().all()
    openStore(path, { readonly: true }).close()
    expect(open()).toEqual([mine.id, gone.id])
    openStore(path).close()
    expect(open()).toEqual([mine.id])
    expect(() => gone.complete()).toThrow(/deleted while it was being written/)
    store.close() // aborts what is still open
    expect(open()).toEqual([])
    db.close()
  })
})

// --- Internal helpers ---

function incomplete(file: string): number {
  const db = new Database(file, { readonly: true })
  const count = db.prepare('SELECT count(*) FROM run WHERE complete = 0').pluck().get() as number
  db.close()
  return count
}
