/** Switches that the reference checkpoints do not cover: hooks and logits of tiny checkpoints made by make.py. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Model, openModel } from '../../core/index.ts'
import { FIXTURES, idRows, readGolden, relativeError } from '../support/golden.ts'

const FOLDER = join(FIXTURES, 'variants')
const CASES = readdirSync(FOLDER, { withFileTypes: true }).filter((entry) => entry.isDirectory())
const TOLERANCE = 1e-4
const PREFIX = 6

describe.each(CASES.map((entry) => entry.name))('%s', (name) => {
  const golden = readGolden('variants', name, 'golden.safetensors')
  const ids = idRows(golden.get('input_ids')!)
  let model: Model
  beforeAll(async () => {
    model = await openModel(join(FOLDER, name))
  })
  afterAll(() => model?.close())

  test('opens without a warning, but that there is no tokenizer', () => {
    expect(model.warnings).toEqual([expect.stringContaining('tokenizer.json is missing')])
  })

  test('hooks and logits', async () => {
    const hooks = [...golden.keys()].filter((key) => key === 'logits' || key.startsWith('blocks.'))
    const run = await model.run(ids, { capture: hooks })
    for (const hook of hooks)
      expect(relativeError(run.get(hook).data, golden.get(hook)!.data as Float32Array), hook).toBeLessThan(
        TOLERANCE,
      )
  })

  test('a shorter run, with the tables of its own length', async () => {
    const run = await model.run(
      ids.map((row) => row.slice(0, PREFIX)),
      { capture: ['logits'] },
    )
    const reference = golden.get('prefix.logits')!.data as Float32Array
    expect(relativeError(run.get('logits').data, reference)).toBeLessThan(TOLERANCE)
  })
})
