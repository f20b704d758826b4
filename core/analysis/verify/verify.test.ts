/** Every identity fails on an engine that breaks it: a check that cannot fail would prove nothing. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Tensor } from '../../graph/tensor.ts'
import { type Model, openModel } from '../../run/model.ts'
import { verify } from './index.ts'
import { type Probe, probeOf } from './probe.ts'

const FOLDER = join(import.meta.dirname, '..', '..', '..', 'test', 'fixtures', 'transformers', 'neox-serial')

describe('verify', () => {
  let model: Model
  let probe: Probe
  beforeAll(async () => {
    model = await openModel(FOLDER)
    probe = probeOf(model)
  })
  afterAll(() => model.close())

  const failed = async (broken: Partial<Probe>) =>
    (await verify(model, { probe: { ...probe, ...broken } })).checks
      .filter((check) => check.ok === false)
      .map((c) => c.name)

  /** One hook of every capture, changed. */
  const changed = (hook: string, change: (data: Float32Array) => void): Partial<Probe> => ({
    async capture(ids) {
      const captures = new Map(await probe.capture(ids))
      const tensor = captures.get(hook) as Tensor
      const data = tensor.data.slice()
      change(data)
      return captures.set(hook, { ...tensor, data })
    },
  })
  const nudge = (data: Float32Array) => {
    data[data.length - 1]! += 0.01
  }

  test('holds as it is', async () => {
    expect(await verify(model)).toMatchObject({ ok: true })
  })

  test('matches a golden file, and says where it does not', async () => {
    const golden = join(FOLDER, 'golden.safetensors')
    const { checks, ok } = await verify(model, { golden })
    expect(ok).toBe(true)
    expect(checks.filter((check) => check.name.startsWith('blocks.')).length).toBeGreaterThan(10)
  })

  test('pattern rows', async () => {
    expect(await failed(changed('blocks.1.attn.hook_pattern', nudge))).toContain('pattern rows sum to 1')
  })
  test('values', async () => {
    const far = (data: Float32Array) => data.fill(100)
    expect(await failed(changed('blocks.1.attn.hook_z', far))).toContain('o lies between the visible values')
  })
  test('rotary', async () => {
    const double = (data: Float32Array) => {
      for (let i = 0; i < data.length; i++) data[i]! *= 2
    }
    expect(await failed(changed('blocks.0.attn.hook_rot_q', double))).toContain(
      'rotary keeps the length of queries',
    )
  })
  test('residual sum', async () => {
    expect(await failed(changed('blocks.2.hook_mlp_out', nudge))).toContain(
      'resid_post = resid_pre + attn_out + mlp_out',
    )
  })
  test('head sum', async () => {
    expect(await failed(changed('blocks.2.attn.hook_result', nudge))).toContain(
      'sum of head results + b_O = attn_out',
    )
  })
  test('decode', async () => {
    const decoded: Probe['decoded'] = async (ids, count) => {
      const data = await probe.decoded(ids, count)
      nudge(data)
      return data
    }
    expect(await failed({ decoded })).toContain('prefill + decode = one pass')
  })
  test('prefix', async () => {
    let calls = 0
    const capture: Probe['capture'] = (ids) =>
      probe.capture(calls++ === 0 ? ids : ids.map((id) => (id + 1) % 90))
    expect(await failed({ capture })).toContain('run(prefix) = prefix of run(whole)')
  })
  test('shift', async () => {
    const shifted: Probe['shifted'] = async (ids) => probe.shifted([...ids].reverse(), 5)
    expect(await failed({ shifted })).toContain('shifting all positions leaves patterns unchanged')
  })
  test('restarts', async () => {
    const restarted: Probe['restarted'] = (ids, layer, pos) => probe.restarted([...ids].reverse(), layer, pos)
    const names = await failed({ restarted })
    expect(names).toContain('restart from a block border = the full run')
    expect(names).toContain('restart from a position = the full run')
  })
  test('attribution', async () => {
    const attributed: Probe['attributed'] = async (ids, answer) => {
      const dla = await probe.attributed(ids, answer)
      return { ...dla, sum: dla.sum! + 0.01 }
    }
    const other: Probe['attributed'] = (ids, answer) => probe.attributed(ids, (answer + 1) % 90)
    const name = 'direct logit attribution sums to the logit'
    expect(await failed({ attributed })).toContain(name)
    expect(await failed({ attributed: other })).toContain(name)
  })
  test('lens', async () => {
    const lens: Probe['lens'] = async (ids) => {
      const data = (await probe.lens(ids)).slice()
      nudge(data)
      return data
    }
    expect(await failed({ lens })).toContain('the last lens row = the logits')
  })
  test.each([
    ['routing gradients of a row sum to 0', 'blocks.1.attn.hook_attn_scores'],
    ['key gradients of a head sum to 0', 'blocks.0.attn.hook_rot_k'],
    ['gradient of a block = residual + its paths', 'blocks.2.hook_resid_mid'],
  ])('%s', async (name, hook) => {
    const gradients: Probe['gradients'] = async (ids) => {
      const blocks = await probe.gradients(ids)
      const tensor = blocks[0]!.grads.get(hook)!
      const data = tensor.data.slice()
      nudge(data)
      const grads = new Map(blocks[0]!.grads).set(hook, { ...tensor, data })
      return blocks.map((block) => ({ ...block, grads }))
    }
    expect(await failed({ gradients })).toContain(name)
  })
  test('a path that is left out', async () => {
    const carriedBack: Probe['carriedBack'] = async (block, hook) => {
      const data = await probe.carriedBack(block, hook)
      return hook.endsWith('hook_v') ? data.map(() => 0) : data
    }
    expect(await failed({ carriedBack })).toEqual(['gradient of a block = residual + its paths'])
  })
  test('a value that is not a number fails, and says so', async () => {
    const broken = changed('blocks.1.attn.hook_pattern', (data) => data.fill(Number.NaN))
    const { checks } = await verify(model, { probe: { ...probe, ...broken } })
    const check = checks.find((c) => c.name === 'pattern rows sum to 1')!
    expect(check).toMatchObject({ ok: false, max_error: null, why: expect.stringContaining('finite') })
  })
})
