/** The routes about heads and comparisons, on the real engine over a real port. */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type {
  AnalysisDetail,
  CompareReply,
  CorpusReply,
  RelationReply,
  ScanReply,
  SeriesReply,
  SpansReply,
} from '../../core/api/contract.ts'
import { type Api, errorOf, MODEL, paths, startApi } from './api-setup.ts'

const TEXT =
  'The queen Zorblat spoke to the king Mimsy. The king Mimsy answered the queen Zorblat. The queen Zorblat'

let api: Api
let client: Api['client']

beforeAll(async () => {
  api = await startApi()
  ;({ client } = api)
}, 30_000)
afterAll(() => api.close(), 30_000)

/** What the workspace gives back of an analysis, over HTTP. */
async function stored(experiment: number): Promise<AnalysisDetail> {
  return (await (await api.raw(`/api/analyses/${experiment}`)).json()) as AnalysisDetail
}

describe('heads', () => {
  it('every score has a definition, and a scan takes any of them', async () => {
    const scores = await (await client.api.heads.scores.$get()).json()
    expect(scores.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['induction', 'copying', 'entropy', 'successor', 'icl']),
    )
    const result = await api.resultOf<ScanReply>(
      client.api.jobs.scan.$post({
        json: {
          model: MODEL,
          batch: 5,
          scores: ['copying', 'prefix_matching', 'icl'],
          prompts: [{ text: TEXT }],
        },
      }),
    )
    expect(Object.keys(result.definitions)).toEqual(['copying', 'prefix_matching', 'icl'])
    expect(result.heads[0]!.scores.copying!.value).not.toBeNull()
    expect(result.ofModel!.icl).toMatchObject({ value: null, why: expect.stringMatching(/500 tokens/) })
    expect(await (await client.api.scans.$get({ query: { model: MODEL } })).json()).toEqual(result)
  }, 60_000)

  it('places of a text, with tokens, rates and the causal check', async () => {
    const result = await api.resultOf<SpansReply>(
      client.api.jobs.spans.$post({ json: { model: MODEL, prompts: [{ text: TEXT }], check: true } }),
    )
    expect(result.queries).toBeGreaterThan(20)
    expect(result.tokens[0]).toHaveLength(result.windows[0]!.ids.length)
    const best = result.heads.toSorted((a, b) => (b.rate.value ?? 0) - (a.rate.value ?? 0))[0]!
    expect(best.layer).toBe(1)
    expect(best.rate.value!).toBeGreaterThan(0.8)
    expect(result.causal).toHaveLength(3)
    const again = await stored(result.experiment)
    expect(again.reply).toEqual(result)
    expect(again).toMatchObject({
      kind: 'spans',
      model: MODEL,
      title: 'induction in 1 text',
      request: { model: MODEL, prompts: [{ text: TEXT }], check: true },
      models: [{ name: 'induction-2l', contentHash: expect.stringMatching(/^[0-9a-f]{64}$/) }],
      versions: { headscope: expect.any(String) },
    })
  }, 60_000)

  it('the causal check ablates the heads that are asked for', async () => {
    const heads = [{ layer: 0, head: 3 }]
    const json = { model: MODEL, prompts: [{ text: TEXT }], check: true, heads }
    const { causal } = await api.resultOf<SpansReply>(client.api.jobs.spans.$post({ json }))
    expect(causal).toMatchObject([{ layer: 0, head: 3, second: { value: expect.any(Number) } }])
    const { job } = await (
      await client.api.jobs.spans.$post({ json: { ...json, heads: [{ layer: 9, head: 0 }] } })
    ).json()
    expect((await api.eventsOf(job)).at(-1)).toMatchObject({
      type: 'failed',
      error: { code: 'bad-request', message: expect.stringMatching(/no head L9H0/) },
    })
  }, 60_000)

  it('a corpus is looked through, stored, and found again by classes of tokens', async () => {
    const prompts = [{ text: TEXT }, { text: '“No,” said the girl. “No,” said the man.' }]
    const key = { words: ['the', 'said'] }
    const result = await api.resultOf<CorpusReply>(
      client.api.jobs.corpus.$post({ json: { model: MODEL, prompts, keep: 2, store: true } }),
    )
    expect(result.runs).toHaveLength(2)
    expect((await stored(result.experiment)).reply).toEqual(result)
    const run = await (await client.api.runs[':id'].$get({ param: { id: String(result.runs[0]) } })).json()
    expect(run.text).toBe(TEXT) // as it was given, without the token in front
    const again = await api.resultOf<CorpusReply>(
      client.api.jobs.corpus.$post({
        json: { model: MODEL, prompts: [prompts[1]!, ...prompts, prompts[1]!], keep: 2, store: true },
      }),
    )
    expect(again.runs).toEqual([result.runs[1], result.runs[0]]) // equal texts share one run, and none is new
    expect(result.heads[8]!.edges[0]!.weight).toBeGreaterThan(0.5)
    const found = await (
      await client.api.heads.search.$post({
        json: { model: MODEL, query: { class: 'letters' }, key, limit: 5 },
      })
    ).json()
    expect(found.items).toBeGreaterThan(0)
    expect(found.examples.length).toBeGreaterThan(0)
    expect(
      await errorOf(client.api.heads.search.$post({ json: { model: MODEL, key: { class: 'verbs' } } })),
    ).toMatchObject({ status: 400, message: expect.stringMatching(/punctuation, digits/) })
  }, 60_000)

  it('the shipped relation example runs', async () => {
    const result = await api.resultOf<RelationReply>(
      client.api.jobs.relation.$post({ json: { model: MODEL } }),
    )
    expect(result.triples).toBe(512)
    expect(result.heads).toHaveLength(16)
    expect((await stored(result.experiment)).reply).toEqual(result)
  }, 60_000)

  it('rollout says its caveats, and its rows sum to 1', async () => {
    const json = { model: MODEL, prompt: { ids: [0, 9, 8, 7, 9] }, kind: 'rollout' as const }
    const { values, definition } = await (await client.api.heads.summary.$post({ json })).json()
    expect(definition).toMatch(/ignores values/)
    expect(values.slice(20).reduce((a, b) => a + b)).toBeCloseTo(1, 5)
    const flow = { ...json, kind: 'flow' as const, prompt: { ids: Array.from({ length: 200 }, () => 9) } }
    expect(await errorOf(client.api.heads.summary.$post({ json: flow }))).toMatchObject({ status: 400 })
  })
})

