/** Every hook of a family can be read and replaced: × 1 changes nothing, × 1.1 changes the logits or is said to be unable. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Edit, type Model, openModel } from '../../core/index.ts'
import { FIXTURES, relativeError } from '../support/golden.ts'

const FAMILIES = [
  'gpt2-prefixed',
  'llama-gqa',
  'neox-parallel',
  'gemma2-softcap',
  'qwen3-moe',
  'falcon-new-arch',
  'bert-mlm',
]
const IDS = [5, 9, 11, 3, 9, 11, 7, 20, 5, 9]

/** Kernels change only where the inside of a norm or the sum over heads is edited. */
const EMITTED_ANEW = /hook_scale$|hook_normalized$|hook_result$|hook_expert|router/

/** A norm behind the hook undoes a factor on the whole of it; another change shows that the hook is read. */
function undone(name: string, model: Model): string | null {
  const { layers } = model.spec.stacks.at(-1)!
  const { norm, headTransform } = model.spec
  if (name === `blocks.${layers.length - 1}.hook_resid_post` && !headTransform)
    return `the final ${norm.kind} norm undoes a factor`
  const { qkNorm, norms } = layers[0]!
  if (qkNorm && /attn\.hook_[qk]$/.test(name)) return 'the norm of queries and keys undoes a factor'
  if (norms === 'both' && /(attn\.hook_(v|pattern|z|result)|mlp\.hook_(post|pre_linear))$/.test(name))
    return 'the norm after the part undoes a factor'
  return null
}

describe.each(FAMILIES)('%s', (family) => {
  let model: Model
  beforeAll(async () => {
    model = await openModel(join(FIXTURES, 'transformers', family))
  })
  afterAll(() => model.close())

  const logitsOf = async (edits: Edit[]) =>
    (await model.run(IDS, { capture: ['logits'], edits, top: 0 })).get('logits').data

  test('can be read', async () => {
    const run = await model.run(IDS, { capture: ['*'], top: 0 })
    for (const hook of model.hooks) {
      const { data, shape } = run.get(hook.name)
      expect(shape, hook.name).toHaveLength(hook.axes.length)
      expect(data.length).toBe(shape.reduce((a, b) => a * b, 1))
    }
  })

  test('can be replaced', async () => {
    const plain = await logitsOf([])
    for (const { name, shape } of model.hooks) {
      if (name.endsWith('hook_expert_indices')) {
        await expect(logitsOf([{ hook: name, op: 'scale', by: 1.1 }])).rejects.toThrow('does not exist')
        continue
      }
      const same = await logitsOf([{ hook: name, op: 'scale', by: 1 }])
      if (EMITTED_ANEW.test(name)) expect(relativeError(same, plain), name).toBeLessThan(1e-5)
      else expect(same, name).toEqual(plain)
      const changed = relativeError(await logitsOf([{ hook: name, op: 'scale', by: 1.1 }]), plain)
      const why = undone(name, model)
      if (why === null) {
        expect(changed, name).toBeGreaterThan(1e-5)
        continue
      }
      expect(changed, `${name}: ${why}`).toBeLessThan(1e-3)
      const width = shape.at(-1)!
      const varied = (size: number) => Float32Array.from({ length: size }, (_, i) => Math.sin(i + 1))
      const added: Edit =
        typeof width === 'number'
          ? { hook: name, op: 'add', from: { values: varied(width), shape: [width] } }
          : { hook: name, op: 'add', value: 0.5 }
      const moved = await logitsOf([added])
      expect(relativeError(moved, plain), name).toBeGreaterThan(1e-4)
    }
  })
})
