/** Every score against an independent script on non-symmetric weights, on the hand-built model, and by its identities. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { drawnSequences, randomRepeats, type ScoreSequence } from '../../core/analysis/sequences.ts'
import { type HeadScores, type Model, openModel, SCORES, scanHeads } from '../../core/index.ts'
import { FIXTURES } from '../support/golden.ts'

const FOLDER = join(FIXTURES, 'scores')
const expected = JSON.parse(readFileSync(join(FOLDER, 'expected.json'), 'utf8'))
const sequences = JSON.parse(readFileSync(join(FOLDER, 'sequences.json'), 'utf8'))
const SETTINGS = { length: 20, batch: 6, seed: 1, bos: false }

/** A tokenizer that knows the fixture's words, each one token; anything else is two. */
function wordTokenizer(model: Model): Model {
  const words: string[] = expected.words
  const tokenizer = {
    vocabSize: model.spec.dVocab,
    bosId: null,
    bosToken: null,
    chats: false,
    addsBos: false,
    specialIds: new Set<number>(),
    encode: (text: string) => (words.includes(text.trim()) ? [words.indexOf(text.trim())] : [0, 0]),
    decode: (ids: readonly number[]) => ids.map((id) => ` ${words[id] ?? id}`).join(''),
  }
  return { ...model, tokenizer: tokenizer as never }
}

describe.each(['gpt2', 'llama'])('%s with random weights', (name) => {
  let model: Model
  let heads: readonly HeadScores[]
  beforeAll(async () => {
    model = await openModel(join(FOLDER, name))
    heads = (await scanHeads(wordTokenizer(model), { ...SETTINGS, scores: ['all'] })).heads
  })
  afterAll(() => model.close())

  test('the sequences are those of the reference', () => {
    const ids = (kind: 'four_copies' | 'two_contexts') =>
      (drawnSequences(model, kind, SETTINGS) as readonly ScoreSequence[]).map((sequence) => sequence.ids)
    expect(randomRepeats(model, SETTINGS).ids).toEqual(sequences[name].repeats)
    expect(ids('four_copies')).toEqual(sequences[name].four_copies)
    expect(ids('two_contexts')).toEqual(sequences[name].two_contexts)
  })

  test('every score of every head', () => {
    for (const { layer, head, scores } of heads)
      for (const [score, value] of Object.entries<number>(expected[name][`L${layer}H${head}`])) {
        const ours = scores[score]!.value
        expect(ours, `L${layer}H${head} ${score}`).not.toBeNull()
        expect(Math.abs(ours! - value), `L${layer}H${head} ${score}`).toBeLessThan(
          1e-4 * Math.max(1, Math.abs(value)),
        )
      }
  })

  test('identities: with two copies prefix matching is strict induction; entropy lies between 0 and ln T', () => {
    for (const { scores } of heads) {
      expect(scores.prefix_matching!.value).toBeCloseTo(scores.induction!.value!, 12)
      expect(scores.entropy!.value!).toBeGreaterThanOrEqual(0)
      expect(scores.entropy!.value!).toBeLessThan(Math.log(40))
      expect(Math.abs(scores.copying!.value!)).toBeLessThanOrEqual(1)
      expect(scores.ov_top5!.value!).toBeGreaterThanOrEqual(scores.ov_top1!.value!)
      expect(scores.prefix_matching_25x4!.value!).toBeGreaterThanOrEqual(
        scores.induction_first!.value! * 0.5 + scores.induction_last!.value! * 0.5 - 1e-6,
      )
    }
  })

  test('block 0 has no IOI copying, and without a tokenizer words have no score: both say why', async () => {
    expect(heads[0]!.scores.ioi_copying).toMatchObject({ value: null, why: expect.stringMatching(/block 0/) })
    const bare = await scanHeads(model, { ...SETTINGS, scores: ['successor', 'ioi_copying'] })
    expect(bare.heads[0]!.scores.successor).toMatchObject({
      value: null,
      why: expect.stringMatching(/no tokenizer/),
    })
  })
})

describe('the hand-built induction model', () => {
  const folder = join(FIXTURES, 'constructed')
  const known = JSON.parse(readFileSync(join(folder, 'expect.json'), 'utf8'))
  let model: Model
  beforeAll(async () => {
    model = await openModel(join(folder, 'induction-exact'))
  })
  afterAll(() => model.close())

  test('prefix matching of other prompts', async () => {
    for (const prompt of known.other_prompts) {
      const { heads } = await scanHeads(model, {
        length: 10,
        batch: 1,
        scores: ['prefix_matching'],
        prompts: [prompt.ids],
      })
      for (const { layer, head, scores } of heads) {
        const value = prompt['prefix matching'][`L${layer}H${head}`]
        const ours = scores.prefix_matching!
        expect(ours.rows, prompt.note).toBe(prompt.n)
        if (value === null || value === undefined) {
          expect(ours.value, prompt.note).toBeNull()
          expect(ours.why).toMatch(/no token of these texts/)
        } else expect(ours.value!, `${prompt.note} L${layer}H${head}`).toBeCloseTo(value, 4)
      }
    }
  })

  test('copying is 1 for the induction head and does not exist for the others', async () => {
    const { heads } = await scanHeads(model, { length: 20, batch: 5, scores: ['all'] })
    for (const { layer, head, scores } of heads) {
      const copies = layer === 1 && head === 0
      for (const name of ['copying', 'ov_top1', 'copying_evaluator'])
        if (copies) expect(scores[name]!.value!, name).toBeCloseTo(1, 4)
        else {
          expect(scores[name]!.value, `L${layer}H${head} ${name}`).toBeNull()
          expect(scores[name]!.why).toBeTruthy()
        }
    }
    const at = (layer: number, head: number) =>
      heads.find((one) => one.layer === layer && one.head === head)!.scores
    expect(at(1, 0).value_weighted_induction!.value!).toBeCloseTo(1, 4)
    expect(at(1, 0).prefix_matching_25x4!.value!).toBeCloseTo(1, 4)
    expect(at(0, 0).entropy!.value!).toBeCloseTo(0, 4)
    expect(at(0, 0).saturation!.value!).toBeCloseTo(1, 4)
    // A head of zeros attends alike everywhere: entropy ln(q + 1), no variance, nothing written.
    const uniform = Array.from({ length: 40 }, (_, i) => Math.log(i + 2)).reduce((a, b) => a + b) / 40
    expect(at(1, 1).entropy!.value!).toBeCloseTo(uniform, 4)
    expect(at(1, 1).score_variance!.value!).toBeCloseTo(0, 6)
    expect(at(1, 1).value_weighted_induction!.value).toBeNull()
    // It matches the last token only, so what stood before makes no difference.
    expect(Math.abs(at(1, 0).ngram_induction!.value!)).toBeLessThan(1e-4)
  })

  test('no score is 0 or NaN where it does not exist, and every score says what it is', async () => {
    const { heads, definitions } = await scanHeads(model, { length: 20, batch: 5, scores: ['all'] })
    expect(Object.keys(definitions)).toEqual(SCORES.map(({ name }) => name))
    for (const { scores } of heads)
      for (const [name, { value, why }] of Object.entries(scores)) {
        expect(value === null || Number.isFinite(value), name).toBe(true)
        if (value === null) expect(why, name).toBeTruthy()
      }
  })
})