describe('comparisons', () => {
  it('two checkpoints: deltas, patterns, predictions and a report that loads nothing', async () => {
    const json = {
      a: `${MODEL}/checkpoints/step832`,
      b: MODEL,
      prompts: [{ text: `${TEXT} <script>alert(1)</script>` }],
      batch: 8,
      report: true,
    }
    const result = await api.resultOf<CompareReply>(client.api.jobs.compare.$post({ json }))
    expect(result.identical).toBe(false)
    expect(result.moved[0]!.score).toMatch(/induction|previous_token/)
    expect(result.report).not.toMatch(/<script|https?:\/\//i)
    const names = [...result.report!.matchAll(/<figcaption>(L\d+H\d+): A, B, B − A/g)].map(
      (found) => found[1],
    )
    expect(names).toHaveLength(6)
    expect(names[0]).toBe(`L${result.moved[0]!.layer}H${result.moved[0]!.head}`)
    expect(result.report!.match(/<img src="data:image\/png;base64,/g)).toHaveLength(18)
    const again = await stored(result.experiment)
    expect(again.reply).toEqual(result)
    expect(again).toMatchObject({ kind: 'compare', request: { a: json.a, b: MODEL }, model: json.a })
    expect(again.models.map(({ name }) => name)).toEqual(['step832', 'induction-2l'])
    const difference = await (
      await client.api.heads.difference.$post({
        json: { a: json.a, b: json.b, prompt: { ids: [0, 9, 8, 9] }, layer: 0, head: 2 },
      })
    ).json()
    expect(difference.difference).toHaveLength(16)
    for (const [i, value] of difference.difference.entries())
      expect(value).toBeCloseTo(difference.b[i]! - difference.a[i]!, 6)
  }, 60_000)

  it('different shapes: weights are left out in one sentence, the rest is compared', async () => {
    const json = { a: MODEL, b: 'prose-4l', prompts: [{ text: TEXT }], batch: 5, weights: ['ov'] }
    const result = await api.resultOf<CompareReply>(client.api.jobs.compare.$post({ json }))
    expect(result.weights).toBeNull()
    expect(result.warnings.filter((one) => /weights .* are not compared/.test(one))).toHaveLength(1)
    expect(result.matches!.length + (result.prediction.kl ?? 0)).toBeGreaterThan(0)
  }, 60_000)

  it('the bundled series is scanned, listed and deleted', async () => {
    const result = await api.resultOf<SeriesReply>(
      client.api.jobs.series.$post({ json: { model: MODEL, batch: 5, length: 16 } }),
    )
    expect(result.broken).toEqual([])
    const listed = await (await client.api.analyses.$get()).json()
    expect(listed[0]).toMatchObject({
      id: result.experiment,
      kind: 'series',
      title: expect.stringMatching(/^series of \d+ steps$/),
    })
    const param = { id: String(result.experiment) }
    await client.api.analyses[':id'].$delete({ param })
    expect(await errorOf(client.api.analyses[':id'].$get({ param }))).toMatchObject({ status: 404 })
  }, 120_000)

  it('raw matrices are refused with the reason', async () => {
    const json = { a: MODEL, b: MODEL, prompts: [{ ids: [0, 9, 8] }], batch: 5, weights: ['W_Q'] }
    const { job } = await (await client.api.jobs.compare.$post({ json })).json()
    expect((await api.eventsOf(job)).at(-1)).toMatchObject({
      type: 'failed',
      error: { code: 'bad-request', message: expect.stringMatching(/basis/) },
    })
  }, 60_000)

  it('a series with a broken member goes on without it', async () => {
    const folder = join(api.folder, 'series')
    const checkpoints = join(paths.models, 'induction-2l', 'checkpoints')
    for (const at of ['step960', 'step1024', 'step1280']) {
      mkdirSync(join(folder, at), { recursive: true })
      for (const name of ['config.json', 'model.safetensors'])
        copyFileSync(join(checkpoints, at, name), join(folder, at, name))
    }
    writeFileSync(join(folder, 'step1024', 'model.safetensors'), 'not weights')
    const result = await api.resultOf<SeriesReply>(
      client.api.jobs.series.$post({ json: { model: join(folder, 'step960'), batch: 5 } }),
    )
    expect(result.steps.map(({ at }) => at)).toEqual(['step960', 'step1280'])
    expect(result.broken).toMatchObject([{ at: 'step1024' }])
    expect(result.onsets[0]).toMatchObject({ score: 'induction', at: 'step1280', after: 'step960' })
    expect((await stored(result.experiment)).reply).toEqual(result)
    // Every step is a scan too, so that nothing is computed for it again.
    const scan = await (await client.api.scans.$get({ query: { model: join(folder, 'step960') } })).json()
    expect(scan).toMatchObject({ heads: result.steps[0]!.heads, settings: { batch: 5 } })
    const before = await (await client.api.store.$get()).json()
    const second = await api.resultOf<SeriesReply>(
      client.api.jobs.series.$post({ json: { model: join(folder, 'step960'), batch: 5 } }),
    )
    expect(second.steps).toEqual(result.steps)
    expect((await (await client.api.store.$get()).json()).scans).toBe(before.scans)
  }, 60_000)
})
