/**
 * ONNX files that PyTorch's exporters wrote of reference checkpoints (test/fixtures/onnx/make.py): logits as the file's
 * own run has them, patterns and the residual stream as the checkpoint has them; fused attention and broken files are
 * said in a sentence.
 */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { InferenceSession, Tensor as OrtTensor } from 'onnxruntime-node'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type AblateOptions,
  ablate,
  DEFAULT_SCORES,
  type Edit,
  type Model,
  type OnnxModel,
  openModel,
  openOnnx,
  scanHeads,
} from '../../core/index.ts'
import { estimateRun } from '../../core/run/estimate.ts'
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
  ['bloom.onnx', 'bloom-alibi', 2, true],
  ['cohere.onnx', 'cohere-interleaved', 3, false],
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
    const scores = [...DEFAULT_SCORES, 'prefix_matching', 'entropy', 'saturation']
    const options = { sequences, scores }
    const [ours, theirs] = [await scanHeads(model, options), await scanHeads(original, options)]
    expect(ours.heads.length).toBe(theirs.heads.length)
    ours.heads.forEach(({ scores }, i) => {
      for (const [name, score] of Object.entries(scores))
        expect(score.value).toBeCloseTo(theirs.heads[i]!.scores[name]!.value!, 5)
    })
    await model.close()
    await original.close()
  })
})

describe.each([
  ['gpt2.onnx', 'gpt2-prefixed'],
  ['gpt2-opset13.onnx', 'gpt2-prefixed'],
  ['neox-parallel.onnx', 'neox-parallel'],
  ['bloom.onnx', 'bloom-alibi'],
  ['cohere.onnx', 'cohere-interleaved'],
  ['llama-past.onnx', 'llama-gqa'],
])('edits and continuations: %s as %s', (file, checkpoint) => {
  let model: Model
  let original: Model
  beforeAll(async () => {
    model = await openModel(join(FOLDER, file))
    original = await openModel(join(FIXTURES, 'transformers', checkpoint))
  })
  afterAll(() => Promise.all([model.close(), original.close()]))

  const other = IDS.map((id) => id + 2)
  const steering = { values: Float32Array.from({ length: 64 }, (_, i) => i / 16), shape: [64] }
  const kinds: Record<string, readonly Edit[]> = {
    'a head is zero': [{ hook: 'blocks.1.attn.hook_z', head: 1, op: 'zero' }],
    'a head of one item is scaled at some positions': [
      { hook: 'blocks.0.attn.hook_z', head: [0, 2], item: 1, pos: '1:', op: 'scale', by: 0.5 },
    ],
    'attention is knocked out': [
      { hook: 'blocks.*.attn.hook_attn_scores', query: -1, key: 1, op: 'set', value: '-inf' },
    ],
    'the pattern of another prompt': [
      { hook: 'blocks.1.attn.hook_pattern', head: 3, op: 'set', from: { ids: other } },
    ],
    'the residual of another item': [
      { hook: 'blocks.1.hook_resid_pre', item: 1, pos: 2, op: 'set', from: { item: 0 } },
    ],
    'several at one place': [
      { hook: 'blocks.0.hook_mlp_out', pos: 2, op: 'scale', by: 3 },
      { hook: 'blocks.0.hook_mlp_out', op: 'add', value: 0.25 },
      { hook: 'blocks.1.hook_attn_out', pos: [0, 3], op: 'zero' },
    ],
    'a direction is added': [{ hook: 'blocks.1.hook_resid_post', pos: 1, op: 'add', by: 2, from: steering }],
  }

  test.each(Object.keys(kinds))('%s: as in the checkpoint, in a batch of unequal lengths', async (name) => {
    const width = model.spec.dModel
    const edits = kinds[name]!.map((edit) =>
      edit.from && 'values' in edit.from
        ? { ...edit, from: { values: edit.from.values.subarray(0, width), shape: [width] } }
        : edit,
    )
    const prompts = [IDS, IDS.slice(2, 7)]
    const capture = ['blocks.*.hook_resid_p*', 'blocks.*.attn.hook_pattern', 'logits']
    const ours = await model.run(prompts, { edits, capture })
    const theirs = await original.run(prompts, { edits, capture })
    const clean = await model.run(prompts, { capture: ['logits'] })
    expect(relativeError(ours.get('logits').data, clean.get('logits').data)).toBeGreaterThan(1e-3)
    for (const hook of ours.captured)
      expect(relativeError(ours.get(hook).data, theirs.get(hook).data), hook).toBeLessThan(1e-4)
    expect(ours.provenance.edits).toEqual(edits)
  })

  test('ablations are those of the checkpoint', async () => {
    const metric = { kind: 'logit_diff', answer: 5, wrong: 9 } as const
    const references = [IDS.map((id) => id + 1), IDS.map((id) => id + 30)]
    const sweeps: AblateOptions[] = [
      { over: 'heads', kind: 'zero', metric },
      { over: 'heads', kind: 'mean', metric, reference: references },
      { over: 'mlps', kind: 'resample', metric, reference: references.slice(1) },
      { over: 'positions', kind: 'mean', metric: { kind: 'kl' }, reference: references, meanOver: 'pos' },
      { over: 'layers', kind: 'zero', metric: { kind: 'loss' }, layers: [1] },
    ]
    for (const options of sweeps) {
      const [ours, theirs] = [await ablate(model, IDS, options), await ablate(original, IDS, options)]
      expect(ours.base).toBeCloseTo(theirs.base, 4)
      expect(ours.settings).toEqual(theirs.settings)
      expect(ours.cells.length).toBe(theirs.cells.length)
      ours.cells.forEach(({ layer, head, pos, value, delta }, i) => {
        const cell = theirs.cells[i]!
        expect([layer, head, pos]).toEqual([cell.layer, cell.head, cell.pos])
        expect(Math.abs(value! - cell.value!)).toBeLessThan(1e-3 * Math.max(1, Math.abs(cell.value!)))
        expect(delta).toBeCloseTo(value! - ours.base, 6)
      })
    }
  })

  test('an edit that changes nothing changes no bit', async () => {
    const capture = ['blocks.1.attn.hook_pattern', 'logits']
    const clean = await model.run(IDS, { capture })
    for (const op of [
      { op: 'scale', by: 1 },
      { op: 'add', value: 0 },
    ] as const) {
      const edited = await model.run(IDS, { capture, edits: [{ hook: 'blocks.0.attn.hook_z', ...op }] })
      for (const hook of capture) expect(edited.get(hook).data).toEqual(clean.get(hook).data)
    }
  })

  test('greedy tokens, also under edits, with captures of the new rows', async () => {
    const edits: Edit[] = [{ hook: 'blocks.0.attn.hook_z', head: 1, pos: 'new', op: 'scale', by: 2 }]
    for (const changed of [[], edits]) {
      const rows = new Map<string, number[][]>()
      const options = {
        max: 6,
        edits: changed,
        capture: ['blocks.1.attn.hook_pattern', 'blocks.1.hook_resid_post'],
      }
      const made = await model.generate(IDS, {
        ...options,
        onCapture: (hook, { shape }) => void rows.set(hook, [...(rows.get(hook) ?? []), [...shape]]),
      })
      const reference = await original.generate(IDS, options)
      expect(made.ids).toEqual(reference.ids)
      made.logProbs.forEach((value, i) => {
        expect(value).toBeCloseTo(reference.logProbs[i]!, 4)
      })
      expect(made.stopped).toBe('max')
      expect(rows.get('blocks.1.hook_resid_post')!.map((shape) => shape[1])).toEqual([8, 1, 1, 1, 1, 1])
      expect(rows.get('blocks.1.attn.hook_pattern')!.map((shape) => shape.slice(2))).toEqual(
        [0, 1, 2, 3, 4, 5].map((step) => [step === 0 ? 8 : 1, 8 + step]),
      )
      // Keys and values are kept only where the file hands them out.
      expect(made.cacheBytes > 0).toBe(file === 'llama-past.onnx')
    }
    expect(
      (await model.generate(IDS, { max: 3, stopAt: [(await model.generate(IDS, { max: 1 })).ids[0]!] }))
        .stopped,
    ).toBe('eos')
    await expect(model.generate(IDS, { max: 0 })).rejects.toThrow('max must be')
  })
})

