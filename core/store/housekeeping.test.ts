import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { madePattern, madeProvenance, madeTokens } from '../../test/support/store-made.ts'
import { openStore, type Store } from './capture-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'headscope-housekeeping-'))
const path = join(folder, 'work.db')
const hook = 'blocks.0.attn.hook_pattern'
let store: Store
const runs: number[] = []

beforeAll(() => {
  store = openStore(path)
  for (let i = 0; i < 3; i++) {
    const writer = store.beginRun({ provenance: madeProvenance(), items: [{ ids: madeTokens(128, i) }] })
    writer.write(hook, madePattern([128], 8, i))
    runs.push(
      writer.complete({
        items: [{ loss: 1.5, positions: [{ top: [{ id: 3, logit: 1, prob: 0.5 }], loss: 1.5 }] }],
      }),
    )
  }
})
afterAll(() => {
  store.close()
  rmSync(folder, { recursive: true, force: true })
})

describe('keeping scores only (S32)', () => {
  it('drops the captures of that run and nothing else', () => {
    const [first, second] = runs as [number, number]
    const before = store.run(first)
    const freed = store.keepScoresOnly(first)
    expect(freed).toBeGreaterThan(100_000)
    expect(store.runBytes(first)).toBe(before.bytes - freed)
    const after = store.run(first)
    expect(after).toEqual({ ...before, bytes: before.bytes - freed, hooks: [], captures: false })
    expect(after.itemList[0]).toMatchObject({ loss: 1.5, positions: [{ loss: 1.5 }] })
    expect(() => store.pattern(first, 0, 0, 0)).toThrow(/holds no pattern of L0H0/)
    expect(() => store.thumbnails(first, 0)).toThrow(/holds no patterns/)
    const left = store.searchEdges({ minWeight: 0.2 })
    expect(left.examples.map(({ run }) => run)).not.toContain(first)
    expect(store.pattern(second, 0, 0, 0).shape).toEqual([128, 128])
    expect(store.keepScoresOnly(first)).toBe(0)
    expect(() => store.keepScoresOnly(999)).toThrow(/Run 999 is not in this workspace/)
  })

  it('is seen in the list', () => {
    expect(store.listRuns().map(({ id, captures }) => [id, captures])).toEqual([
      [runs[2], true],
      [runs[1], true],
      [runs[0], false],
    ])
  })
})

describe('use', () => {
  it('says what the file costs and what compacting would give back', () => {
    store.deleteRun(runs[1]!)
    const before = store.use()
    expect(before).toMatchObject({ runs: 2, scans: 0, experiments: 0, prompts: 3, checkpoints: 1 })
    expect(before.free).toBeGreaterThan(200_000)
    store.compact()
    const after = store.use()
    expect(after.free).toBe(0)
    expect(after.bytes).toBeLessThan(before.bytes - before.free + 100_000)
    expect(store.pattern(runs[2]!, 0, 0, 0).shape).toEqual([128, 128])
    const db = new Database(path, { readonly: true })
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok')
    db.close()
  })
})
