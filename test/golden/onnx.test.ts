/**
 * ONNX files that PyTorch's exporters wrote of reference checkpoints (test/fixtures/onnx/make.py): logits as the file's
 * own run has them, patterns and the residual stream as the checkpoint has them; fused attention and broken files are
 * said in a sentence.
 */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { InferenceSession, Tensor as OrtTensor } from 'onnxruntime-node'
import { afterAll, describe, expect, test } from 'vitest'
import { type OnnxModel, openModel, openOnnx, scanHeads } from '../../core/index.ts'
import { FIXTURES, relativeError } from '../support/golden.ts'

const FOLDER = join(FIXTURES, 'onnx')
const IDS = [5, 9, 23, 5, 9, 40, 7, 3]
const KINDS = [
  'attn.hook_attn_scores',
  'attn.hook_pattern',
  'attn.hook_z',
  'hook_resid_pre',
  'hook_attn_out',
  'hook_mlp_out',
  'hook_resid_post',
]

const folder = mkdtempSync(join(tmpdir(), 'headscope-onnx-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe.each([
  ['gpt2.onnx', 'gpt2-prefixed', 3, true],
  ['gpt2-opset13.onnx', 'gpt2-prefixed', 3, true],
  ['neox-parallel.onnx', 'neox-parallel', 2, false],
  ['llama-past.onnx', 'llama-gqa', 2, true],
])('%s of %s', (file, checkpoint, layers, serial) => {
  const path = join(FOLDER, file)

  test('what is recognised', async () => {
    const model = await openModel(path)
    const expected = Array.from({ length: layers }, (_, l) =>
      [...KINDS, ...(serial ? ['hook_resid_mid'] : [])].map((kind) => `blocks.${l}.${kind}`),
    ).flat()
    expect(model.hooks.map((hook) => hook.name).sort()).toEqual([...expected, 'unembed.hook_out'].sort())
    expect(model.warnings.join()).not.toMatch(/observable|recognised/)
    await model.close()
  })

  test('logits equal the run of the file as it is, with and without optimisation', async () => {
    const model = await openModel(path)
    const ours = (await model.run(IDS, { capture: ['*'] })).get('unembed.hook_out')
    for (const [graphOptimizationLevel, tolerance] of [
      ['basic', 0],
      ['all', 1e-5],
    ] as const) {
      const session = await InferenceSession.create(path, { graphOptimizationLevel })
      const feeds: Record<string, OrtTensor> = {}
      for (const input of session.inputNames) {
        const past = input.startsWith('past')
        const values = input === 'input_ids' ? IDS : IDS.map((_, i) => (input === 'position_ids' ? i : 1))
        feeds[input] = past
          ? new OrtTensor('float32', new Float32Array(0), [1, 2, 0, 8])
          : new OrtTensor('int64', BigInt64Array.from(values, BigInt), [1, IDS.length])
      }
      const { logits } = await session.run(feeds)
      expect(relativeError(ours.data, logits!.data as Float32Array)).toBeLessThanOrEqual(tolerance)
      await session.release()
    }
    await model.close()
  })

  test('every hook equals the checkpoint', async () => {
    const model = await openModel(path)
    const original = await openModel(join(FIXTURES, 'transformers', checkpoint))
    const hooks = model.hooks.map((hook) => hook.name)
    const prompts = [IDS, IDS.slice(2, 7)]
    const ours = await model.run(prompts, { capture: [...hooks, 'logits'] })
    const theirs = await original.run(prompts, { capture: [...hooks, 'logits'] })
    for (const hook of [...hooks, 'logits']) {
      expect(ours.get(hook).shape, hook).toEqual(theirs.get(hook).shape)
      expect(ours.get(hook).axes, hook).toEqual(theirs.get(hook).axes)
      if (hook.endsWith('scores')) continue // beyond an item's end one holds 0, the other a masked score
      expect(relativeError(ours.get(hook).data, theirs.get(hook).data), hook).toBeLessThan(1e-4)
    }
    ours.items.forEach((item, i) => {
      expect(item.loss).toBeCloseTo(theirs.items[i]!.loss!, 4)
      item.positions.forEach(({ top }, pos) => {
        expect(top.map(({ id }) => id)).toEqual(theirs.items[i]!.positions[pos]!.top.map(({ id }) => id))
        expect(top[0]!.prob).toBeCloseTo(theirs.items[i]!.positions[pos]!.top[0]!.prob!, 4)
      })
    })
    const one = 'blocks.0.attn.hook_attn_scores'
    const [a, b] = await Promise.all([model, original].map((m) => m.run(IDS, { capture: [one] })))
    expect(relativeError(a!.get(one).data, b!.get(one).data)).toBeLessThan(1e-4)
    await model.close()
    await original.close()
  })

  test('scores of heads equal the checkpoint', async () => {
    const model = await openModel(path)
    const original = await openModel(join(FIXTURES, 'transformers', checkpoint))
    const sequences = [3, 11, 29].map((first) => [1, 2, 3, 4, 5, 1, 2, 3, 4, 5].map((i) => first + 7 * i))
    const [ours, theirs] = [await scanHeads(model, { sequences }), await scanHeads(original, { sequences })]
    expect(ours.heads.length).toBe(theirs.heads.length)
    ours.heads.forEach(({ scores }, i) => {
      for (const [name, score] of Object.entries(scores))
        expect(score.value).toBeCloseTo(theirs.heads[i]!.scores[name]!.value!, 5)
    })
    await model.close()
    await original.close()
  })
})

