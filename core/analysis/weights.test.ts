/** Spectra and composition against numpy and the hand-built model; token pairs against a full product. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { decoderOf } from '../graph/model-spec.ts'
import { openModel } from '../run/model.ts'
import { tokenPairs } from './circuits.ts'
import { headMatrix, headWeights, outputMatrix } from './head-weights.ts'
import { frobenius, multiply, singularValues, transpose } from './matrix.ts'
import { readout } from './readout.ts'
import { embeddings } from './vocabulary.ts'
import { weightAnalysis } from './weights.ts'

const FIXTURES = join(import.meta.dirname, '..', '..', 'test', 'fixtures')

test('the hand-built model composes by key alone', async () => {
  const expected = JSON.parse(readFileSync(join(FIXTURES, 'constructed', 'expect.json'), 'utf8'))
  const model = await openModel(join(FIXTURES, 'constructed', 'induction-exact'))
  const { composition, random_baseline } = await weightAnalysis(model)
  for (const { from, to, ...values } of expected.composition)
    for (const kind of ['q', 'k', 'v'] as const) {
      const cell = composition![kind].find(
        (one) => `L${one.from.layer}H${one.from.head}` === from && `L${one.to.layer}H${one.to.head}` === to,
      )!
      if (values[kind] === null) expect(cell.value).toBeNull()
      else expect(cell.value).toBeCloseTo(values[kind], 6)
    }
  expect(random_baseline).toBeCloseTo(expected.composition_random_baseline, 6)
  await model.close()
})

// The values of numpy on the files themselves: test/fixtures/reference/weights.json says how they were made.
const REFERENCE = JSON.parse(readFileSync(join(FIXTURES, 'reference', 'weights.json'), 'utf8'))

test.each(Object.keys(REFERENCE.models))('%s: spectra and composition are those of numpy', async (name) => {
  const decoder = /^(t5|bart)-/.test(name)
  const model = await openModel(join(FIXTURES, decoder ? 'encoder-decoder' : 'transformers', name))
  for (const fold of [true, false]) {
    const ours = await weightAnalysis(model, { fold })
    const reference = REFERENCE.models[name][fold ? 'folded' : 'plain']
    expect(ours.cross_heads?.length ?? 0).toBe(decoder ? ours.heads.length : 0)
    const both = [
      ...ours.heads.map((head) => ({ ...head, known: reference.heads[`L${head.layer}H${head.head}`] })),
      ...(ours.cross_heads ?? []).map((head) => ({
        ...head,
        known: reference.cross_heads[`L${head.layer}H${head.head}`],
      })),
    ]
    for (const { known, ...head } of both) {
      known.ov.forEach((value: number, i: number) => {
        expect(Math.abs(head.ov[i]! - value) / known.ov[0]).toBeLessThan(1e-6)
      })
      known.qk.forEach((value: number, i: number) => {
        expect(Math.abs(head.qk[i]! - value) / known.qk[0]).toBeLessThan(1e-6)
      })
    }
    for (const kind of ['q', 'k', 'v'] as const)
      for (const { from, to, value } of ours.composition![kind])
        expect(value).toBeCloseTo(
          reference.composition[`L${from.layer}H${from.head}>L${to.layer}H${to.head}`][kind],
          5,
        )
  }
  await model.close()
})

test('caveats say what the family does', async () => {
  const model = await openModel(join(FIXTURES, 'transformers', 'gemma2-softcap'))
  const { caveats, heads } = await weightAnalysis(model, { composition: false })
  for (const word of ['folded', 'Rotary', 'share', 'after attention', 'soft-capped', 'Biases'])
    expect(caveats.join(' ')).toContain(word)
  const [first] = heads
  const weights = await headWeights(model.engine(), 0)
  const gain = weights.norm!.gain
  const whole = multiply(headMatrix(weights, 'v', 0, gain), outputMatrix(weights, 0))
  expect(first!.ov_norm).toBeCloseTo(frobenius(whole), 5)
  expect(singularValues(whole)[0]).toBeCloseTo(first!.ov[0]!, 6)
  await model.close()
})

test.each(['transformers/llama-gqa', 'encoder-decoder/t5-gated-untied'])(
  '%s: the strongest token pairs are those of the full product',
  async (name) => {
    const model = await openModel(join(FIXTURES, name))
    const engine = model.engine()
    const { dVocab, dModel } = model.spec
    const ids = Array.from({ length: dVocab }, (_, id) => id)
    const table = { rows: dVocab, cols: dModel, data: Float64Array.from(await embeddings(engine, ids)) }
    const out = {
      rows: dVocab,
      cols: dModel,
      data: Float64Array.from((await readout(engine, ids, 1)).directions),
    }
    const weights = await headWeights(engine, 1)
    const gain = weights.norm!.gain
    const full = {
      ov: multiply(
        multiply(multiply(table, headMatrix(weights, 'v', 3, gain)), outputMatrix(weights, 3)),
        transpose(out),
      ),
      qk: multiply(
        multiply(table, headMatrix(weights, 'q', 3, gain)),
        transpose(multiply(table, headMatrix(weights, 'k', 3, gain))),
      ),
    }
    const { scoreScale } = decoderOf(model.spec).layers[1]!
    for (const circuit of ['ov', 'qk'] as const) {
      const pairs = await tokenPairs(model, { layer: 1, head: 3 }, { circuit, count: 5 })
      const scale = circuit === 'qk' ? scoreScale : 1
      const sorted = Array.from(full[circuit].data).sort((a, b) => b - a)
      pairs.forEach(({ input, output, value }, n) => {
        expect(value).toBeCloseTo(full[circuit].data[input * dVocab + output]! * scale, 4)
        expect(value).toBeCloseTo(sorted[n]! * scale, 4)
      })
    }
    await model.close()
  },
)