test('a graph of halves is masked, edited and continued', async () => {
  const path = join(FOLDER, 'half.onnx')
  const session = await InferenceSession.create(path)
  const none = () => new OrtTensor('float16', new Uint16Array(0), [1, 1, 0, 8])
  const greedy = [3, 5, 7]
  for (let step = 0; step < 6; step++) {
    const row = (values: number[]) =>
      new OrtTensor('int64', BigInt64Array.from(values, BigInt), [1, greedy.length])
    const { logits } = await session.run({
      input_ids: row(greedy),
      position_ids: row(greedy.map((_, i) => i)),
      'past_key_values.0.key': none(),
      'past_key_values.0.value': none(),
    })
    const last = Array.from(logits!.data as Float32Array, Number).slice(-20)
    greedy.push(last.indexOf(Math.max(...last)))
  }
  await session.release()
  const model = await openModel(path)
  const made = await model.generate([3, 5, 7], { max: 6 })
  expect(made).toMatchObject({ ids: greedy.slice(3), stopped: 'max', warnings: [] })
  const scores = 'blocks.0.attn.hook_attn_scores'
  const pattern = 'blocks.0.attn.hook_pattern'
  const edits: Edit[] = [{ hook: scores, query: 2, key: 1, op: 'set', value: '-inf' }]
  const run = await model.run([3, 5, 7], { capture: [scores, pattern], edits })
  expect([...run.get(scores).data].map(Number.isFinite)).toEqual(
    [1, 0, 0, 1, 1, 0, 1, 0, 1].map((seen) => seen === 1),
  )
  expect(run.get(pattern).data[7]).toBe(0)
  expect(run.get(pattern).data[6]! + run.get(pattern).data[8]!).toBeCloseTo(1, 2)
  await model.close()
})

