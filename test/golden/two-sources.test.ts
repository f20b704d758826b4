/**
 * Comparisons of an encoder–decoder whose prompts differ in the encoder's text too: each cell against whole runs of both
 * stacks with edits, and the keys and values of a source, which a sweep meets again and does not make again.
 */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Edit, type Model, openModel } from '../../core/index.ts'
import { ablate } from '../../core/intervene/ablate.ts'
import { attribute } from '../../core/intervene/attribute.ts'
import { sweepBase } from '../../core/intervene/base.ts'
import { patch } from '../../core/intervene/patch.ts'
import { pathPatch } from '../../core/intervene/path.ts'
import { runSweep, type SweepCell } from '../../core/intervene/sweep.ts'
import type { Engine } from '../../core/run/engine.ts'
import { resolveMetric } from '../../core/run/metrics.ts'
import { FIXTURES } from '../support/golden.ts'

const CASES = ['t5-gated-untied', 'bart-scaled', 'marian-shared']
const CLEAN_SOURCE = [7, 3, 12, 9, 5]
const CORRUPT_SOURCE = [7, 30, 12, 20, 5]
const LONGER = [7, 30, 12, 20, 5, 8, 13]
const metric = { kind: 'logit_diff', answer: 5, wrong: 9 } as const

describe.each(CASES)('%s', (name) => {
  let model: Model
  let own: number[]
  let other: number[]
  beforeAll(async () => {
    model = await openModel(join(FIXTURES, 'encoder-decoder', name))
    own = [model.spec.encoderDecoder!.start, 6, 11, 4]
    other = [own[0]!, 6, 23, 4]
  })
  afterAll(() => model?.close())

  async function metricOf(source: readonly number[], ids: readonly number[], edits: readonly Edit[]) {
    const run = await model.run(source, { decoderIds: [ids], edits, capture: ['logits'] })
    const last = run.get('logits').data.subarray(-model.spec.dVocab)
    return last[5]! - last[9]!
  }

  const inDecoder = (layer: number, local: string) => `decoder.blocks.${layer}.${local}`

  test.each([
    ['cross_z', 'cross_attn.hook_z', LONGER],
    ['resid_pre', 'hook_resid_pre', LONGER],
    ['cross_pattern', 'cross_attn.hook_pattern', CORRUPT_SOURCE],
  ] as const)('patching %s between two sources', async (site, local, corruptSource) => {
    const [reading, corruptModel] = [await model.reading(CLEAN_SOURCE), await model.reading(corruptSource)]
    for (const direction of ['denoise', 'noise'] as const) {
      const found = await patch(reading, own, own, { site, metric, direction, corruptModel })
      expect(found.differing).toEqual([])
      expect(found.clean).toBeCloseTo(await metricOf(CLEAN_SOURCE, own, []), 4)
      expect(found.corrupt).toBeCloseTo(await metricOf(corruptSource, own, []), 4)
      const [into, from] =
        direction === 'denoise' ? [corruptSource, CLEAN_SOURCE] : [CLEAN_SOURCE, corruptSource]
      for (const { layer, head, pos, value } of found.cells.slice(0, 9)) {
        const place = { ...(head === undefined ? {} : { head }), ...(pos === undefined ? {} : { pos }) }
        const edit: Edit = {
          hook: inDecoder(layer, local),
          ...place,
          op: 'set',
          from: { ids: from, decoder_ids: own },
        }
        expect(value).toBeCloseTo(await metricOf(into, own, [edit]), 4)
      }
    }
  })

  test('attribution between two sources and two decoder texts: exact runs are whole runs', async () => {
    const [reading, corruptModel] = [await model.reading(CLEAN_SOURCE), await model.reading(LONGER)]
    const found = await attribute(reading, own, other, { metric, corruptModel, verify: 6 })
    const base = await metricOf(LONGER, other, [])
    expect(found.corrupt).toBeCloseTo(base, 4)
    expect(found.clean).toBeCloseTo(await metricOf(CLEAN_SOURCE, own, []), 4)
    const exact = found.cells.filter((cell) => cell.exact !== undefined)
    expect(exact).toHaveLength(6)
    for (const { site, layer, head, pos, exact: value } of exact) {
      const hook = inDecoder(layer, site === 'z' ? 'attn.hook_z' : 'hook_mlp_out')
      const place = { pos, ...(head === undefined ? {} : { head }) }
      const from = { ids: CLEAN_SOURCE, decoder_ids: own }
      const edited = await metricOf(LONGER, other, [{ hook, ...place, op: 'set', from }])
      expect(value).toBeCloseTo(edited - base, 3)
    }
  })

  test('a head speaks to the queries of cross-attention, the source to its keys and values', async () => {
    const [reading, corruptModel] = [await model.reading(CLEAN_SOURCE), await model.reading(CORRUPT_SOURCE)]
    const { cells, clean } = await pathPatch(reading, own, other, {
      edges: [
        { from: 'L0H1', to: 'L0H2.cross.q' },
        { from: 'L0H1', to: 'L1H2.cross.q' },
        { from: 'source', to: 'L1H2.cross.k' },
        { from: 'source', to: 'L1H2.cross.v' },
        { from: 'L0H1', to: 'L1H2.cross.v' },
        { from: 'source', to: 'logits' },
        { from: 'L1H1.cross', to: 'L1H2.cross.q' },
      ],
      metric,
      corruptModel,
      mlps: 'freeze',
    })
    expect(clean).toBeCloseTo(await metricOf(CLEAN_SOURCE, own, []), 4)
    const layers = model.spec.stacks.at(-1)!.layers.length
    const cleanRun = await model.run(CLEAN_SOURCE, {
      decoderIds: [own],
      capture: ['decoder.*hook_z', 'decoder.*hook_mlp_out'],
    })
    // Every output held at the clean run, but for what L0H1 says of the corrupt prompt.
    const held = Array.from({ length: layers }, (_, layer) =>
      ['attn.hook_z', 'cross_attn.hook_z', 'hook_mlp_out'].map((local): Edit => {
        const { data: values, shape } = cleanRun.get(inDecoder(layer, local))
        return { hook: inDecoder(layer, local), op: 'set', from: { values, shape } }
      }),
    ).flat()
    const said: Edit = {
      hook: inDecoder(0, 'attn.hook_z'),
      head: 1,
      op: 'set',
      from: { ids: CORRUPT_SOURCE, decoder_ids: other },
    }
    for (const [index, layer] of [
      [0, 0],
      [1, 1],
    ] as const) {
      const hook = inDecoder(layer, 'cross_attn.hook_rot_q')
      const { data: values, shape } = (
        await model.run(CLEAN_SOURCE, { decoderIds: [own], edits: [...held, said], capture: [hook] })
      ).get(hook)
      const edit: Edit = { hook, head: 2, op: 'set', from: { values, shape } }
      expect(cells[index]!.value).toBeCloseTo(await metricOf(CLEAN_SOURCE, own, [edit]), 4)
    }
    for (const [index, local] of [
      [2, 'hook_rot_k'],
      [3, 'hook_v'],
    ] as const) {
      const hook = inDecoder(1, `cross_attn.${local}`)
      const from = { ids: CORRUPT_SOURCE, decoder_ids: own }
      const edited = await metricOf(CLEAN_SOURCE, own, [{ hook, kv_head: 2, op: 'set', from }])
      expect(cells[index]!.value).toBeCloseTo(edited, 4)
      expect(Math.abs(cells[index]!.delta!)).toBeGreaterThan(1e-5)
    }
    expect(cells[4]!.why).toContain('made from the source alone')
    expect(cells[5]!.why).toContain('keys and values of cross-attention alone')
    expect(cells[6]!.why).toContain('comes after')
    for (const { value } of cells.slice(4)) expect(value).toBeNull()
  })

  test('every sender that reaches a cross head, and no other', async () => {
    const [reading, corruptModel] = [await model.reading(CLEAN_SOURCE), await model.reading(CORRUPT_SOURCE)]
    const to = ['L1H0.cross.q', 'L1H0.cross.k']
    const { cells } = await pathPatch(reading, own, other, { from: ['all'], to, metric, corruptModel })
    const into = (name: string) => cells.filter((cell) => cell.to === name).map(({ from }) => from)
    expect(into('L1H0.cross.k')).toEqual(['source'])
    const heads = model.spec.stacks.at(-1)!.layers[0]!.nHeads
    const names = Array.from({ length: heads }, (_, head) => head)
    expect(into('L1H0.cross.q')).toEqual([
      'embed',
      ...names.map((head) => `L0H${head}`),
      ...names.map((head) => `L0H${head}.cross`),
      'L0.mlp',
      ...names.map((head) => `L1H${head}`),
    ])
  })

  test('a sweep meets the keys and values of the source again: other sessions, the same numbers', async () => {
    const reading = await model.reading(CLEAN_SOURCE)
    const sessions: string[] = []
    const whole = reading.engine()
    const engine: Engine = {
      ...whole,
      pool: {
        ...whole.pool,
        run: (key, make, feeds) => {
          sessions.push(key)
          return whole.pool.run(key, make, feeds)
        },
      },
    }
    const resolved = resolveMetric(metric, [own], model.spec.dVocab, null)
    const base = await sweepBase(engine, own, resolved)
    const layers = model.spec.stacks.at(-1)!.layers.length
    const hookOf = (layer: number) => engine.hooks.find((one) => one.name === `blocks.${layer}.attn.hook_z`)!
    const cells = Array.from({ length: layers }, (_, layer) =>
      [0, 2].map((pos): SweepCell<string> => {
        const hook = hookOf(layer)
        const value = { data: new Float32Array(1), shape: [1, 1, 1, 1] }
        return { key: `${layer} ${pos}`, layer, pos, edits: [{ hook, head: null, pos, value }] }
      }),
    ).flat()
    const measured = async (from: typeof base) => {
      const values = new Map<string, number>()
      let rows = 0
      await runSweep(engine, from, cells, resolved, (results, counted) => {
        for (const { key, value } of results) values.set(key, value)
        rows += counted
      })
      return { values, rows }
    }
    sessions.length = 0
    const again = await measured(base)
    const blocks = sessions.filter((key) => /^\d+\|/.test(key))
    expect(blocks.length).toBeGreaterThan(0)
    expect(blocks.every((key) => key.includes('past text'))).toBe(true)
    sessions.length = 0
    const keyValues = base.run.keyValues.map(({ k, v }) => ({ k, v }))
    const anew = await measured({ ...base, run: { ...base.run, keyValues } })
    expect(sessions.some((key) => key.includes('past text'))).toBe(false)
    expect(again.rows).toBe(anew.rows)
    for (const [key, value] of again.values) expect(value).toBeCloseTo(anew.values.get(key)!, 5)
  })

  test('an edit takes values from another text of the encoder, on the decoder alone as on the whole model', async () => {
    const reading = await model.reading(CLEAN_SOURCE)
    const from = { ids: LONGER, decoder_ids: other }
    for (const local of ['attn.hook_z', 'cross_attn.hook_z', 'hook_resid_pre', 'hook_mlp_out']) {
      const hook = `blocks.1.${local}`
      const alone = await reading.run(own, { edits: [{ hook, op: 'set', from }], capture: ['logits'] })
      const whole = await model.run(CLEAN_SOURCE, {
        decoderIds: [own],
        edits: [{ hook: `decoder.${hook}`, op: 'set', from }],
        capture: ['logits'],
      })
      expect(alone.get('logits').data, local).toEqual(whole.get('logits').data)
    }
  })

  test('a part at its mean over texts of the decoder is an edit, on the decoder alone as on the whole model', async () => {
    const reading = await model.reading(CLEAN_SOURCE)
    const reference = [own, other, [...other, 9]]
    const { cells } = await ablate(reading, own, { over: 'cross_heads', kind: 'mean', metric, reference })
    const mean = reference.map((ids) => ({ ids: CLEAN_SOURCE, decoder_ids: ids }))
    for (const { layer, head, value } of cells.slice(0, 5)) {
      const edit: Edit = {
        hook: inDecoder(layer, 'cross_attn.hook_z'),
        head: head!,
        op: 'set',
        from: { mean },
      }
      expect(value).toBeCloseTo(await metricOf(CLEAN_SOURCE, own, [edit]), 4)
      const alone = { ...edit, hook: edit.hook.replace('decoder.', '') }
      const run = await reading.run(own, { edits: [alone], capture: ['logits'] })
      const last = run.get('logits').data.subarray(-model.spec.dVocab)
      expect(last[5]! - last[9]!).toBeCloseTo(value!, 4)
    }
  })

  test('what cannot be compared is said in a sentence', async () => {
    const [reading, longer] = [await model.reading(CLEAN_SOURCE), await model.reading(LONGER)]
    const same = await model.reading([...CLEAN_SOURCE])
    const other = { metric, corruptModel: longer }
    await expect(patch(reading, own, own, { ...other, site: 'cross_pattern' })).rejects.toThrow(
      'the clean source has 5 and the corrupt one 7',
    )
    await expect(
      pathPatch(reading, own, own, { ...other, from: ['source'], to: ['L0H0.cross.k'] }),
    ).rejects.toThrow('use sources of one length')
    await expect(patch(reading, own, own, { metric, site: 'resid_pre', corruptModel: same })).rejects.toThrow(
      'are the same',
    )
    await expect(
      patch(reading, own, own, { metric, site: 'resid_pre', corruptModel: model }),
    ).rejects.toThrow('same checkpoint over another source')
  })
})

test('a model of one text has no cross heads to follow', async () => {
  const model = await openModel(join(FIXTURES, 'transformers', 'gpt2-prefixed'))
  const of = (edge: { from: string; to: string }) =>
    pathPatch(model, [1, 2], [1, 3], { edges: [edge], metric: { kind: 'logit', answer: 1 } })
  await expect(of({ from: 'L0H0', to: 'L1H0.cross.q' })).rejects.toThrow('no cross-attention')
  await expect(of({ from: 'source', to: 'logits' })).rejects.toThrow('reads no source')
  await model.close()
})
