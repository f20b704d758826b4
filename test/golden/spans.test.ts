/** Natural-text induction on the hand-built model, whose answer is known, and on the bundled one. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  findSpans,
  headsOverCorpus,
  type Model,
  openModel,
  spanEffects,
  tokenClass,
} from '../../core/index.ts'
import { ROOT } from '../support/command-line.ts'
import { FIXTURES } from '../support/golden.ts'

describe('the hand-built induction model', () => {
  let model: Model
  const known = JSON.parse(readFileSync(join(FIXTURES, 'constructed', 'expect.json'), 'utf8'))
  const ids: number[] = known.sequences[0].ids
  beforeAll(async () => {
    model = await openModel(join(FIXTURES, 'constructed', 'induction-exact'))
  })
  afterAll(() => model.close())

  test('L1H0 hits every place, the model says B, and no other head does', async () => {
    const found = await findSpans(model, [ids])
    expect(found).toMatchObject({ places: 30, queries: 30 })
    for (const item of found.items) {
      expect(item.target).toBe(item.query - 29)
      const hits = item.heads.filter(({ hit }) => hit)
      expect(hits).toMatchObject([{ layer: 1, head: 0 }])
      expect(hits[0]!.weight).toBeCloseTo(1, 4)
      // The last query stands before nothing; the text goes on with B everywhere else.
      expect(item.follows).toBe(item.query < ids.length - 1)
      if (item.follows) expect(item).toMatchObject({ predicted: true, prob: expect.closeTo(1, 2) })
    }
    const best = found.heads.find(({ layer, head }) => layer === 1 && head === 0)!
    expect(best.rate).toMatchObject({ value: 1, n: 30, high: 1 })
    expect(best.rate.low!).toBeGreaterThan(0.85) // Wilson: 30 of 30
    expect(best.examples).toMatchObject({ misses: [] })
    expect(best.examples.hits).toHaveLength(3)
    expect(found.heads.find(({ layer }) => layer === 0)!.rate.value).toBe(0)
  })

  test('ablating it costs the loss that is known; ablating a head of zeros costs nothing', async () => {
    const found = await findSpans(model, [ids])
    const [effect, none] = await spanEffects(model, found, {
      heads: [
        { layer: 1, head: 0 },
        { layer: 1, head: 1 },
      ],
    })
    const { ablated_loss_second_copy: ablated, loss_second_copy: base } = known.sequences[0]
    expect(effect!.second.value!).toBeCloseTo(ablated.L1H0 - base, 3)
    expect(effect!.effect.value!).toBeGreaterThan(5)
    expect(none!.second.value!).toBeCloseTo(0, 5)
    expect(effect!.others).toMatchObject([{ layer: 1, head: 1 }])
  })

  test('too little text gives no rate, with the number that it needs', async () => {
    const found = await findSpans(model, [[0, 5, 9, 2, 7, 5, 9, 11, 3, 5]])
    expect(found.places).toBe(3 + 1)
    expect(found.heads[0]!.rate).toMatchObject({ value: null, n: 3, why: 'n = 3, needs 20 places' })
  })

  test('a text without repeats has no place', async () => {
    const found = await findSpans(model, [[0, 5, 9, 2, 7]])
    expect(found).toMatchObject({ places: 0, items: [] })
  })
})

describe('induction-2l', () => {
  let model: Model
  const text = readFileSync(join(ROOT, 'models', 'prose-sample.txt'), 'utf8').slice(0, 12_000)
  beforeAll(async () => {
    model = await openModel(join(ROOT, 'models', 'induction-2l'))
  })
  afterAll(() => model.close())

  test('long text is cut into windows; the induction heads attend, and matter on second occurrences', async () => {
    const found = await findSpans(model, [model.encode(text)])
    expect(found.windows.length).toBeGreaterThan(5)
    expect(found.windows.every(({ ids }) => ids[0] === 0 && ids.length <= 256)).toBe(true)
    const best = found.heads.toSorted((a, b) => b.rate.value! - a.rate.value!)[0]!
    expect(best.layer).toBe(1)
    expect(best.rate.value!).toBeGreaterThan(0.9)
    expect(best.rate.low!).toBeLessThan(best.rate.value!)
    expect(best.random_repeat.value!).toBeGreaterThan(0.8)
    const [effect] = await spanEffects(model, found, { heads: [best] })
    expect(effect!.effect.low!).toBeGreaterThan(0)
    expect(effect!.control.value!).toBeLessThan(effect!.second.value! / 3)
  }, 60_000)

  test('the strongest edges of each head over a corpus, also from a class of tokens', async () => {
    const prompts = text
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => model.encode(line).slice(0, 128))
    const query = tokenClass(model, 'punctuation')
    const heads = await headsOverCorpus(model, prompts, { keep: 3, query })
    expect(heads).toHaveLength(16)
    for (const { edges, texts } of heads) {
      expect(texts).toHaveLength(3)
      for (const [i, edge] of edges.entries()) {
        expect(query.has(prompts[edge.prompt]![edge.query]!)).toBe(true)
        expect(edge.key).toBeGreaterThan(0)
        if (i > 0) expect(edge.weight).toBeLessThanOrEqual(edges[i - 1]!.weight)
      }
    }
    // What is kept is what a run of that prompt shows.
    const { layer, head, edges } = heads[9]!
    const run = await model.run(prompts[edges[0]!.prompt]!, {
      capture: [`blocks.${layer}.attn.hook_pattern`],
    })
    const { data, shape } = run.get(`blocks.${layer}.attn.hook_pattern`)
    const at = (head * shape[2]! + edges[0]!.query) * shape[3]! + edges[0]!.key
    expect(edges[0]!.weight).toBeCloseTo(data[at]!, 5)
  }, 60_000)
})
