/** Inside the model over HTTP: residual stream, weights, and a head on the bench, on bundled checkpoints. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ImportReply, PairsReply, WeightsReply } from '../../core/api/contract.ts'
import { type Api, errorOf, MODEL, startApi } from './api-setup.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

const prompt = { ids: [0, 17, 5, 9, 21, 5, 9] }
const place = { model: MODEL, prompt, layer: 1, head: 3 }
const metric = { kind: 'logit_diff', answer: 6, wrong: 11 } as const
const sum = (values: readonly (number | null)[]) =>
  values.reduce<number>((total, value) => total + (value ?? 0), 0)

test('lens', async () => {
  const reply = await (
    await api.client.api.residual.lens.$post({ json: { model: MODEL, prompt, answer: 9, positions: [-1] } })
  ).json()
  expect(reply.layers.map(({ layer }) => layer)).toEqual([0, 1, 2])
  const [cell] = reply.layers[2]!.positions
  expect(cell).toMatchObject({ item: 0, pos: 6 })
  expect(reply.words[cell!.top[0]!.id]!.text).not.toBe('')
  const predicted = await (
    await api.client.api.predict.$post({ json: { model: MODEL, prompt, edits: [] } })
  ).json()
  expect(cell!.top[0]!.id).toBe(predicted.base.top[0]!.token.id)
})

test('lens with edits, and with a residual carried from another prompt', async () => {
  const { residual } = api.client.api
  const edits = [{ hook: 'blocks.1.attn.hook_z', head: 3, op: 'zero' as const }]
  const edited = await (await residual.lens.$post({ json: { model: MODEL, prompt, edits } })).json()
  const predicted = await (
    await api.client.api.predict.$post({ json: { model: MODEL, prompt, edits } })
  ).json()
  const last = edited.layers[2]!.positions[6]!
  expect(last.top[0]!.id).toBe(predicted.edited.top[0]!.token.id)
  expect(last.top[0]!.prob).toBeCloseTo(predicted.edited.top[0]!.prob!, 5)
  const other = { ids: [0, 40, 41, 42, 40] }
  const json = {
    model: MODEL,
    from: { prompt: other, pos: 4, border: 1 },
    to: { prompt, pos: 2, border: 1 },
    top: 3,
  }
  const reply = await (await residual.patched.$post({ json })).json()
  expect(reply.tokens).toHaveLength(7)
  expect(reply.distance).toBeGreaterThan(0)
  const home = await (await residual.lens.$post({ json: { model: MODEL, prompt: other, top: 3 } })).json()
  expect(reply.layers[1]!.positions[2]!.top).toEqual(home.layers[1]!.positions[4]!.top)
  const wrong = { ...json, to: { prompt, pos: 2, border: 9 } }
  expect(await errorOf(residual.patched.$post({ json: wrong }))).toMatchObject({
    status: 400,
    message: expect.stringMatching(/no border 9/),
  })
})

test('attribution sums to the logit, by text or by id', async () => {
  const json = { model: MODEL, prompt, answer: 9, wrong: 7, sources: true } as const
  const reply = await (await api.client.api.residual.dla.$post({ json })).json()
  expect(sum(reply.components.map(({ value }) => value))).toBeCloseTo(reply.logit!, 4)
  expect(reply.sources).toHaveLength(16)
  const wrong = await errorOf(
    api.client.api.residual.dla.$post({ json: { model: MODEL, prompt, answer: 'two tokens or more' } }),
  )
  expect(wrong).toMatchObject({ status: 422, message: expect.stringContaining('looks at one') })
})

test('geometry, who wrote what, contexts, compounds, neighbours', async () => {
  const { residual } = api.client.api
  const geometry = await (await residual.geometry.$post({ json: { model: MODEL, prompt, border: 1 } })).json()
  expect(geometry.norms).toHaveLength(3)
  expect(geometry.positions![2]![2]).toBeCloseTo(1, 6)
  const change = await (
    await residual.change.$post({
      json: { model: MODEL, from: { prompt, pos: 6, border: 0 }, to: { prompt, pos: 6, border: 2 } },
    })
  ).json()
  expect(sum(change.writers.map(({ share }) => share))).toBeCloseTo(1, 4)
  const contexts = await (
    await residual.contexts.$post({
      json: {
        model: MODEL,
        places: [
          { prompt, pos: 2 },
          { prompt, pos: 5 },
        ],
      },
    })
  ).json()
  expect(contexts).toMatchObject({ token: 5 })
  expect(contexts.pairs[0]!.distance).toBeCloseTo(0, 6)
  const compound = await (
    await residual.compound.$post({ json: { model: MODEL, prompt, positions: [2, 3] } })
  ).json()
  expect(compound.pairs).toBe(1)
  const near = await (
    await residual.neighbours.$post({ json: { model: MODEL, expression: '#40 + #77 - #77', count: 1 } })
  ).json()
  expect(near.neighbours[0]).toMatchObject({ id: 40, named: true })
})

test('weights and token pairs as jobs', async () => {
  const weights = await api.resultOf<WeightsReply>(
    api.client.api.jobs.weights.$post({ json: { model: MODEL } }),
  )
  expect(weights.heads).toHaveLength(16)
  expect(weights.composition!.k).toHaveLength(64)
  expect(weights.copying.heads[1]).toHaveLength(8)
  const pairs = await api.resultOf<PairsReply>(
    api.client.api.jobs.pairs.$post({ json: { model: MODEL, layer: 1, head: 3, circuit: 'ov', count: 3 } }),
  )
  expect(pairs.pairs).toHaveLength(3)
  expect(pairs.words[pairs.pairs[0]!.input]).toBeDefined()
})

test('the bench: a head, a changed step, a basis, gradients, a nudge', async () => {
  const { bench } = api.client.api
  const head = await (await bench.head.$post({ json: { ...place, answer: 9 } })).json()
  expect(head.steps.map(({ name }) => name)).toContain('weights')
  for (const step of head.steps) expect(step.values).toHaveLength(step.shape[0] * step.shape[1])
  expect(sum(head.sources.map(({ alpha }) => alpha))).toBeCloseTo(1, 5)
  expect(head.curve.reduce((best, point) => (point.size > best.size ? point : best)).alpha).toBe(0.5)
  expect(head.heads_add).toBeLessThan(1e-5)
  expect(head.losses.at(-1)).toBeNull()

  const edited = await (
    await bench.edit.$post({ json: { ...place, typed: [{ query: 6, key: 1, score: 90 }] } })
  ).json()
  expect(edited.pattern.after.values[6 * 7 + 1]).toBeGreaterThan(0.99)
  expect(edited.moved[3]).toBeLessThan(1e-4)
  expect(edited.steps.map(({ name }) => name)).toEqual(head.steps.map(({ name }) => name))
  expect(edited.steps.find(({ name }) => name === 'masked scores')!.values[1]).toBeNull()
  const cells = [{ step: 'weighted values', row: 6, column: 2, value: 4 }]
  const typed = await (await bench.edit.$post({ json: { ...place, cells } })).json()
  const values = typed.steps.find(({ name }) => name === 'weighted values')!
  expect(values.values[6 * values.shape[1] + 2]).toBeCloseTo(4, 6)
  expect(typed.predictions.after[6]).not.toEqual(typed.predictions.before[6])
  expect(typed.predictions.after[5]).toEqual(typed.predictions.before[5])

  const basis = await (await bench.basis.$post({ json: place })).json()
  expect(basis.vectors).toBeLessThan(1e-4)
  expect(basis).toMatchObject({ allowed: 'pairs', why: expect.stringContaining('rotated') })

  const gradients = await (
    await bench.gradients.$post({ json: { ...place, metric, parameters: true } })
  ).json()
  const largest = Math.max(...gradients.routing.values.map((value) => Math.abs(value ?? 0)))
  for (let row = 0; row < 7; row++)
    expect(Math.abs(sum(gradients.routing.values.slice(row * 7, row * 7 + 7)))).toBeLessThan(
      1e-4 * largest + 1e-9,
    )
  expect(gradients.parameters!.o.shape).toEqual([16, 128])

  const nudged = await (
    await bench.nudge.$post({ json: { ...place, query: 6, key: 3, epsilon: 0.01, metric } })
  ).json()
  expect(nudged.metric.after - nudged.metric.before).toBeCloseTo(
    nudged.metric.predicted - nudged.metric.before,
    3,
  )

  const hidden = await errorOf(
    bench.nudge.$post({ json: { ...place, query: 2, key: 6, epsilon: 0.01, metric } }),
  )
  expect(hidden).toMatchObject({ status: 400, message: expect.stringContaining('does not see') })
  const long = await errorOf(
    bench.head.$post({ json: { ...place, prompt: { ids: new Array(300).fill(5) } } }),
  )
  expect(long.message).toContain('256 at most')
  const missing = await errorOf(bench.head.$post({ json: { ...place, head: 99 } }))
  expect(missing.message).toContain('no head 99')
})

test('accounting beside GPT-3', async () => {
  const reply = await (await api.raw(`/api/bench/accounting?model=${MODEL}`)).json()
  expect(reply.gpt3.counts.all).toBe(174_588_899_328)
  expect(reply.model.counts).toMatchObject({ attention: 131_072, unembedding: 0 })
  expect(await errorOf(api.raw('/api/bench/accounting'))).toMatchObject({ status: 400 })
})

test('a run goes out as a file and comes back as a run', async () => {
  const { run } = await api.resultOf<{ run: number }>(
    api.client.api.jobs.run.$post({ json: { model: MODEL, prompt } }),
  )
  const response = await api.raw(`/api/exchange?what=${run}&format=safetensors`)
  expect(response.headers.get('content-disposition')).toContain(`${run}.safetensors`)
  const file = join(api.folder, 'run.safetensors')
  writeFileSync(file, Buffer.from(await response.arrayBuffer()))
  const back = await api.resultOf<ImportReply>(
    api.client.api.jobs.import.$post({ json: { model: MODEL, file } }),
  )
  expect(back.run).not.toBe(run)
  expect(back.hooks).toContain('blocks.1.attn.hook_pattern')
  const detail = await (await api.raw(`/api/runs/${back.run}`)).json()
  expect(detail.views.map(({ id }: { id: number }) => id)).toEqual(prompt.ids)
  expect(await errorOf(api.raw('/api/exchange?what=99&format=json'))).toMatchObject({ status: 404 })
  expect(await errorOf(api.raw(`/api/exchange?what=${run}&format=exe`))).toMatchObject({ status: 400 })
})
