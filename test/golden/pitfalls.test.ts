/** Mistakes that tools of this kind have made, each as a check of its own: what no golden value would show. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readSafetensorsFile } from '../../core/checkpoint/index.ts'
import { writeSafetensors } from '../../core/checkpoint/safetensors-write.ts'
import { openModel, openStore, repeatPairs, rollout, scanHeads } from '../../core/index.ts'
import { FIXTURES } from '../support/golden.ts'

const fixture = (name: string) => join(FIXTURES, 'transformers', name)
let scratch: string
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'headscope-pitfalls-'))
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

test('zeroed heads leave the output bias: the attention writes exactly b_O', async () => {
  const folder = fixture('gpt2-prefixed')
  const model = await openModel(folder)
  const edits = [{ hook: 'blocks.0.attn.hook_z', op: 'zero' as const }]
  const hooks = ['blocks.0.hook_resid_pre', 'blocks.0.hook_attn_out', 'blocks.0.hook_resid_mid']
  const run = await model.run([5, 9, 9, 2, 7], { capture: hooks, edits })
  await model.close()
  const bias = readSafetensorsFile(join(folder, 'model.safetensors')).get('transformer.h.0.attn.c_proj.bias')!
    .data as Float32Array
  expect(Math.max(...bias.map(Math.abs))).toBeGreaterThan(0.05)
  const [pre, out, mid] = hooks.map((hook) => run.get(hook).data) as [
    Float32Array,
    Float32Array,
    Float32Array,
  ]
  for (let i = 0; i < out.length; i++) {
    expect(out[i]).toBe(bias[i % bias.length])
    expect(mid[i]).toBe(Math.fround(pre[i]! + bias[i % bias.length]!))
  }
})

describe('a config with a soft-cap that is none', () => {
  test.each(['0', '-2', 'NaN', '1e999'])('%s is refused by name', async (value) => {
    const folder = join(scratch, `softcap-${value}`)
    cpSync(fixture('gemma2-softcap'), folder, { recursive: true })
    const file = join(folder, 'config.json')
    const text = readFileSync(file, 'utf8')
    writeFileSync(file, text.replace(/("attn_logit_softcapping":\s*)[^,\n}]+/, `$1${value}`))
    expect(readFileSync(file, 'utf8')).not.toBe(text)
    await expect(openModel(folder)).rejects.toMatchObject({ code: 'bad-checkpoint' })
  })
})

test('a norm of queries of an unknown length is refused, naming the tensor and both shapes', async () => {
  const folder = join(scratch, 'norm-length')
  cpSync(fixture('olmo2-postnorm'), folder, { recursive: true })
  const file = join(folder, 'model.safetensors')
  const name = 'model.layers.0.self_attn.q_norm.weight'
  const tensors = [...readSafetensorsFile(file)].map(([own, { data, shape }]) =>
    own === name
      ? { name: own, shape: [12], data: (data as Float32Array).slice(0, 12) }
      : { name: own, shape, data: data as Float32Array },
  )
  writeSafetensors(file, tensors)
  await expect(openModel(folder)).rejects.toThrow(/layers\.0\.self_attn\.q_norm\.weight.*12.*32/)
})

test('what is computed from a stored pattern leaves it as it is', async () => {
  const model = await openModel(fixture('neox-serial'))
  const ids = [5, 9, 11, 5, 9, 3]
  const run = await model.run(ids, { capture: ['*.hook_pattern'] })
  const store = openStore(join(scratch, 'pattern.db'))
  const id = store.save(run)
  const stored = () => Buffer.from(store.patternBytes(id, 0, 1, 2).bytes).toString('hex')
  const patterns = run.captured.map((hook) => run.get(hook))
  const copies = patterns.map(({ data }) => data.slice())
  const before = stored()
  const layers = patterns.map(({ data, shape }) => ({ heads: shape[1]!, data }))
  const without = rollout(layers, ids.length, { withoutFirst: true })
  expect(without.every(Number.isFinite)).toBe(true)
  await scanHeads(model, { length: 8, batch: 5 })
  expect(repeatPairs(ids).length).toBeGreaterThan(0)
  store.searchEdges({ minWeight: 0.01 })
  expect(patterns.map(({ data }) => data)).toEqual(copies)
  expect(stored()).toBe(before)
  store.close()
  await model.close()
})

test('a checkpoint that is opened, run and closed forty times leaves no memory behind', () => {
  const script = join(import.meta.dirname, '..', 'support', 'reopen.ts')
  const folder = join(FIXTURES, '..', '..', 'models', 'prose-4l')
  const bytes = JSON.parse(
    execFileSync(process.execPath, [script, folder, '40'], { encoding: 'utf8' }),
  ) as number[]
  // Keeping one copy of the weights a round, as a leak would, is 30 times their size; the allocator's own growth is a third of that.
  const weights = readFileSync(join(folder, 'model.safetensors')).length
  expect(weights).toBeGreaterThan(3e6)
  expect(bytes.at(-1)! - bytes[9]!).toBeLessThan(20 * weights)
})
