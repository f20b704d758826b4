import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Model, openModel } from '../run/model.ts'
import { cacheCheck } from './cached.ts'

let model: Model

beforeAll(async () => {
  model = await openModel(join(import.meta.dirname, '..', '..', 'models', 'induction-2l'))
})
afterAll(() => model.close())

it('sees a cache that gives other probabilities', async () => {
  const made = await model.generate([0, 7, 9], { max: 4 })
  expect(await cacheCheck(model, made, [], {})).toEqual({ cached_equals_uncached: true })
  const logProbs = made.logProbs.map((value, i) => (i === 2 ? value - 0.01 : value))
  expect(await cacheCheck(model, { ...made, logProbs }, [], {})).toEqual({ cached_equals_uncached: false })
  expect(await cacheCheck(model, { ...made, ids: made.ids.map(() => 11) }, [], {})).toEqual({
    cached_equals_uncached: false,
  })
})

it('says why there is nothing to compare with', async () => {
  const made = await model.generate([0, 7, 9], { max: 2 })
  const edit = { hook: 'blocks.1.attn.hook_z', pos: -1, op: 'zero' } as const
  expect(await cacheCheck(model, made, [edit], {})).toMatchObject({
    cached_equals_uncached: null,
    why: expect.stringContaining('positions'),
  })
  expect(await cacheCheck(model, { ...made, ids: [], logProbs: [] }, [], {})).toMatchObject({
    cached_equals_uncached: null,
  })
})
