/**
 * Encoder–decoders beyond the larger reference checkpoints (make.py): Marian with one vocabulary and with two, a scaled
 * BART, a gated T5 with its own unembedding; sources of unequal length, gradients, greedy tokens, and what is refused.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decoderOf } from '../../core/graph/model-spec.ts'
import { bucketOf } from '../../core/graph/relative-bias.ts'
import type { Tensor } from '../../core/graph/tensor.ts'
import {
  ablate,
  attribute,
  directLogitAttribution,
  type Edit,
  type Model,
  openModel,
  patch,
  verify,
} from '../../core/index.ts'
import { backward } from '../../core/run/backward.ts'
import { slice } from '../../core/run/dense.ts'
import { resolveEdits } from '../../core/run/edits.ts'
import { generate } from '../../core/run/generate.ts'
import type { ResolvedMetric } from '../../core/run/metrics.ts'
import { baseRun, restart } from '../../core/run/restart.ts'
import { openStore } from '../../core/store/capture-store.ts'
import { FIXTURES, idRows, readGolden, relativeError } from '../support/golden.ts'

const FOLDER = join(FIXTURES, 'encoder-decoder')
const CASES = ['marian-shared', 'marian-two-vocabularies', 'bart-scaled', 't5-gated-untied']

describe.each(CASES)('%s', (name) => {
  const golden = readGolden('encoder-decoder', name, 'golden.safetensors')
  const mask = idRows(golden.get('attention_mask')!)
  const ids = idRows(golden.get('input_ids')!).map((row, item) => row.filter((_, i) => mask[item]![i] === 1))
  const decoderIds = idRows(golden.get('decoder_input_ids')!)
  const hooks = [...golden.keys()].filter((key) => /^(encoder|decoder)\./.test(key))
  let model: Model
  beforeAll(async () => {
    model = await openModel(join(FOLDER, name))
  })
  afterAll(() => model?.close())

  test('hooks and logits, with sources of unequal length', async () => {
    const run = await model.run(ids, { decoderIds, capture: [...hooks, 'logits'] })
    expect(hooks.length).toBeGreaterThan(10)
    for (const hook of [...hooks, 'logits']) {
      const ours = run.get(hook).data
      const reference = golden.get(hook)!.data as Float32Array
      // The reference computes something at padded positions of the encoder; ours holds 0 there.
      const end = hook.startsWith('encoder.') ? ours.length / 2 : ours.length
      expect(relativeError(ours.subarray(0, end), reference.subarray(0, end)), hook).toBeLessThan(1e-4)
    }
    expect(run.items[1]!.ids).toEqual(decoderIds[1])
    expect(run.items[1]!.source).toEqual(ids[1])
  })

  test('gradients through the decoder, the memory and the encoder', async () => {
    const metric: ResolvedMetric = {
      kind: 'logit_diff',
      item: 0,
      positions: [decoderIds[0]!.length - 1],
      answer: 5,
      wrong: 9,
      targets: [],
    }
    for (const saveBudget of [1e9, 0]) {
      const { grads } = await backward(model.engine(), ids, { metric, hooks, decoderIds, saveBudget })
      for (const hook of hooks) {
        const reference = golden.get(`grad.${hook}`)!
        expect(grads.get(hook)!.shape, hook).toEqual(reference.shape)
        const error = relativeError(grads.get(hook)!.data, reference.data as Float32Array)
        expect(error, hook).toBeLessThan(2e-4)
      }
    }
  })

  test('greedy tokens, the encoder run once', async () => {
    for (const [item, own] of decoderIds.entries()) {
      const made = await model.generate(ids[item]!, { decoderIds: own, max: 8 })
      expect(made.ids).toEqual(idRows(golden.get('greedy_ids')!)[item])
      expect(made.promptIds).toEqual(own)
      expect(made.sourceIds).toEqual(ids[item])
    }
  })

  test('each new token, with keys and values of the text as they were, is the row of a whole run', async () => {
    const seen = [
      'decoder.*.cross_attn.hook_pattern',
      'decoder.*.cross_attn.hook_z',
      'decoder.*hook_resid_post',
    ]
    const edits: Edit[] = [
      { hook: 'decoder.blocks.1.cross_attn.hook_v', kv_head: 1, pos: 2, op: 'scale', by: 3 },
      { hook: 'decoder.blocks.0.cross_attn.hook_attn_scores', key: 1, op: 'add', value: 2 },
    ]
    for (const [changed, capture] of [
      [[], seen],
      [edits, seen],
      [edits, [...seen, 'decoder.*.cross_attn.hook_*']],
    ] as const) {
      const steps = new Map<string, Tensor>()
      const made = await model.generate(ids[0]!, {
        decoderIds: decoderIds[0]!,
        max: 6,
        edits: changed,
        capture,
        onCapture: (hook, tensor, step) => void steps.set(`${step} ${hook}`, tensor),
      })
      const whole = await model.run(ids[0]!, {
        decoderIds: [[...decoderIds[0]!, ...made.ids]],
        capture,
        edits: changed,
      })
      for (const hook of whole.captured)
        for (let step = 1; step < 6; step++) {
          const one = steps.get(`${step} ${hook}`)!
          const row = decoderIds[0]!.length + step - 1
          const axis = one.axes.findIndex((name) => name === 'query' || name === 'pos')
          const sourceRows = /hook_(k|v|rot_k)$/.test(hook)
          const expected = sourceRows ? whole.get(hook) : slice(whole.get(hook), axis, row, row + 1)
          expect(relativeError(one.data, expected.data), `${step} ${hook}`).toBeLessThan(1e-5)
        }
    }
  })

  test('a step of decoding projects no key and no value of the text', async () => {
    const engine = model.engine()
    const needed: (readonly string[])[] = []
    const run: typeof engine.pool.run = (key, make, feeds) =>
      engine.pool.run(
        `watched ${key}`,
        () => {
          const encoded = make()
          needed.push(encoded.inputs)
          return encoded
        },
        feeds,
      )
    const watched = { ...engine, pool: { ...engine.pool, run } }
    await generate(watched, ids[0]!, { decoderIds: decoderIds[0]!, max: 3 })
    const layers = decoderOf(model.spec).layers.length
    expect(needed.filter((inputs) => inputs.includes('in.memory'))).toHaveLength(layers) // the prompt's own pass
    expect(needed.filter((inputs) => inputs.includes('past_cross_k'))).toHaveLength(layers)
  })

  test('verify', async () => {
    expect(await verify(model)).toMatchObject({ ok: true })
  })

  test('a small score budget: rows in chunks give the same', async () => {
    const whole = await model.run(ids, { decoderIds, capture: ['decoder.*', 'logits'] })
    const small = await openModel(join(FOLDER, name), { scoreBudget: 4 * 2 * 4 * 9 * 2 })
    const chunked = await small.run(ids, { decoderIds, capture: ['decoder.*', 'logits'] })
    for (const hook of whole.captured)
      expect(relativeError(chunked.get(hook).data, whole.get(hook).data), hook).toBeLessThan(1e-5)
    await small.close()
  })

  test('restarts in the encoder and in the decoder give what a whole edited run gives', async () => {
    const engine = model.engine()
    const base = await baseRun(engine, ids, undefined, decoderIds)
    const places: { edit: Edit; stack?: 'encoder'; layer: number; pos: number }[] = [
      {
        edit: { hook: 'encoder.blocks.1.attn.hook_z', head: 1, op: 'zero' },
        stack: 'encoder',
        layer: 1,
        pos: 0,
      },
      { edit: { hook: 'decoder.blocks.1.cross_attn.hook_z', head: 2, op: 'zero' }, layer: 1, pos: 0 },
      { edit: { hook: 'decoder.blocks.2.cross_attn.hook_k', pos: 3, op: 'scale', by: 2 }, layer: 2, pos: 0 },
      { edit: { hook: 'decoder.blocks.1.hook_resid_pre', pos: 5, op: 'scale', by: 3 }, layer: 1, pos: 5 },
    ]
    for (const { edit, ...place } of places) {
      const hook = 'decoder.blocks.2.hook_resid_post'
      const whole = (await model.run(ids, { decoderIds, edits: [edit], capture: [hook] })).get(hook)
      const edits = await resolveEdits([edit], {
        spec: model.spec,
        hooks: model.hooks,
        lengths: base.lengths,
        sourceLengths: base.source!.lengths,
        total: decoderIds[0]!.length,
        source: () => Promise.reject(new Error('no source')),
      })
      const resid = (await restart(engine, base, { ...place, edits })).get('resid')!
      const [, rows, width] = whole.shape as [number, number, number]
      const tail = Float32Array.from(
        [0, 1].flatMap((item) => [
          ...whole.data.subarray((item * rows + place.pos) * width, (item + 1) * rows * width),
        ]),
      )
      expect(relativeError(resid.data, tail), edit.hook).toBeLessThan(1e-5)
    }
    const missed = await resolveEdits([places[0]!.edit], {
      spec: model.spec,
      hooks: model.hooks,
      lengths: base.lengths,
      sourceLengths: base.source!.lengths,
      total: decoderIds[0]!.length,
      source: () => Promise.reject(new Error('no source')),
    })
    await expect(restart(engine, base, { layer: 0, pos: 0, edits: missed })).rejects.toThrow('before layer 0')
  })

  test('what does not fit is refused in a sentence', async () => {
    const cross = 'decoder.blocks.0.cross_attn.hook_attn_scores'
    const refuses = (edit: Edit, message: string) =>
      expect(model.run(ids, { decoderIds, edits: [edit] })).rejects.toThrow(message)
    await refuses({ hook: cross, query: 2, op: 'set', value: '-inf' }, 'without any key')
    await refuses({ hook: cross, key: 11, op: 'set', value: '-inf' }, 'There is no key 11')
    await refuses({ hook: 'blocks.0.attn.hook_z', op: 'zero' }, 'matches no hook')
    await expect(model.run(ids, { decoderIds: [[1]] })).rejects.toThrow('one decoder text for each')
    await expect(model.run([[999]])).rejects.toThrow('encoder text holds the id 999')
    expect((await model.run(ids)).items[0]!.ids).toEqual([model.spec.encoderDecoder!.start])
  })

  test('patterns of encoder, decoder and cross-attention are stored with their sequences', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'headscope-source-'))
    const store = openStore(join(folder, 'work.db'))
    const run = await model.run(ids, { decoderIds, capture: ['*hook_pattern'] })
    const id = store.save(run)
    expect(store.run(id).itemList.map((item) => item.source?.ids)).toEqual(ids)
    const hook = 'decoder.blocks.1.cross_attn.hook_pattern'
    expect(store.patternBytes(id, 1, hook, 2)).toMatchObject({
      shape: [decoderIds[1]!.length, ids[1]!.length],
      querySequence: 'main',
      keySequence: 'source',
    })
    const [, , queries, keys] = run.get(hook).shape as [number, number, number, number]
    const stored = store.pattern(id, 0, hook, 2)
    expect(stored.shape).toEqual([queries, keys])
    const own = run.get(hook).data.subarray(2 * queries * keys, 3 * queries * keys)
    expect(relativeError(stored.data, own)).toBeLessThan(1e-3)
    store.close()
    rmSync(folder, { recursive: true })
  })
})

describe.each(CASES)('the decoder of %s, reading one text', (name) => {
  const golden = readGolden('encoder-decoder', name, 'golden.safetensors')
  const text = idRows(golden.get('input_ids')!)[0]!
  const [own, other] = idRows(golden.get('decoder_input_ids')!) as [number[], number[]]
  const metric = { kind: 'logit_diff', answer: 5, wrong: 9 } as const
  let model: Model
  let reading: Model
  beforeAll(async () => {
    model = await openModel(join(FOLDER, name))
    reading = await model.reading(text)
  })
  afterAll(() => model?.close())

  /** The metric of a whole run with an edit. */
  async function metricOf(ids: readonly number[], edits: readonly Edit[]): Promise<number> {
    const run = await model.run(text, { decoderIds: [ids], edits, capture: ['logits'] })
    const { data, shape } = run.get('logits')
    const last = data.subarray(data.length - shape[2]!)
    return last[5]! - last[9]!
  }

  test('is the same run, and continues alike', async () => {
    const whole = await model.run(text, { decoderIds: [own], capture: ['decoder.*', 'logits'] })
    const alone = await reading.run(own, { capture: ['*', 'logits'] })
    expect(alone.get('logits').data).toEqual(whole.get('logits').data)
    for (const hook of reading.hooks.filter((one) => one.name.startsWith('blocks.')))
      expect(alone.get(hook.name).data, hook.name).toEqual(whole.get(`decoder.${hook.name}`).data)
    expect(alone.items[0]!.source).toEqual(text)
    const made = await reading.generate(own, { max: 8 })
    expect(made.ids).toEqual(idRows(golden.get('greedy_ids')!)[0])
  })

  test('ablating its heads, and those of cross-attention, is editing them in whole runs', async () => {
    for (const [over, kind] of [
      ['heads', 'attn'],
      ['cross_heads', 'cross_attn'],
    ] as const) {
      const { base, cells } = await ablate(reading, own, { over, kind: 'zero', metric })
      expect(base).toBeCloseTo(await metricOf(own, []), 4)
      expect(cells.length).toBeGreaterThan(5)
      for (const { layer, head, value } of cells) {
        const edit: Edit = { hook: `decoder.blocks.${layer}.${kind}.hook_z`, head: head!, op: 'zero' }
        expect(value).toBeCloseTo(await metricOf(own, [edit]), 4)
      }
    }
  })

  test.each(['cross_z', 'cross_pattern', 'cross_attn_out', 'resid_pre'] as const)(
    'patching %s',
    async (site) => {
      const { cells } = await patch(reading, own, other, { site, metric, direction: 'noise' })
      const local = {
        cross_z: 'cross_attn.hook_z',
        cross_pattern: 'cross_attn.hook_pattern',
        cross_attn_out: 'hook_cross_attn_out',
        resid_pre: 'hook_resid_pre',
      }[site]
      for (const { layer, head, pos, value } of cells.slice(0, 8)) {
        const values = (await reading.run(other, { capture: [`blocks.${layer}.${local}`] })).get(
          `blocks.${layer}.${local}`,
        )
        const place = { ...(head === undefined ? {} : { head }), ...(pos === undefined ? {} : { pos }) }
        const from = { values: values.data, shape: values.shape }
        const edit: Edit = { hook: `decoder.blocks.${layer}.${local}`, ...place, op: 'set', from }
        expect(value).toBeCloseTo(await metricOf(own, [edit]), 4)
      }
    },
  )

  test('direct attribution sums to the logit, with the heads over the encoder’s text', async () => {
    const run = await model.run(text, { decoderIds: [own], capture: ['logits'] })
    const logits = run.get('logits').data.subarray(-model.spec.dVocab)
    for (const valueBias of ['heads', 'bias'] as const) {
      const dla = await directLogitAttribution(reading, own, { answer: 5, wrong: 9, valueBias })
      expect(dla.logit).toBeCloseTo(logits[5]! - logits[9]!, 4)
      expect(dla.sum).toBeCloseTo(dla.logit!, 4)
      const { nHeads } = decoderOf(model.spec).layers[0]!
      expect(dla.components.filter(({ name }) => /cross H/.test(name))).toHaveLength(
        nHeads * decoderOf(model.spec).layers.length,
      )
    }
    const whole = await directLogitAttribution(model, own, { answer: 5 })
    expect(whole.why).toContain('give that first')
  })

  test('attribution: its gradients are those of the whole model', async () => {
    const resolved: ResolvedMetric = {
      kind: 'logit_diff',
      item: 0,
      positions: [own.length - 1],
      answer: 5,
      wrong: 9,
      targets: [],
    }
    const hooks = reading.hooks
      .filter(({ name: hook }) => /hook_(z|pattern)$/.test(hook))
      .map((hook) => hook.name)
    const alone = await backward(reading.engine(), [own], { metric: resolved, hooks })
    const whole = await backward(model.engine(), [text], {
      metric: resolved,
      hooks: hooks.map((hook) => `decoder.${hook}`),
      decoderIds: [own],
    })
    for (const hook of hooks)
      expect(
        relativeError(alone.grads.get(hook)!.data, whole.grads.get(`decoder.${hook}`)!.data),
      ).toBeLessThan(1e-6)
    const found = await attribute(reading, own, other, { metric })
    expect(found.cells.length).toBeGreaterThan(0)
  })
})

test('a model without an encoder reads no text beside its own', async () => {
  const model = await openModel(join(FIXTURES, 'transformers', 'gpt2-prefixed'))
  await expect(model.reading([1, 2])).rejects.toThrow('have no encoder')
  await expect(
    ablate(model, [1, 2], { over: 'cross_heads', kind: 'zero', metric: { kind: 'logit', answer: 1 } }),
  ).rejects.toThrow('no cross-attention')
  await model.close()
})

describe('buckets of T5', () => {
  // T5Attention._relative_position_bucket of transformers 5.24.0
  test.each([
    [false, 32, 128, -140, 15],
    [false, 32, 128, -16, 10],
    [false, 32, 128, 7, 23],
    [false, 32, 128, 64, 30],
    [true, 32, 128, -32, 21],
    [true, 32, 128, 3, 0],
    [true, 12, 64, -64, 11],
    [false, 6, 9, -2, 1],
  ])('causal %s, %i buckets up to %i: distance %i', (causal, buckets, maxDistance, distance, expected) => {
    expect(bucketOf(distance, { buckets, maxDistance }, causal)).toBe(expected)
  })
})