describe('what cannot be done is said in a sentence', () => {
  test('fused attention: its pattern does not exist, the rest does', async () => {
    const model = await openOnnx(join(FOLDER, 'fused.onnx'))
    expect(model.fused).toEqual([
      { layer: 0, op: 'com.microsoft MultiHeadAttention' },
      { layer: 1, op: 'ai.onnx Attention' },
    ])
    const sentence = /^fused\.onnx: pattern not observable, .*open the checkpoint's folder/
    expect(model.warnings.join()).toMatch(/pattern not observable/)
    for (const glob of ['*hook_pattern', 'blocks.1.attn.hook_attn_scores'])
      await expect(model.run([1, 2, 3], { capture: [glob] })).rejects.toThrow(sentence)
    await expect(scanHeads(model, { length: 4, batch: 1 })).rejects.toThrow(sentence)
    const run = await model.run([1, 2, 3], { capture: ['blocks.*.hook_resid_pre', 'mixed0', 'q1'] })
    expect(run.get('mixed0').shape).toEqual([1, 3, 16])
    const [pre, out, post] = await Promise.all(
      ['blocks.0.hook_resid_pre', 'blocks.0.hook_attn_out', 'blocks.0.hook_resid_post'].map(async (hook) =>
        (await model.run([1, 2, 3], { capture: [hook] })).get(hook),
      ),
    )
    expect(
      relativeError(
        pre!.data.map((value, i) => value + out!.data[i]!),
        post!.data,
      ),
    ).toBeLessThan(1e-6)
    await model.close()
  })

  test('any tensor by its own name', async () => {
    const model = (await openModel(join(FOLDER, 'gpt2.onnx'))) as OnnxModel
    expect(model.observable).toContain('tanh')
    const run = await model.run(IDS, { capture: ['tanh', 'blocks.0.attn.hook_pattern'] })
    expect(run.captured).toEqual(['tanh', 'blocks.0.attn.hook_pattern'])
    expect(run.get('tanh').shape[1]).toBe(IDS.length)
    await expect(model.run(IDS, { capture: ['no_such'] })).rejects.toThrow('matches no hook')
    await model.close()
  })

  test('edits, continuing, gradients', async () => {
    const model = await openModel(join(FOLDER, 'gpt2.onnx'))
    const edit = { hook: 'blocks.0.attn.hook_z', op: 'zero' } as const
    await expect(model.run(IDS, { edits: [edit] })).rejects.toThrow('nothing in it can be replaced')
    await expect(model.generate(IDS)).rejects.toThrow('not continued token by token')
    expect(() => model.engine()).toThrow('open the checkpoint')
    await expect(model.run([[1], [96]])).rejects.toThrow('holds the id 96')
    await expect(model.run(new Array(64).fill(1))).rejects.toThrow('could not run this graph')
    await model.close()
  })

  test('files that are broken, missing or short', async () => {
    const broken = join(folder, 'broken.onnx')
    writeFileSync(broken, 'not a model')
    await expect(openModel(broken)).rejects.toThrow(/^broken\.onnx (is not an ONNX file|holds no graph)/)
    await expect(openModel(join(folder, 'absent.onnx'))).rejects.toThrow('absent.onnx does not exist')
    const alone = join(folder, 'llama-past.onnx')
    copyFileSync(join(FOLDER, 'llama-past.onnx'), alone)
    await expect(openModel(alone)).rejects.toThrow('llama-past.onnx.data, which is not beside it')
    const data = join(folder, 'llama-past.onnx.data')
    copyFileSync(join(FOLDER, 'llama-past.onnx.data'), data)
    truncateSync(data, 4096)
    await expect(openModel(alone)).rejects.toThrow('has 4096 bytes')
    const cut = join(folder, 'cut.onnx')
    writeFileSync(cut, readFileSync(join(FOLDER, 'gpt2.onnx')).subarray(0, 100_000))
    await expect(openModel(cut)).rejects.toThrow(/^cut\.onnx is not an ONNX file/)
  })
})
