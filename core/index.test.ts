/** What README.md says of the API is what is exported. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import * as headscope from './index.ts'

const page = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8')
const table = page.slice(page.indexOf('| call | gives |'), page.indexOf('Results are plain data.'))

it('every export has its place in the page', () => {
  const named = new Set(page.match(/[A-Za-z_][A-Za-z0-9_]*/g))
  expect(Object.keys(headscope).filter((name) => !named.has(name))).toEqual([])
})

it('every call that stands alone in the table of calls is exported', () => {
  // What begins a piece of code and is called: `ablate(model, …`, not `model.run(…`, nor a method in a list of a store's.
  const calls = [...table.matchAll(/^\| (.*?) \|/gm)]
    .flatMap(([, cell]) => [...cell!.matchAll(/`([a-zA-Z]+)\(/g)])
    .map(([, name]) => name!)
  expect(calls.length).toBeGreaterThan(40)
  expect(calls.filter((name) => !(name in headscope))).toEqual([])
})

it('a model gives gradients of one prompt and of a batch, alone or beside the function', async () => {
  const model = await headscope.openModel(join(import.meta.dirname, '..', 'models', 'induction-2l'))
  const asked = { metric: { kind: 'loss' }, hooks: ['blocks.1.attn.hook_z'] } as const
  const one = await model.gradients([5, 9, 9, 2], asked)
  expect(one.grads.get('blocks.1.attn.hook_z')!.shape).toEqual([1, 4, 8, 16])
  expect(await headscope.gradients(model, [[5, 9, 9, 2]], asked)).toEqual(one)
  const run = await model.run([5, 9, 9, 2])
  expect(one.metric.value).toBeCloseTo(run.items[0]!.loss!, 4)
  await model.close()
})

it('a query is a call', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'headscope-index-'))
  const path = join(folder, 'w.db')
  headscope.openStore(path).close()
  expect(await headscope.querySql(path, 'select 1 as one')).toMatchObject({ columns: ['one'], rows: [[1]] })
  await expect(headscope.querySql(path, 'delete from run')).rejects.toThrow(/only reads/)
  headscope.closeQueries()
  rmSync(folder, { recursive: true })
})
