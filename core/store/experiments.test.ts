/** Rule S31: sweeps cell by cell. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openStore, type Store } from './capture-store.ts'

const checkpoint = { contentHash: 'abc', path: '/m', name: 'm', family: 'gpt2' }
const plan = { request: { over: 'heads' } }
let folder: string
let store: Store
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headscope-experiments-'))
  store = openStore(join(folder, 'work.db'))
})
afterEach(() => {
  store.close()
  rmSync(folder, { recursive: true })
})

test('S31: cells are kept as they come, each key once, and the result last', () => {
  const id = store.saveExperiment({ kind: 'ablate', checkpoint, plan, cells: 3 })
  store.appendCells(id, [
    { key: '0 0', value: { value: 0.1 } },
    { key: '0 1', value: { value: null, why: 'x' } },
  ])
  store.appendCells(id, [
    { key: '0 1', value: { value: 5 } },
    { key: '0 2', value: { value: 1e-300 } },
  ])
  expect(store.experiment(id)).toMatchObject({
    id,
    kind: 'ablate',
    contentHash: 'abc',
    cells: 3,
    done: 3,
    complete: false,
    plan,
    result: null,
    cellList: [
      { key: '0 0', value: { value: 0.1 } },
      { key: '0 1', value: { value: null, why: 'x' } },
      { key: '0 2', value: { value: 1e-300 } },
    ],
  })
  store.completeExperiment(id, { base: 2 })
  expect(store.experiment(id)).toMatchObject({ complete: true, result: { base: 2 }, done: 3 })
})

test('lists kinds newest first, and deletes', () => {
  const ids = ['ablate', 'patch', 'ablate'].map((kind) =>
    store.saveExperiment({ kind, checkpoint, plan, cells: 1 }),
  )
  store.appendCells(ids[0]!, [{ key: 'a', value: 1 }])
  expect(store.listExperiments(['ablate']).map(({ id, done }) => [id, done])).toEqual([
    [ids[2], 0],
    [ids[0], 1],
  ])
  store.deleteExperiment(ids[0]!)
  expect(() => store.experiment(ids[0]!)).toThrow('not in this workspace')
  expect(() => store.deleteExperiment(ids[0]!)).toThrow('not in this workspace')
  expect(() => store.appendCells(ids[0]!, [{ key: 'a', value: 1 }])).toThrow('not in this workspace')
  expect(() => store.completeExperiment(99, {})).toThrow('Experiment 99')
})

test('S35: finished work is kept whole with every checkpoint that it is about, and read back as it was given', () => {
  const other = { ...checkpoint, contentHash: 'def', name: 'other' }
  const asked = { request: { model: '/m' }, models: [{ path: '/m', name: 'm' }] }
  const cells = [
    { key: 'L0H0', value: { layer: 0, head: 0, difference: { value: -0.1, n: 3, why: 'x' } } },
    { key: 'L0H1', value: { layer: 0, head: 1, difference: { value: null, n: 0 } } },
  ]
  const result = { triples: 3, warnings: ['<b>'], low: 5e-324 }
  const input = {
    kind: 'relation',
    checkpoint,
    plan: asked,
    name: 'green forest',
    others: [other],
    cells,
    result,
  }
  const id = store.keepExperiment(input)
  expect(store.experiment(id)).toMatchObject({
    ...{ kind: 'relation', name: 'green forest', contentHash: 'abc', plan: asked, complete: true },
    ...{ cells: 2, done: 2, cellList: cells, result },
  })
  expect(store.checkpoints().map(({ contentHash }) => contentHash)).toEqual(['def', 'abc'])
  expect(store.listExperiments(['relation'])).toMatchObject([{ id, name: 'green forest', complete: true }])
  // The same weights, seen elsewhere later: the analysis still names where it read them.
  store.saveCheckpoint({ ...checkpoint, path: '/copy', name: 'copy' })
  expect(store.listExperiments(['relation'])).toMatchObject([{ model: '/m', modelName: 'm' }])
  // What cannot be written leaves nothing behind.
  const circular: Record<string, unknown> = {}
  circular.self = circular
  expect(() => store.keepExperiment({ ...input, result: circular })).toThrow(/circular/i)
  expect(store.listExperiments(['relation'])).toHaveLength(1)
})