test('a long prompt is estimated as one graph, without chunks', async () => {
  const model = await openModel(join(FOLDER, 'llama-past.onnx'))
  const short = await estimateRun(model, 64, 'full')
  const long = await estimateRun(model, 2048, 'full')
  const scores = 4 * 4 * 2048 * 2048
  expect(long.memoryBytes - short.memoryBytes).toBeGreaterThan(2 * 2 * scores)
  expect(long.seconds).toBeGreaterThan(0)
  await model.close()
})

test('a text that outgrows the graph keeps what was made', async () => {
  const model = await openModel(join(FOLDER, 'gpt2.onnx'))
  const made = await model.generate(new Array(26).fill(5), { max: 40 })
  expect(made.stopped).toBe('context')
  expect(made.ids.length).toBeGreaterThan(0)
  expect(made.warnings.join()).toMatch(/takes no more than \d+ tokens/)
  await model.close()
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

  test('an edit of any tensor by its own name, and of the logits', async () => {
    const model = (await openModel(join(FOLDER, 'gpt2.onnx'))) as OnnxModel
    const edits: Edit[] = [
      { hook: 'tanh', item: 1, op: 'set', value: 0.5 },
      { hook: 'unembed.hook_out', pos: 0, op: 'set', value: 3 },
    ]
    const capture = ['tanh', 'logits', 'unembed.hook_out']
    const run = await model.run([IDS, IDS], { edits, capture })
    const tanh = run.get('tanh').data
    expect(new Set(tanh.subarray(tanh.length / 2))).toEqual(new Set([0.5]))
    const clean = await model.run(IDS, { capture: ['tanh'] })
    expect(tanh.subarray(0, tanh.length / 2)).toEqual(clean.get('tanh').data)
    const vocab = model.spec.dVocab
    for (const name of ['logits', 'unembed.hook_out'])
      expect(new Set(run.get(name).data.subarray(0, vocab))).toEqual(new Set([3]))
    await model.close()
  })

  test('any tensor by its own name', async () => {
    const model = (await openModel(join(FOLDER, 'gpt2.onnx'))) as OnnxModel
    expect(model.observable).toContain('tanh')
    const run = await model.run(IDS, { capture: ['tanh', 'blocks.0.attn.hook_pattern'] })
    expect(run.captured).toEqual(['blocks.0.attn.hook_pattern', 'tanh'])
    expect(run.get('tanh').shape[1]).toBe(IDS.length)
    await expect(model.run(IDS, { capture: ['no_such'] })).rejects.toThrow('matches no hook')
    await model.close()
  })

  test('gradients, and prompts that do not fit', async () => {
    const model = await openModel(join(FOLDER, 'gpt2.onnx'))
    expect(() => model.engine()).toThrow('open the checkpoint')
    await expect(model.run([[1], [96]])).rejects.toThrow('holds the id 96')
    await expect(model.run(new Array(64).fill(1))).rejects.toThrow('could not run this graph')
    // What the file divides its scores by is not known, so their variance over q · k is not either.
    await expect(scanHeads(model, { length: 8, scores: ['score_variance'] })).rejects.toThrow(
      'more than patterns',
    )
    await expect(scanHeads(model, { length: 8, scores: ['copying'] })).rejects.toThrow(
      'The score copying reads more than patterns, which gpt2.onnx does not name',
    )
    const rotary = await openModel(join(FOLDER, 'llama-past.onnx'))
    const { settings, warnings } = await scanHeads(rotary, { length: 8, batch: 2, scores: ['all'] })
    await rotary.close()
    expect(settings.scores).toContain('saturation')
    expect(settings.scores).not.toContain('copying')
    expect(warnings).toContainEqual(
      expect.stringMatching(/^Left out, .*llama-past\.onnx does not name: .*score_variance, copying/),
    )
    await model.close()
  })

  test('edits that cannot be', async () => {
    const model = await openModel(join(FOLDER, 'gpt2.onnx'))
    const refuses = (edit: Edit, message: string) =>
      expect(model.run(IDS, { edits: [edit] }), edit.hook).rejects.toThrow(message)
    await refuses({ hook: 'blocks.0.attn.hook_z', head: 9, op: 'zero' }, 'There is no head 9')
    await refuses({ hook: 'blocks.0.attn.hook_q', op: 'zero' }, 'matches no hook')
    const scores = 'blocks.0.attn.hook_attn_scores'
    await refuses({ hook: scores, query: 1, key: '0:2', op: 'set', value: '-inf' }, 'without any key')
    await refuses({ hook: 'tanh', pos: 1, op: 'zero' }, 'pos cannot be chosen there')
    await refuses({ hook: 'tanh', op: 'set', from: { ids: IDS } }, 'no hook that was recognised')
    const fused = await openModel(join(FOLDER, 'fused.onnx'))
    const edits: Edit[] = [{ hook: 'blocks.0.attn.hook_pattern', op: 'zero' }]
    await expect(fused.run([1, 2], { edits })).rejects.toThrow('pattern not observable')
    await Promise.all([model.close(), fused.close()])
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
