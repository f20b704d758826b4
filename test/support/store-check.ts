/** Is every complete run of a test's workspace whole? Shared by the tests that kill, crowd and fill. */
import Database from 'better-sqlite3'
import { expect } from 'vitest'
import type { Store } from '../../core/store/capture-store.ts'
import { madePattern, madeResidual } from './store-made.ts'

/** Every run of store-writer.ts is there with all captures, edges and thumbnails, equal to what was made. */
export function expectWhole(store: Store, id: number): void {
  const run = store.run(id)
  expect(run.hooks).toHaveLength(6)
  for (const [item, length] of [24, 17].entries()) {
    expect(run.itemList[item]!.ids).toHaveLength(length)
    const whole = madePattern([24, 17], 4, 2, 'sharp')
    const head = store.pattern(id, item, 2, 3)
    expect(head.shape).toEqual([length, length])
    const at = ((item * 4 + 3) * 24 + length - 1) * 24
    expect([...head.data.subarray(-length)]).toEqual(
      [...whole.data.subarray(at, at + length)].map(Math.f16round),
    )
    const residual = store.residual(id, item, 'blocks.1.hook_resid_pre')
    expect([...residual.data]).toEqual([
      ...madeResidual([24, 17], 16, 1).data.subarray(item * 24 * 16, item * 24 * 16 + length * 16),
    ])
    expect(store.thumbnails(id, item).data).toHaveLength(3 * 4 * 1024)
    expect(store.searchEdges({ run: id, limit: 0 }).total).toBeGreaterThan(0)
  }
}

/** The file is sound, holds no incomplete run, and no row without its run. */
export function expectSound(path: string): void {
  const db = new Database(path, { readonly: true })
  try {
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok')
    expect(db.pragma('foreign_key_check')).toEqual([])
    expect(db.prepare('SELECT count(*) FROM run WHERE complete = 0').pluck().get()).toBe(0)
  } finally {
    db.close()
  }
}
