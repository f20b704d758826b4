/** An encoder–decoder over HTTP: three kinds of patterns with their sequences, gradients on them, and the bench. */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { attentionHook } from '../../core/graph/hook-names.ts'
import { gradients, openModel } from '../../core/index.ts'
import { FIXTURES } from '../support/golden.ts'
import { type Api, errorOf, MODEL, startApi } from './api-setup.ts'

const FOLDER = join(FIXTURES, 'encoder-decoder', 't5-gated-untied')
/** The same family with a tokenizer. */
const WORDS = join(FIXTURES, 'transformers', 't5-relative-bias')
const SOURCE = [5, 9, 3, 7, 2, 8]
const OWN = [0, 4, 6, 2]
const prompt = { ids: SOURCE, decoder: { ids: OWN } }
const metric = { kind: 'logit_diff', answer: 6, wrong: 11 } as const
const KINDS = ['encoder', 'decoder', 'cross'] as const

let api: Api
let run: number
beforeAll(async () => {
  api = await startApi()
  run = (
    await api.resultOf<{ run: number }>(
      api.client.api.jobs.run.$post({ json: { model: FOLDER, prompt } }) as never,
    )
  ).run
})
afterAll(() => api.close())

test('a run says what both stacks read, and gives all three kinds of patterns', async () => {
  const detail = await (await api.raw(`/api/runs/${run}`)).json()
  const ids = (views: { id: number }[]) => views.map(({ id }) => id)
  expect(ids(detail.views)).toEqual(OWN)
  expect(ids(detail.source)).toEqual(SOURCE)
  const model = await openModel(FOLDER)
  const hooks = KINDS.map((of) => attentionHook(of, 1, 'hook_pattern'))
  const whole = await model.run(SOURCE, { decoderIds: [OWN], capture: hooks })
  const shapes = { encoder: [6, 6], decoder: [4, 4], cross: [4, 6] }
  for (const of of KINDS) {
    const reply = await api.raw(`/api/runs/${run}/pattern?layer=1&head=2&of=${of}`)
    expect(JSON.parse(reply.headers.get('x-headscope-shape')!)).toEqual(shapes[of])
    const triangle = of === 'decoder'
    expect(reply.headers.get('x-headscope-codec')).toBe(triangle ? 'tri' : 'full')
    const halves = new Float16Array(await reply.arrayBuffer())
    const [rows, columns] = shapes[of] as [number, number]
    const own = whole.get(attentionHook(of, 1, 'hook_pattern')).data.subarray(2 * rows * columns)
    const last = triangle
      ? [...own.subarray(12, 16)]
      : [...own.subarray(rows * columns - columns, rows * columns)]
    ;[...halves.slice(-columns)].forEach((weight, i) => {
      expect(weight).toBeCloseTo(last[i]!, 3)
    })
    const small = await api.raw(`/api/runs/${run}/thumbnails?of=${of}`)
    expect(JSON.parse(small.headers.get('x-headscope-shape')!)).toEqual([of === 'encoder' ? 2 : 3, 4, 32, 32])
  }
  // Unasked, the decoder's own: what the other views show.
  const unasked = await api.raw(`/api/runs/${run}/pattern?layer=1&head=2`)
  expect(JSON.parse(unasked.headers.get('x-headscope-shape')!)).toEqual([4, 4])
  await model.close()
})

test('the library keeps what both stacks read as one prompt, and texts are read for either', async () => {
  const asked = { model: WORDS, prompt: { text: 'green dark', decoder: { text: 'by then' } } }
  const made = await api.resultOf<{ run: number }>(api.client.api.jobs.run.$post({ json: asked }) as never)
  const { prompts, runs } = await (await api.raw('/api/library')).json()
  const detail = await (await api.raw(`/api/runs/${made.run}`)).json()
  expect([detail.text, detail.decoderText]).toEqual(['green dark', 'by then'])
  expect(runs.find(({ id }: { id: number }) => id === made.run).text).toBe('green dark')
  const pairs = prompts.filter((one: { decoder?: unknown }) => one.decoder)
  expect(
    pairs.map((one: { text: string; decoder: { text: string } }) => [one.text, one.decoder.text]),
  ).toEqual([
    ['green dark', 'by then'],
    [null, null],
  ])
  expect(pairs[1].ids).toEqual(SOURCE)
  expect(pairs[1].decoder.ids).toEqual(OWN)
  // What a decoder read is no prompt by itself.
  expect(
    prompts.some(
      (one: { ids: number[]; decoder?: unknown }) => !one.decoder && one.ids.join() === OWN.join(),
    ),
  ).toBe(false)
  const { tokens } = await (
    await api.client.api.tokenize.$post({
      json: { model: WORDS, text: 'by then', bos: 'auto', decoder: true },
    })
  ).json()
  expect(tokens.map(({ id }) => id)).toEqual(detail.views.map(({ id }: { id: number }) => id))
})

