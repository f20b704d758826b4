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

/** `zero_ablation.logits.L1H3`, `resample.logits.decoder.cross.L0H1` and their like, as edits. */
function editsOf(name: string): Edit[] | null {
  const place =
    /^(\w+)\.logits\.(?:resid_pre\.)?((?:en|de)coder\.)?(cross\.)?L(\d+)(?:H(\d+)|P(\d+)|Q(\d+)K(\d+))$/.exec(
      name,
    )
  if (!place) return null
  const [, kind, stack = '', cross, layer, head, pos, query, key] = place
  const block = `${stack}blocks.${layer}`
  const attention = `${block}.${cross ? 'cross_attn' : 'attn'}`
  switch (kind) {
    case 'zero_ablation':
      return [{ hook: `${attention}.hook_z`, head: Number(head), op: 'zero' }]
    case 'resample':
      return [{ hook: `${attention}.hook_z`, head: Number(head), item: 0, op: 'set', from: { item: 1 } }]
    case 'patch':
      return [{ hook: `${block}.hook_resid_pre`, item: 0, pos: Number(pos), op: 'set', from: { item: 1 } }]
    case 'knockout':
      return [
        {
          hook: `${attention}.hook_attn_scores`,
          query: Number(query),
          key: Number(key),
          op: 'set',
          value: '-inf',
        },
      ]
    default:
      return null
  }
}

describe.each(CASES.map((entry) => entry.name))('%s', (name) => {
  const golden = readGolden('transformers', name, 'golden.safetensors')
  const ids = idRows(golden.get('input_ids')!)
  const types = golden.get('token_type_ids')
  const own = golden.get('decoder_input_ids')
  const decoderIds = own && idRows(own)
  const given = { ...(types ? { tokenTypes: idRows(types) } : {}), ...(decoderIds ? { decoderIds } : {}) }
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
    const hooks = [...golden.keys()].filter((key) => /^(logits|(encoder\.|decoder\.)?blocks\..*)$/.test(key))
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
      const begin = decoderIds ? { decoderIds: decoderIds[item]! } : {}
      const { ids: generated } = await model.generate(prompt, { ...begin, max: expected[item]!.length })
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
