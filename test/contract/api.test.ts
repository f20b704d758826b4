/** The HTTP API as its clients see it: opening, runs and questions, on the real engine. */
import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { EdgesReply, InductionView, RunDetail, ValueNormsReply } from '../../core/api/contract.ts'
import { type Api, errorOf, MODEL, paths, startApi } from './api-setup.ts'

let api: Api
let client: Api['client']
let raw: Api['raw']

beforeAll(async () => {
  api = await startApi()
  ;({ client, raw } = api)
}, 30_000)
afterAll(() => api.close(), 30_000)

describe('a fresh app', () => {
  it('knows where to begin', async () => {
    const about = await (await client.api.about.$get()).json()
    expect(about.start?.model).toBe(MODEL)
    const [first, second] = about.start!.prompt.split('. ')
    expect(first).toBe(second)
    expect(about.families).toContain('gpt_neox')
    const library = await (await client.api.library.$get()).json()
    expect(library.models.map(({ path }) => path)).toEqual([MODEL, 'prose-4l'])
    expect(library.models[0]!.series.map(({ at }) => at).slice(0, 3)).toEqual(['step0', 'step256', 'step512'])
    expect(library.runs).toEqual([])
  })

  it('opens a checkpoint, also a member of a series', async () => {
    const opened = await (await client.api.models.open.$post({ json: { path: MODEL } })).json()
    expect(opened).toMatchObject({
      path: MODEL,
      name: MODEL,
      spec: { family: 'gpt_neox', n_layers: 2, n_heads: 8, d_model: 128 },
      parameters: 527_872,
      tokenizer: { vocabSize: 1024, addsBos: true },
      tokenizerProblem: null,
    })
    expect(opened.hooks).toContainEqual({
      name: 'blocks.1.attn.hook_pattern',
      shape: ['batch', 8, expect.anything(), expect.anything()],
    })
    const step = await client.api.models.open.$post({ json: { path: `${MODEL}/checkpoints/step512` } })
    expect((await step.json()).series).toHaveLength(13)
    const last = await client.api.models.open.$post({ json: { path: `${MODEL}/checkpoints` } })
    expect((await last.json()).path).toBe(`${MODEL}/checkpoints/step6000`)
  })

  it('gets the hash of a checkpoint as soon as the background pass has it', async () => {
    let hash: string | null = null
    for (let tries = 0; hash === null && tries < 100; tries++) {
      hash = (await (await client.api.models.$get({ query: { path: MODEL } })).json()).contentHash
    }
    expect(hash).toMatch(/^[0-9a-f]{64}$/)
  })
})