test('gradients on every kind of pattern', async () => {
  const model = await openModel(FOLDER)
  for (const of of KINDS) {
    const json = { model: FOLDER, prompt, of, layer: 1, head: 2, metric }
    const reply = await (await api.client.api.bench['pattern-gradient'].$post({ json })).json()
    const hook = attentionHook(of, 1, 'hook_pattern')
    const { metric: found, grads } = await gradients(model, [SOURCE], {
      metric,
      hooks: [hook],
      decoderIds: [OWN],
    })
    const size = reply.gradient.values.length
    expect(reply.gradient.values).toEqual([...grads.get(hook)!.data.subarray(2 * size, 3 * size)])
    expect(reply.value).toBe(found.value)
    expect(reply.gradient.values.some((value) => value !== 0)).toBe(true)
  }
  await model.close()
  const wrong = { model: FOLDER, prompt, of: 'cross' as const, layer: 9, head: 0, metric }
  expect((await errorOf(api.client.api.bench['pattern-gradient'].$post({ json: wrong }))).message).toContain(
    'decoder.blocks.9.cross_attn.hook_pattern matches no hook',
  )
  const one = { model: MODEL, prompt: { ids: [5, 9] }, of: 'cross' as const, layer: 0, head: 0, metric }
  expect((await errorOf(api.client.api.bench['pattern-gradient'].$post({ json: one }))).status).toBe(400)
})

test('the bench takes a head of the decoder apart, over the text', async () => {
  const place = { model: FOLDER, prompt, layer: 1, head: 2 }
  const head = await (await api.client.api.bench.head.$post({ json: { ...place, answer: 6 } })).json()
  expect(head.tokens.map(({ id }) => id)).toEqual(OWN)
  expect(head.steps.map(({ name }) => name)).toContain('biased scores')
  const cells = [{ step: 'biased scores', row: 3, column: 1, value: 40 }]
  const edit = await (await api.client.api.bench.edit.$post({ json: { ...place, cells } })).json()
  expect(edit.pattern.after.values[3 * 4 + 1]).toBeGreaterThan(0.99)
  const learned = await (await api.client.api.bench.gradients.$post({ json: { ...place, metric } })).json()
  expect(learned.routing.shape).toEqual([4, 4])
})

test('the bench takes a head over the source apart: target × source', async () => {
  const place = { model: FOLDER, prompt, layer: 1, head: 2, cross: true }
  const asked = { ...place, query: 2, key: 5, answer: 6 }
  const head = await (await api.client.api.bench.head.$post({ json: asked })).json()
  expect(head.tokens.map(({ id }) => id)).toEqual(OWN)
  expect(head.key_tokens.map(({ id }) => id)).toEqual(SOURCE)
  const shape = (name: string) => head.steps.find((step) => step.name === name)!.shape
  expect(shape('weights')).toEqual([4, 6])
  expect(shape('memory')[0]).toBe(6)
  expect(head.sources.map(({ source }) => source)).toEqual([0, 1, 2, 3, 4, 5])
  expect(head.sources.every(({ logit }) => logit !== null)).toBe(true)
  const cells = [{ step: 'masked scores', row: 3, column: 5, value: 40 }]
  const edit = await (await api.client.api.bench.edit.$post({ json: { ...place, cells } })).json()
  expect(edit.pattern.after.values[3 * 6 + 5]).toBeGreaterThan(0.99)
  const learned = await (await api.client.api.bench.gradients.$post({ json: { ...place, metric } })).json()
  expect(learned.routing.shape).toEqual([4, 6])
  expect(learned.at_residual.key.shape[0]).toBe(6)
  const pair = { ...place, query: 3, key: 5, epsilon: 0.01, metric }
  const nudged = await (await api.client.api.bench.nudge.$post({ json: pair })).json()
  expect(nudged.beta).toBeCloseTo(learned.routing.values[3 * 6 + 5]!, 6)
  const basis = await (await api.client.api.bench.basis.$post({ json: place })).json()
  expect(basis.allowed).toBe('any')
  const mask = await errorOf(api.client.api.bench.edit.$post({ json: { ...place, noMask: true } }))
  expect(mask.message).toContain('no mask to remove')
  const far = await errorOf(api.client.api.bench.head.$post({ json: { ...place, key: 6 } }))
  expect(far.message).toContain('no key 6')
})
