/** Analyses of the decoder over one source, against the whole model's own run. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { compare } from '../compare/index.ts'
import {
  asOneText,
  attentionSummary,
  contextShift,
  directLogitAttribution,
  findSpans,
  headsOverCorpus,
  logitLens,
  type Model,
  openModel,
  relationProbe,
  residualChange,
} from '../index.ts'

const FOLDER = join(import.meta.dirname, '../../test/fixtures/encoder-decoder')
const NAMES = readdirSync(FOLDER).filter((name) => !name.includes('.'))
const SOURCE = [5, 9, 11, 3, 5, 9]

async function withModel(name: string, work: (model: Model, decoder: number[]) => Promise<void>) {
  const model = await openModel(join(FOLDER, name))
  try {
    await work(model, [model.spec.encoderDecoder!.start, 7, 8, 7, 8, 7])
  } finally {
    await model.close()
  }
}

test.each(NAMES)('%s: attribution sums to the logit, cross-attention included', (name) =>
  withModel(name, async (model, decoder) => {
    const one = await asOneText(model, [{ ids: SOURCE, decoder }])
    expect(one.ids).toEqual([decoder])
    const run = await model.run([SOURCE], { decoderIds: [decoder], capture: ['logits'] })
    const { dVocab } = model.spec
    const logits = run.get('logits').data.slice(5 * dVocab)
    for (const answer of [0, 7, dVocab - 1]) {
      const found = await directLogitAttribution(one.model, decoder, { answer, sources: true })
      expect(found.logit!).toBeCloseTo(logits[answer]!, 5)
      expect(found.sum!).toBeCloseTo(logits[answer]!, 4)
      expect(found.components.map((part) => part.name)).toContain('L1 cross H3')
      for (const { layer, head, values } of found.sources) {
        const own = found.components.find((part) => part.layer === layer && part.head === head)!
        expect(values.reduce((a, b) => a + b)).toBeCloseTo(own.value, 4)
      }
    }
    const lens = await logitLens(one.model, [decoder], { top: 1 })
    expect(lens.layers.at(-1)!.positions.at(-1)!.top[0]!.id).toBe(run.items[0]!.positions.at(-1)!.top[0]!.id)
  }),
)

test.each(NAMES)('%s: what wrote a difference of residuals sums to it', (name) =>
  withModel(name, async (model, decoder) => {
    const { model: one } = await asOneText(model, [{ ids: SOURCE, decoder }])
    const change = await residualChange(
      one,
      { ids: decoder, pos: 1, border: 0 },
      { ids: decoder, pos: 3, border: 3 },
    )
    expect(change.error).toBeLessThan(1e-4)
    expect(change.writers.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 4)
    expect(change.writers.map((writer) => writer.name)).toContain('L2 cross H0')
    const shift = await contextShift(one, [
      { ids: decoder, pos: 1 },
      { ids: decoder, pos: 3 },
    ])
    expect(shift.token).toBe(7)
  }),
)

test('places, examples and triples are those of the decoder’s own patterns', () =>
  withModel('t5-gated-untied', async (model, decoder) => {
    const one = await asOneText(model, [{ ids: SOURCE, decoder }])
    const run = await model.run([SOURCE], {
      decoderIds: [decoder],
      capture: ['decoder.blocks.1.attn.hook_pattern'],
    })
    const pattern = run.get('decoder.blocks.1.attn.hook_pattern').data
    const weight = (head: number, query: number, key: number) => pattern[(head * 6 + query) * 6 + key]!
    const spans = await findSpans(one.model, one.ids, { fewest: 1 })
    for (const { query, target, heads } of spans.items)
      for (const head of heads.filter(({ layer }) => layer === 1))
        expect(head.weight).toBeCloseTo(weight(head.head, query, target), 5)
    const triple = { ids: decoder, query: 4, target: 3, distractor: 2 }
    const relation = await relationProbe(one.model, [triple])
    const examples = await headsOverCorpus(one.model, one.ids)
    for (let head = 0; head < 4; head++) {
      const place = (at: { layer: number; head: number }) => at.layer === 1 && at.head === head
      expect(relation.heads.find(place)!.difference.value!).toBeCloseTo(
        weight(head, 4, 3) - weight(head, 4, 2),
        5,
      )
      const [first] = examples.find(place)!.edges
      expect(first!.weight).toBeCloseTo(weight(head, first!.query, first!.key), 5)
    }
    expect((await attentionSummary(one.model, decoder, { kind: 'rollout' })).values).toHaveLength(36)
  }))

test('without a choice of source one sentence says what is missing', () =>
  withModel('bart-scaled', async (model, decoder) => {
    const asked = [
      findSpans(model, [decoder]),
      headsOverCorpus(model, [decoder]),
      relationProbe(model, [{ ids: decoder, query: 4, target: 3, distractor: 2 }]),
      compare(model, model, [{ a: decoder, b: decoder }]),
      attentionSummary(model, decoder, { kind: 'flow' }),
    ]
    for (const one of asked) await expect(one).rejects.toThrow(/one text.*model\.reading\(source\)/)
    await expect(asOneText(model, [{ ids: [5, 9] }, { ids: [5, 9, 3] }])).rejects.toThrow(/there are 2/)
    const alone = await asOneText(model, [{ ids: SOURCE }])
    expect(alone.ids).toEqual([[model.spec.encoderDecoder!.start]])
  }))
