/** Components sum to the residual on every family; geometry, context and compounds on small prompts. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { decoderOf } from '../graph/model-spec.ts'
import { openModel } from '../run/model.ts'
import { nearestTokens, parseTerms } from './embedding.ts'
import { residualChange } from './residual-components.ts'
import { contextShift } from './residual-context.ts'
import {
  compoundConvergence,
  cosine,
  positionCosines,
  residualGeometry,
  residualStream,
} from './residual-geometry.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const FIXTURES = join(ROOT, 'test', 'fixtures')
const isEncoderDecoder = (folder: string) =>
  JSON.parse(readFileSync(join(FIXTURES, folder, 'config.json'), 'utf8')).is_encoder_decoder === true
const FOLDERS = ['transformers', 'variants'].flatMap((root) =>
  readdirSync(join(FIXTURES, root), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(root, entry.name))
    .filter((folder) => !isEncoderDecoder(folder)),
)
const IDS = [3, 17, 5, 9, 21, 5, 9]

test.each(FOLDERS)('%s: who wrote what sums to the change', async (folder) => {
  const model = await openModel(join(FIXTURES, folder))
  const last = decoderOf(model.spec).layers.length
  const whole = await residualChange(
    model,
    { ids: IDS, pos: 4, border: 0 },
    { ids: IDS, pos: 4, border: last },
  )
  const across = await residualChange(
    model,
    { ids: IDS, pos: 3, border: last },
    { ids: IDS, pos: 6, border: last },
  )
  for (const change of [whole, across]) {
    expect(change.error).toBeLessThan(1e-5)
    expect(change.writers.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 4)
  }
  // The same token in the same place: the embedding wrote none of the difference.
  if (
    model.spec.positional !== 'learned' &&
    !decoderOf(model.spec).layers.some(({ norms }) => norms === 'sum')
  )
    expect(across.writers.find(({ name }) => name === 'embed')).toBeUndefined()
  await model.close()
})

test('geometry', async () => {
  const model = await openModel(join(FIXTURES, 'transformers', 'llama-gqa'))
  const stream = await residualStream(model, IDS)
  const { norms, step, toEnd } = residualGeometry(stream)
  const layers = decoderOf(model.spec).layers.length
  expect(norms).toHaveLength(layers + 1)
  expect(step).toHaveLength(layers)
  expect(toEnd.at(-1)!.every((value) => Math.abs(value! - 1) < 1e-12)).toBe(true)
  expect(norms[0]![2]).toBeCloseTo(norms[0]![5]!, 10) // one token, one embedding
  const between = positionCosines(stream, 0)
  expect(between[2]![5]).toBeCloseTo(1, 10)
  expect(between[1]![2]).toBeCloseTo(between[2]![1]!, 12)
  expect(cosine([0, 0], [1, 0])).toBeNull()
  await model.close()
})

test('pieces of a compound beside pairs of other tokens', async () => {
  const model = await openModel(join(ROOT, 'models', 'prose-4l'))
  const ids = model.encode('The old house near the river was built of stone and wood')
  const stream = await residualStream(model, ids)
  const { pairs, controlPairs, borders } = compoundConvergence(stream, [3, 4])
  expect(pairs).toBe(1)
  expect(controlPairs).toBeGreaterThan(3)
  expect(borders[0]!.pieces).toBeCloseTo(positionCosines(stream, 0)[3]![4]!, 12)
  expect(borders).toHaveLength(decoderOf(model.spec).layers.length + 1)
  expect(() => compoundConvergence(stream, [3])).toThrow('two positions')
  expect(() => compoundConvergence(stream, [3, 99])).toThrow('no position 99')
  await model.close()
})

test('one token in two contexts: the same at the start, apart later, and the writers of the difference', async () => {
  const model = await openModel(join(ROOT, 'models', 'prose-4l'))
  const places = ['The cat sat down', 'She said that he sat down'].map((text) => {
    const ids = model.encode(text)
    return { ids, pos: ids.length - 1 }
  })
  const { token, pairs } = await contextShift(model, places)
  expect(token).toBe(places[0]!.ids.at(-1))
  expect(pairs[0]!.distance).toBeCloseTo(0, 6)
  expect(pairs.at(-1)!.cosine).toBeLessThan(0.9999)
  const border = pairs.at(-1)!.border
  const change = await residualChange(model, { ...places[0]!, border }, { ...places[1]!, border })
  expect(change.distance).toBeCloseTo(pairs.at(-1)!.distance, 3)
  expect(change.writers[0]!.name).not.toBe('embed')
  await expect(contextShift(model, places.slice(0, 1))).rejects.toThrow('two prompts')
  await model.close()
})

test('directions in the embedding', async () => {
  const model = await openModel(join(ROOT, 'models', 'prose-4l'))
  const [a, b] = [40, 77]
  const one = await nearestTokens(model, `#${a}`, { count: 3 })
  expect(one.neighbours[0]).toMatchObject({ id: a, named: true })
  expect(one.neighbours[0]!.cosine).toBeCloseTo(1, 6)
  const combined = await nearestTokens(model, `#${a} + #${b} - #${b}`, { count: 1 })
  expect(combined.neighbours[0]).toMatchObject({ id: a })
  const rows = model.weight('embed_in.weight')
  const row = (id: number) => rows.subarray(id * model.spec.dModel, (id + 1) * model.spec.dModel)
  const [, second] = one.neighbours
  expect(second!.cosine).toBeCloseTo(cosine(row(a), row(second!.id))!, 5)
  await expect(nearestTokens(model, `#${a} - #${a}`)).rejects.toThrow('zero vector')
  await expect(nearestTokens(model, 'antidisestablishmentarianism')).rejects.toThrow('needs one')
  expect(() => parseTerms(model, 'the cat')).toThrow('neither + nor -')
  expect(() => parseTerms(model, '')).toThrow('not a sum')
  expect(parseTerms(model, '" the" - the').map(({ sign, text }) => [sign, text])).toEqual([
    [1, ' the'],
    [-1, ' the'],
  ])
  await model.close()
})