describe('a run', () => {
  let run: number
  let detail: RunDetail

  beforeAll(async () => {
    const { start } = await (await client.api.about.$get()).json()
    const json = { model: MODEL, prompt: { text: start!.prompt } }
    run = (await api.resultOf<{ run: number }>(client.api.jobs.run.$post({ json }))).run
    detail = (await (await client.api.runs[':id'].$get({ param: { id: String(run) } })).json()) as RunDetail
  }, 30_000)

  it('is described with its words, predictions and provenance', async () => {
    expect(detail.views).toHaveLength(detail.tokens)
    expect(detail.views[0]).toMatchObject({ id: 0, special: true })
    expect(detail.predictions).toHaveLength(detail.tokens)
    expect(detail.predictions[3]!.topTokens.map(({ id }) => id)).toEqual(
      detail.predictions[3]!.top.map(({ id }) => id),
    )
    expect(detail.predictions.at(-1)!.loss).toBeNull()
    expect(detail.provenance.contentHash).toMatch(/^[0-9a-f]{64}$/)
    expect(detail.hooks).toEqual([
      'blocks.0.hook_resid_pre',
      'blocks.0.attn.hook_pattern',
      'blocks.1.hook_resid_pre',
      'blocks.1.attn.hook_pattern',
      'blocks.1.hook_resid_post',
    ])
    const library = await (await client.api.library.$get()).json()
    expect(library.runs[0]).toMatchObject({ id: run, model: MODEL, tokens: detail.tokens, edits: 0 })
    expect(library.prompts[0]?.text).toBe(detail.text)
  })

  it('gives a head’s pattern as it is stored, and its thumbnail', async () => {
    const answer = await raw(`/api/runs/${run}/pattern?layer=1&head=3`)
    expect(answer.headers.get('x-headscope-codec')).toBe('tri')
    expect(answer.headers.get('x-headscope-dtype')).toBe('f16')
    expect(JSON.parse(answer.headers.get('x-headscope-shape')!)).toEqual([detail.tokens, detail.tokens])
    const weights = new Float16Array(await answer.arrayBuffer())
    expect(weights).toHaveLength((detail.tokens * (detail.tokens + 1)) / 2)
    for (let query = 0, at = 0; query < detail.tokens; at += ++query) {
      const sum = weights.subarray(at, at + query + 1).reduce((total, weight) => total + weight, 0)
      expect(sum).toBeCloseTo(1, 2)
    }
    const small = await raw(`/api/runs/${run}/thumbnails`)
    expect(JSON.parse(small.headers.get('x-headscope-shape')!)).toEqual([2, 8, 32, 32])
    expect((await small.arrayBuffer()).byteLength).toBe(2 * 8 * 32 * 32)
    const residual = await raw(`/api/runs/${run}/residual?hook=blocks.1.hook_resid_post`)
    expect((await residual.arrayBuffer()).byteLength).toBe(detail.tokens * 128 * 4)
  })

  it('shows where heads attend from the later A to the earlier B', async () => {
    const answer = await client.api.runs[':id'].induction.$get({ param: { id: String(run) } })
    const { pairs, heads } = (await answer.json()) as InductionView
    expect(pairs.length).toBeGreaterThan(10)
    for (const { query, source, target } of pairs) {
      expect(target).toBe(source + 1)
      expect(detail.views[query]!.id).toBe(detail.views[source]!.id)
    }
    const of = (layer: number, head: number) => heads.find((row) => row.layer === layer && row.head === head)!
    expect(heads).toHaveLength(16)
    expect(of(1, 3).prefix_matching.value!).toBeGreaterThan(0.3)
    expect(of(0, 2).prefix_matching.value!).toBeLessThan(0.1)
    expect(of(1, 3).prefix_matching).toMatchObject({ n: 1, low: null, high: null, why: expect.any(String) })
    // The numbers are those of the stored pattern.
    const weights = new Float16Array(
      await (await raw(`/api/runs/${run}/pattern?layer=1&head=3`)).arrayBuffer(),
    )
    const { query, target } = pairs.at(-1)!
    expect(of(1, 3).weights.at(-1)).toBe(weights[(query * (query + 1)) / 2 + target])
  })

  it('says which heads look at a token, as the stored patterns do', async () => {
    const edges = async (query: string) =>
      (await (await raw(`/api/runs/${run}/edges?${query}`)).json()) as EdgesReply
    const key = 3
    const expected = new Map<string, number>()
    for (const layer of [0, 1])
      for (let head = 0; head < 8; head++) {
        const bytes = await (await raw(`/api/runs/${run}/pattern?layer=${layer}&head=${head}`)).arrayBuffer()
        const weights = new Float16Array(bytes)
        for (let query = key + 1; query < detail.tokens; query++) {
          const weight = weights[(query * (query + 1)) / 2 + key]!
          const name = `${layer}.${head}`
          if (weight >= 0.2 && weight > (expected.get(name) ?? 0)) expected.set(name, weight)
        }
      }
    const { heads, threshold } = await edges(`key=${key}`)
    expect(threshold).toBe(0.2)
    expect(new Map(heads.map(({ layer, head, weight }) => [`${layer}.${head}`, weight]))).toEqual(expected)
    expect(expected.size).toBeGreaterThan(1)
    const both = await edges('query=4&key=3')
    expect(both.heads.length).toBeLessThanOrEqual(heads.length)
    expect(await errorOf(raw(`/api/runs/${run}/edges`))).toMatchObject({ status: 400 })
    expect(await errorOf(raw('/api/runs/999/edges?key=1'))).toMatchObject({ status: 404 })
  })

  it('gives what its patterns are weighted by, with the definition, edits included', async () => {
    const norms = async (of: number, query: string) =>
      (await (await raw(`/api/runs/${of}/value-norms?${query}`)).json()) as ValueNormsReply
    const value = await norms(run, 'layer=1')
    expect(value).toMatchObject({
      kind: 'value',
      layer: 1,
      definition: expect.stringMatching(/length of the value/),
    })
    expect(value.norms).toHaveLength(8)
    expect(value.norms[0]).toHaveLength(detail.tokens)
    const output = await norms(run, 'layer=1&kind=output')
    expect(output.definition).toMatch(/Kobayashi/)
    expect(output.norms).not.toEqual(value.norms)
    const edits = [{ hook: 'blocks.1.attn.hook_v', kv_head: 3, op: 'zero' as const }]
    const json = { model: MODEL, prompt: { text: detail.text! }, edits }
    const edited = (await api.resultOf<{ run: number }>(client.api.jobs.run.$post({ json }))).run
    const zeroed = await norms(edited, 'layer=1')
    expect(zeroed.norms[3]!.every((norm) => norm === 0)).toBe(true)
    expect(zeroed.norms[2]).toEqual(value.norms[2])
    expect(await errorOf(raw(`/api/runs/${run}/value-norms?layer=7`))).toMatchObject({
      status: 404,
      message: expect.stringMatching(/no layer 7.*0 to 1/),
    })
    expect(await errorOf(raw(`/api/runs/${run}/value-norms?layer=0&kind=both`))).toMatchObject({
      status: 400,
    })
  })

  it('can be the source of an edit', async () => {
    const edits = [{ hook: 'blocks.1.attn.hook_z', op: 'set' as const, from: { run } }]
    const json = { model: MODEL, prompt: { text: detail.text! }, edits }
    // The store holds no z of this run: one sentence, and the next question is answered.
    expect(await errorOf(client.api.predict.$post({ json }))).toMatchObject({
      status: 404,
      message: expect.stringContaining('holds no blocks.1.attn.hook_z'),
    })
    const whole = [{ hook: 'blocks.1.hook_resid_post', op: 'set' as const, from: { run } }]
    const { base, edited } = await (
      await client.api.predict.$post({ json: { ...json, edits: whole } })
    ).json()
    expect(edited.top[0]!.token.id).toBe(base.top[0]!.token.id)
  })
})

