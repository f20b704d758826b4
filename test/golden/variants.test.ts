/** Switches that the reference checkpoints do not cover: hooks and logits of tiny checkpoints made by make.py. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Model, openModel } from '../../core/index.ts'
import { errorTable } from '../support/family-table.ts'
import { FIXTURES, idRows, readGolden, relativeError } from '../support/golden.ts'

const FOLDER = join(FIXTURES, 'variants')
const LONG = 'neox-key-bias-2048'
const CASES = readdirSync(FOLDER, { withFileTypes: true }).filter(
  (entry) => entry.isDirectory() && entry.name !== LONG,
)
const TOLERANCE = 1e-4
const PREFIX = 6
const table = errorTable('variants')

describe.each(CASES.map((entry) => entry.name))('%s', (name) => {
  const golden = readGolden('variants', name, 'golden.safetensors')
  const ids = idRows(golden.get('input_ids')!)
  const types = golden.get('token_type_ids')
  const typesOf = (length: number) =>
    types ? { tokenTypes: idRows(types).map((row) => row.slice(0, length)) } : {}
  let model: Model
  beforeAll(async () => {
    model = await openModel(join(FOLDER, name))
  })
  afterAll(() => model?.close())

  /** The error of a tensor, kept for the table. */
  function error(tensor: string, ours: Float32Array): number {
    const value = relativeError(ours, golden.get(tensor)!.data as Float32Array)
    return table.add(name, model.spec.family, tensor, value)
  }

  test('opens without a warning, but that there is no tokenizer', () => {
    expect(model.warnings).toEqual([expect.stringContaining('tokenizer.json is missing')])
  })

  test('hooks and logits', async () => {
    const hooks = [...golden.keys()].filter((key) => key === 'logits' || key.startsWith('blocks.'))
    const run = await model.run(ids, { ...typesOf(ids[0]!.length), capture: hooks })
    for (const hook of hooks) expect(error(hook, run.get(hook).data), hook).toBeLessThan(TOLERANCE)
  })

  test('a shorter run, with the tables of its own length', async () => {
    const run = await model.run(
      ids.map((row) => row.slice(0, PREFIX)),
      { ...typesOf(PREFIX), capture: ['logits'] },
    )
    expect(error('prefix.logits', run.get('logits').data)).toBeLessThan(TOLERANCE)
  })
})

test('2,048 positions and key biases of norm 300: as near to float64 as the reference in float32', async () => {
  const golden = readGolden('variants', LONG, 'golden.safetensors')
  const model = await openModel(join(FOLDER, LONG))
  const run = await model.run(idRows(golden.get('input_ids')!), { capture: ['logits'], top: 0 })
  await model.close()
  const reference = golden.get('last.logits')!.data as Float32Array
  const ours = run.get('logits').data
  expect(relativeError(ours.subarray(ours.length - reference.length), reference)).toBeLessThan(TOLERANCE)
})

describe.each(['llama-dynamic', 'llama-longrope', 'phi3-longrope'])(
  '%s, while it grows past its table',
  (name) => {
    test('each new token is what a run of the text so far says', async () => {
      const model = await openModel(join(FOLDER, name))
      const prompt = idRows(readGolden('variants', name, 'golden.safetensors').get('input_ids')!)[0]!.slice(
        0,
        PREFIX,
      )
      const { ids } = await model.generate(prompt, { max: 8 })
      for (const [step, id] of ids.entries()) {
        const run = await model.run([...prompt, ...ids.slice(0, step)], { top: 1 })
        expect(run.items[0]!.positions.at(-1)!.top[0]!.id).toBe(id)
      }
      await model.close()
    })
  },
)

describe('the table of measured errors', () => {
  test.runIf(process.env.HEADSCOPE_WRITE_TABLE)('is written', () => {
    table.write()
  })

  test('has a row for every checkpoint', () => {
    expect(table.written().sort()).toEqual(CASES.map((entry) => entry.name).sort())
  })
})
