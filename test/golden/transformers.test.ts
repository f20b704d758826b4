/** Every hook, ablation, patch, knockout and greedy continuation of the reference checkpoints, within 1e-4. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Edit, type Model, openModel } from '../../core/index.ts'
import { errorTable } from '../support/family-table.ts'
import { FIXTURES, idRows, readGolden, relativeError } from '../support/golden.ts'

const FOLDER = join(FIXTURES, 'transformers')
const CASES = readdirSync(FOLDER, { withFileTypes: true }).filter((entry) => entry.isDirectory())
const TOLERANCE = 1e-4

const table = errorTable('measured')

/** `zero_ablation.logits.L1H3` and its like, as edits. */
function editsOf(name: string): Edit[] | null {
  const head = /^(zero_ablation|resample)\.logits\.L(\d+)H(\d+)$/.exec(name)
  if (head) {
    const target = { hook: `blocks.${head[2]}.attn.hook_z`, head: Number(head[3]) }
    if (head[1] === 'zero_ablation') return [{ ...target, op: 'zero' }]
    return [{ ...target, item: 0, op: 'set', from: { item: 1 } }]
  }
  const patch = /^patch\.logits\.resid_pre\.L(\d+)P(\d+)$/.exec(name)
  if (patch) {
    const hook = `blocks.${patch[1]}.hook_resid_pre`
    return [{ hook, item: 0, pos: Number(patch[2]), op: 'set', from: { item: 1 } }]
  }
  const knockout = /^knockout\.logits\.L(\d+)Q(\d+)K(\d+)$/.exec(name)
  if (knockout) {
    const hook = `blocks.${knockout[1]}.attn.hook_attn_scores`
    return [{ hook, query: Number(knockout[2]), key: Number(knockout[3]), op: 'set', value: '-inf' }]
  }
  return null
}

describe.each(CASES.map((entry) => entry.name))('%s', (name) => {
  const golden = readGolden('transformers', name, 'golden.safetensors')
  const ids = idRows(golden.get('input_ids')!)
  const types = golden.get('token_type_ids')
  const given = types ? { tokenTypes: idRows(types) } : {}
  let model: Model
  beforeAll(async () => {
    model = await openModel(join(FOLDER, name))
  })
  afterAll(() => model.close())

  /** The error of a tensor, kept for the table. */
  function error(tensor: string, ours: Float32Array): number {
    const value = relativeError(ours, golden.get(tensor)!.data as Float32Array)
    return table.add(name, model.spec.family, tensor, value)
  }

  test('opens without a warning', () => {
    expect(model.warnings).toEqual([])
  })

  test('every hook and the logits', async () => {
    const hooks = [...golden.keys()].filter((key) => key === 'logits' || key.startsWith('blocks.'))
    const run = await model.run(ids, { ...given, capture: hooks })
    expect(hooks.length).toBeGreaterThan(8)
    for (const hook of hooks) expect(error(hook, run.get(hook).data), hook).toBeLessThan(TOLERANCE)
  })

  const edited = [...golden.keys()].filter((key) => editsOf(key) !== null)
  test.each(edited)('%s', async (key) => {
    const run = await model.run(ids, { ...given, capture: ['logits'], edits: editsOf(key)! })
    expect(error(key, run.get('logits').data)).toBeLessThan(TOLERANCE)
  })

  const greedy = golden.get('greedy_ids')
  test.runIf(!greedy)('a model that looks ahead does not continue a text', async () => {
    await expect(model.generate(ids[0]!)).rejects.toThrow('cannot continue it')
  })

  test.runIf(greedy)('greedy tokens, exactly', async () => {
    const expected = idRows(greedy!)
    for (const [item, prompt] of ids.entries()) {
      const { ids: generated } = await model.generate(prompt, { max: expected[item]!.length })
      expect(generated).toEqual(expected[item])
    }
  })
})

describe('the table of measured errors', () => {
  test.runIf(process.env.HEADSCOPE_WRITE_TABLE)('is written', () => {
    table.write()
  })

  test('has a row for every checkpoint', () => {
    expect(table.written().sort()).toEqual(CASES.map((entry) => entry.name).sort())
  })
})
