/** Every kind of edit equals a float64 forward written by hand, at every kind of hook; also while generating. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { writeSafetensors } from '../../core/checkpoint/index.ts'
import { type Edit, type Model, openModel } from '../../core/index.ts'
import { type Change, float64Model } from '../support/float64-forward.ts'
import { FIXTURES, relativeError } from '../support/golden.ts'

const IDS = [5, 9, 11, 3, 9, 11, 7, 20]
const OTHER = [5, 9, 30, 3, 8, 11, 7, 21]
const CORPUS = [
  [1, 2, 3, 4, 5, 6, 7, 8],
  [9, 8, 7, 6, 5, 4, 3, 2],
  [40, 41, 42, 5, 5, 5, 41, 40],
]
const TOLERANCE = 1e-4

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headscope-edits-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Changes one hook where `where` says, to what `to` gives. */
const at =
  (
    hook: string,
    where: (index: readonly number[]) => boolean,
    to: (value: number, i: readonly number[]) => number,
  ) =>
  (name: string, index: readonly number[], value: number) =>
    name === hook && where(index) ? to(value, index) : value

describe.each(['gpt2-prefixed', 'llama-gqa'])('%s', (name) => {
  const path = join(FIXTURES, 'transformers', name)
  const reference = float64Model(path)
  let model: Model
  beforeAll(async () => {
    model = await openModel(path)
  })
  afterAll(() => model.close())

  async function check(edits: Edit[], change: Change, options: object = {}) {
    const run = await model.run(IDS, { capture: ['logits'], edits, top: 0, ...options })
    const expected = Float64Array.from(reference.run(IDS, change).logits.flatMap((row) => [...row]))
    expect(relativeError(run.get('logits').data, expected), JSON.stringify(edits)).toBeLessThan(TOLERANCE)
    const plain = Float64Array.from(reference.run(IDS).logits.flatMap((row) => [...row]))
    expect(relativeError(expected, plain), `${JSON.stringify(edits)} does something`).toBeGreaterThan(1e-3)
  }
  const everywhere = () => true
  const sizeOf = (hook: string) => model.hooks.find((one) => one.name === hook)!

  test('the unedited forward and every hook', async () => {
    const run = await model.run(IDS, { capture: ['*'], top: 0 })
    const expected = reference.run(IDS)
    const logits = Float64Array.from(expected.logits.flatMap((row) => [...row]))
    expect(relativeError(run.get('unembed.hook_out').data, logits)).toBeLessThan(1e-5)
    for (const hook of run.captured.filter((one) =>
      /^blocks.*(attn\.hook_(q|k|v|rot_q|rot_k|attn_scores|pattern|z)|hook_resid_\w+|hook_mlp_out|hook_attn_out|mlp\.hook_\w+)$/.test(
        one,
      ),
    ))
      expect(relativeError(run.get(hook).data, expected.hook(hook)), hook).toBeLessThan(1e-5)
  })

  const VECTORS = [
    'attn.hook_z',
    'attn.hook_q',
    'attn.hook_k',
    'attn.hook_v',
    'attn.hook_rot_q',
    'attn.hook_rot_k',
  ]
  const ROWS = [
    'hook_resid_pre',
    'hook_attn_out',
    'hook_mlp_out',
    'hook_resid_mid',
    'hook_resid_post',
    'mlp.hook_pre',
    'mlp.hook_post',
  ]

  test.each(VECTORS)('zero, scale, set and add at a head of %s', async (local) => {
    const hook = `blocks.1.${local}`
    const axis = sizeOf(hook).axes[2] as 'head' | 'kv_head'
    const head = { [axis]: 1 }
    const here = ([p, h]: readonly number[]) => h === 1 && p! >= 2
    await check(
      [{ hook, ...head, pos: '2:', op: 'zero' }],
      at(hook, here, () => 0),
    )
    await check(
      [{ hook, ...head, pos: '2:', op: 'scale', by: -1.5 }],
      at(hook, here, (v) => -1.5 * v),
    )
    await check(
      [{ hook, ...head, pos: '2:', op: 'set', value: 0.25 }],
      at(hook, here, () => 0.25),
    )
    await check(
      [{ hook, ...head, pos: '2:', op: 'add', value: 0.5, by: 3 }],
      at(hook, here, (v) => v + 1.5),
    )
    const other = reference.run(OTHER).hook(hook)
    const [, , count, size] = sizeOf(hook).shape as [string, string, number, number]
    const from = ([p, h, d]: readonly number[]) => other[(p! * count + h!) * size + d!]!
    await check(
      [{ hook, ...head, pos: [2, 4, -1], op: 'set', from: { ids: OTHER } }],
      at(
        hook,
        ([p, h]) => h === 1 && [2, 4, 7].includes(p!),
        (_v, i) => from(i),
      ),
    )
  })

  test.each(ROWS)('zero, scale, set and add at %s', async (local) => {
    const hook = `blocks.0.${local}`
    const width = sizeOf(hook).shape[2] as number
    const here = ([p]: readonly number[]) => p === 4 || p === 7
    const pos = [4, -1]
    await check(
      [{ hook, pos, op: 'zero' }],
      at(hook, here, () => 0),
    )
    await check(
      [{ hook, pos, op: 'scale', by: 0.5 }],
      at(hook, here, (v) => v / 2),
    )
    const values = Float32Array.from({ length: width }, (_, i) => Math.sin(i))
    await check(
      [{ hook, pos, op: 'set', from: { values, shape: [width] } }],
      at(hook, here, (_v, [, d]) => values[d!]!),
    )
    await check(
      [{ hook, pos, op: 'add', by: 2, from: { values, shape: [width] } }],
      at(hook, here, (v, [, d]) => v + 2 * values[d!]!),
    )
  })

  test('values of another item, a stored run, a file and a mean', async () => {
    const hook = 'blocks.0.attn.hook_z'
    const [, , heads, size] = sizeOf(hook).shape as [string, string, number, number]
    const flat = (i: readonly number[]) => (i[0]! * heads + i[1]!) * size + i[2]!
    const other = reference.run(OTHER).hook(hook)
    const fromOther = at(hook, everywhere, (_v, i) => other[flat(i)]!)

    const pair = await model.run([IDS, OTHER], {
      capture: ['logits'],
      edits: [{ hook, item: 0, op: 'set', from: { item: 1 } }],
      top: 0,
    })
    const rows = reference.run(IDS, fromOther).logits.flatMap((row) => [...row])
    const second = reference.run(OTHER).logits.flatMap((row) => [...row])
    expect(relativeError(pair.get('logits').data, [...rows, ...second])).toBeLessThan(TOLERANCE)

    const stored = await model.run(OTHER, { capture: [hook], top: 0 })
    await check([{ hook, op: 'set', from: { run: 12 } }], fromOther, {
      openRun: (run: number, name: string) => {
        expect([run, name]).toEqual([12, hook])
        return stored.get(hook)
      },
    })

    const file = join(folder, `${name}.safetensors`)
    const v = Float32Array.from({ length: heads * size }, (_, i) => Math.cos(i))
    writeSafetensors(file, [{ name: 'v', shape: [heads, size], data: v }])
    await check(
      [{ hook, op: 'add', by: 4, from: { file, tensor: 'v' } }],
      at(hook, everywhere, (x, [, h, d]) => x + 4 * v[h! * size + d!]!),
    )

    const corpus = join(folder, `${name}.jsonl`)
    writeFileSync(corpus, CORPUS.map((ids) => JSON.stringify({ ids })).join('\n'))
    const runs = CORPUS.map((ids) => reference.run(ids).hook(hook))
    const byPos = (i: readonly number[]) => runs.reduce((sum, run) => sum + run[flat(i)]!, 0) / 3
    const overall = (_v: number, [, h, d]: readonly number[]) =>
      IDS.reduce((sum, _, p) => sum + byPos([p, h!, d!]), 0) / 8
    await check(
      [{ hook, op: 'set', from: { mean: corpus, over: 'pos' } }],
      at(hook, everywhere, (_x, i) => byPos(i)),
    )
    await check([{ hook, op: 'set', from: { mean: corpus } }], at(hook, everywhere, overall))
    const listed = CORPUS.map((ids) => ({ ids }))
    await check([{ hook, op: 'set', from: { mean: listed } }], at(hook, everywhere, overall))
    await check(
      [{ hook, op: 'set', from: { mean: listed, over: 'pos' } }],
      at(hook, everywhere, (_x, i) => byPos(i)),
    )
  })

  test('scores and patterns: knocked out edges, windows of layers, whole rows from elsewhere', async () => {
    const scores = 'blocks.1.attn.hook_attn_scores'
    const gone = () => Number.NEGATIVE_INFINITY
    await check(
      [{ hook: scores, head: 2, query: 7, key: [0, 3], op: 'set', value: '-inf' }],
      at(scores, ([h, q, k]) => h === 2 && q === 7 && (k === 0 || k === 3), gone),
    )
    await check(
      [{ hook: 'blocks.*.attn.hook_attn_scores', query: '3:', key: 2, op: 'set', value: '-inf' }],
      (hook, [, q, k], value) => (hook.endsWith('attn_scores') && q! >= 3 && k === 2 ? gone() : value),
    )
    await check(
      [{ hook: scores, head: 0, query: '1:', key: 0, op: 'add', value: 2 }],
      at(
        scores,
        ([h, q, k]) => h === 0 && q! > 0 && k === 0,
        (v) => v + 2,
      ),
    )
    const pattern = 'blocks.0.attn.hook_pattern'
    const other = reference.run(OTHER).hook(pattern)
    await check(
      [{ hook: pattern, head: 1, op: 'set', from: { ids: OTHER } }],
      at(
        pattern,
        ([h]) => h === 1,
        (_v, [h, q, k]) => other[(h! * 8 + q!) * 8 + k!]!,
      ),
    )
    await check(
      [{ hook: pattern, head: 1, op: 'zero' }],
      at(
        pattern,
        ([h]) => h === 1,
        () => 0,
      ),
    )
  })

  test('several edits act in the order of the computation', async () => {
    const [pre, z] = ['blocks.0.hook_resid_pre', 'blocks.1.attn.hook_z']
    const change: Change = (hook, index, value) => {
      if (hook === pre && index[0] === 3) return value * 2
      return hook === z && index[1] === 0 ? 0 : value
    }
    await check(
      [
        { hook: z, head: 0, op: 'zero' },
        { hook: pre, pos: 3, op: 'scale', by: 2 },
      ],
      change,
    )
  })

  test('while generating: positions of the prompt, and new ones', async () => {
    const z = 'blocks.1.attn.hook_z'
    const resid = 'blocks.0.hook_resid_post'
    const edits: Edit[] = [
      { hook: z, head: 0, pos: 'new', op: 'zero' },
      { hook: resid, pos: -1, op: 'add', value: 0.75 },
    ]
    const change: Change = (hook, index, value) => {
      if (hook === z && index[1] === 0 && index[0]! >= IDS.length) return 0
      return hook === resid && index[0] === IDS.length - 1 ? value + 0.75 : value
    }
    const { ids, logProbs } = await model.generate(IDS, { max: 8, edits })
    const text = [...IDS]
    ids.forEach((id, step) => {
      const row = reference.run(text, change).logits.at(-1)!
      const largest = Math.max(...row)
      expect(row.indexOf(largest)).toBe(id)
      const sum = row.reduce((total, value) => total + Math.exp(value - largest), 0)
      expect(logProbs[step]!).toBeCloseTo(-Math.log(sum), 3)
      text.push(id)
    })
    const plain = await model.generate(IDS, { max: 8 })
    expect(plain.logProbs).not.toEqual(logProbs)
  })

  test('sources that do not fit are one sentence', async () => {
    const hook = 'blocks.0.attn.hook_z'
    const nan = join(folder, `${name}-nan.safetensors`)
    writeSafetensors(nan, [{ name: 'v', shape: [1], data: Float32Array.of(Number.NaN) }])
    const empty = join(folder, 'empty.txt')
    writeFileSync(empty, '\n\n')
    const uneven = join(folder, 'uneven.jsonl')
    writeFileSync(uneven, '{"ids": [1, 2]}\n{"ids": [1, 2, 3]}\n')
    const run = (edit: Edit) => model.run(IDS, { edits: [edit] })
    await expect(run({ hook, op: 'set', from: { file: nan, tensor: 'v' } })).rejects.toThrow('holds NaN')
    await expect(run({ hook, op: 'set', from: { mean: empty } })).rejects.toThrow('holds no prompt')
    await expect(run({ hook, op: 'set', from: { mean: [] } })).rejects.toThrow('at least one')
    const unequal = [{ ids: [1, 2] }, { ids: [1, 2, 3] }]
    await expect(run({ hook, op: 'set', from: { mean: unequal, over: 'pos' } })).rejects.toThrow(
      'The mean over 2 prompts is taken position by position, but its prompts have 2 and 3 tokens',
    )
    await expect(run({ hook, op: 'set', from: { mean: [{ ids: [1e6] }] } })).rejects.toThrow('holds the id')
    await expect(run({ hook, op: 'set', from: { mean: uneven, over: 'pos' } })).rejects.toThrow(
      '2 and 3 tokens',
    )
    await expect(
      run({ hook: 'blocks.*.attn.hook_pattern', op: 'set', from: { mean: uneven } }),
    ).rejects.toThrow('has no meaning')
    await expect(run({ hook: 'blocks.*.hook_nothing', op: 'zero' })).rejects.toThrow('the nearest are')
    await expect(
      run({ hook: 'blocks.*.attn.hook_attn_scores', head: 0, query: 0, op: 'set', value: '-inf' }),
    ).rejects.toThrow('without any key')
    await expect(run({ hook, pos: 'new', op: 'zero' })).rejects.toThrow('none are generated')
  })
})
