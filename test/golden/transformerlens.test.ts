/** Every hook of the design's list against TransformerLens's values under its legacy names, within 1e-4. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Model, openModel } from '../../core/index.ts'
import { FIXTURES, idRows, readGolden, relativeError } from '../support/golden.ts'

/** Copies of the residual stream before the norm: TransformerLens's names for what hook_resid_pre and mid hold. */
const COPIES = /hook_(q|k|v|attn|mlp)_in(put)?$/

describe.each(['gpt2', 'llama'])('%s', (name) => {
  const golden = readGolden('transformerlens', name, 'tl_cache_legacy.safetensors')
  const ids = idRows(golden.get('input_ids')!)
  const names = [...golden.keys()].filter((key) => key !== 'input_ids' && !COPIES.test(key))
  let model: Model
  beforeAll(async () => {
    model = await openModel(join(FIXTURES, 'transformerlens', name))
  })
  afterAll(() => model.close())

  test('has every hook that TransformerLens names', () => {
    const ours = new Set([...model.hooks.map((hook) => hook.name), 'logits'])
    expect(names.filter((hook) => !ours.has(hook))).toEqual([])
  })

  test('every hook has its value and shape', async () => {
    const run = await model.run(ids, { capture: names })
    for (const hook of names) {
      const ours = run.get(hook)
      expect(ours.shape, hook).toEqual(golden.get(hook)!.shape)
      expect(relativeError(ours.data, golden.get(hook)!.data as Float32Array), hook).toBeLessThan(1e-4)
    }
  })
})