describe('questions', () => {
  const prompt = { text: 'The queen Zorblat spoke to the king Mimsy. The king Mimsy answered the queen Zor' }

  it('tokens, continuation, and what an edit changes', async () => {
    const { tokens } = await (
      await client.api.tokenize.$post({ json: { model: MODEL, text: ' \n<b>', bos: 'no' } })
    ).json()
    expect(tokens.map(({ text }) => text).join('')).toContain('<')
    const { text } = await (
      await client.api.generate.$post({ json: { model: MODEL, prompt, max: 3 } })
    ).json()
    expect(text).toBe('blat')
    const edits = [{ hook: 'blocks.1.attn.hook_z', op: 'zero' as const }]
    const { base, edited } = await (
      await client.api.predict.$post({ json: { model: MODEL, prompt, edits } })
    ).json()
    expect(base.top[0]!.token.text).toBe('b')
    expect(base.top[0]!.prob).toBeCloseTo(0.63, 2)
    expect(edited.top[0]!.token.text).not.toBe('b')
    expect(edited.loss!).toBeGreaterThan(base.loss!)
  })

  it('SQL, read only', async () => {
    const { rows } = await (
      await client.api.sql.$post({ json: { sql: 'select count(distinct hook) from activation' } })
    ).json()
    expect(rows).toEqual([[5]])
    expect(await errorOf(client.api.sql.$post({ json: { sql: 'delete from run' } }))).toMatchObject({
      status: 400,
    })
  })

  it('folders, with those that can be opened marked', async () => {
    const listing = await (await client.api.folders.$get({ query: { path: paths.models } })).json()
    expect(listing.entries).toEqual([
      { name: 'induction-2l', path: join(paths.models, 'induction-2l'), checkpoint: true, file: false },
      { name: 'prose-4l', path: join(paths.models, 'prose-4l'), checkpoint: true, file: false },
      { name: 'train', path: join(paths.models, 'train'), checkpoint: false, file: false },
    ])
    expect(listing.parent).toBe(paths.root)
  })

  it('that do not fit are one sentence each', async () => {
    const ask = (prompt: object) =>
      errorOf(client.api.predict.$post({ json: { model: MODEL, prompt, edits: [] } }))
    expect(await ask({ ids: [] })).toMatchObject({ status: 422, code: 'bad-prompt' })
    expect(await ask({ ids: [5000] })).toMatchObject({ status: 422, code: 'bad-prompt' })
    expect(await errorOf(client.api.models.open.$post({ json: { path: api.folder } }))).toMatchObject({
      status: 422,
      code: 'bad-checkpoint',
    })
    expect(await errorOf(raw('/api/runs/99'))).toMatchObject({ status: 404, code: 'not-found' })
    const edits = [{ hook: 'blocks.9.attn.hook_z', op: 'zero' as const }]
    const bad = await errorOf(
      client.api.predict.$post({ json: { model: MODEL, prompt: { ids: [1] }, edits } }),
    )
    expect(bad.message).toMatch(/^[^\n]*blocks\.9\.attn\.hook_z[^\n]+\.$/)
    const page = await raw('/')
    expect([page.status, await page.text()]).toEqual([503, expect.stringContaining('npm run build')])
  })

  it('a checkpoint that is written over is opened again', async () => {
    const copy = join(api.folder, 'copy')
    const step = (name: string) =>
      cpSync(join(paths.models, MODEL, 'checkpoints', name), copy, { recursive: true })
    mkdirSync(copy)
    step('step6000')
    const before = await client.api.predict.$post({ json: { model: copy, prompt, edits: [] } })
    rmSync(copy, { recursive: true })
    step('step0')
    const after = await client.api.predict.$post({ json: { model: copy, prompt, edits: [] } })
    expect((await after.json()).base.loss!).toBeGreaterThan((await before.json()).base.loss! + 2)
  })
})
