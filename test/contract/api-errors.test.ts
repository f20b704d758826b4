/** How the API says what is wrong, and how it lets go of what nobody waits for. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { ApiError } from '../../core/api/contract.ts'
import { listen } from '../../core/api/listen.ts'
import { type Answer, ask as askPort, type BareApi, bearer, json, startBareApi } from './api-bare.ts'

let api: BareApi
let ask: (...args: Tail<Parameters<typeof askPort>>) => ReturnType<typeof askPort>
type Tail<T extends unknown[]> = T extends [unknown, ...infer R] ? R : never

beforeAll(async () => {
  api = await startBareApi()
  ask = (...args) => askPort(api.port, ...args)
})
afterAll(() => api.close())

describe('errors', () => {
  const errorOf = async (answer: Promise<Answer>) => {
    const { status, text } = await answer
    return { status, ...(JSON.parse(text) as ApiError).error }
  }

  it('are one sentence with a code', async () => {
    expect(await errorOf(ask('/api/runs/7', bearer))).toEqual({
      status: 404,
      code: 'not-found',
      message: 'There is no run 7.',
    })
    expect(await errorOf(ask('/api/runs/x', bearer))).toMatchObject({
      status: 404,
      message: 'There is no run "x".',
    })
    expect(await errorOf(ask('/api/nothing', bearer))).toMatchObject({ status: 404, code: 'not-found' })
    expect(await errorOf(ask('/api/folders?path=relative', bearer))).toMatchObject({ status: 400 })
    expect(await errorOf(ask(`/api/folders?path=${join(api.folder, 'none')}`, bearer))).toMatchObject({
      status: 404,
      message: `The folder ${join(api.folder, 'none')} does not exist.`,
    })
  })

  it('name the field that does not fit', async () => {
    const post = (path: string, body: string, headers = json) =>
      errorOf(ask(path, headers, { method: 'POST', body }))
    expect(await post('/api/tokenize', '{"model":"m","text":1,"bos":"auto"}')).toMatchObject({
      status: 400,
      message: expect.stringMatching(/^The field "text" of this request does not fit: [^\n]+\.$/),
    })
    expect(await post('/api/tokenize', '{"model":"m","ids":[1,"x"]}')).toMatchObject({
      message: expect.stringMatching(/^The field "ids\.1" of this request does not fit: [^\n]+\.$/),
    })
    const from = (value: string) =>
      `{"model":"m","prompt":{"ids":[1]},"edits":[{"hook":"h","op":"set","from":${value}}]}`
    expect(await post('/api/predict', from('{"run":"x"}'))).toMatchObject({
      message: expect.stringContaining('The field "edits.0.from.run"'),
    })
    expect(await post('/api/predict', '{"model":"m","prompt":{},"edits":[]}')).toMatchObject({
      message: 'The field "prompt" of this request does not fit: give either a text or ids.',
    })
    expect(
      await post('/api/predict', '{"model":"m","prompt":{"ids":[1]},"edits":[{"op":"zero"}]}'),
    ).toMatchObject({
      message: expect.stringContaining('"edits.0.hook"'),
    })
    expect(await post('/api/sql', '{"sql":')).toMatchObject({ status: 400, code: 'bad-request' })
    expect(
      await post('/api/sql', 'sql=1', { ...bearer, 'content-type': 'text/plain' } as typeof json),
    ).toMatchObject({
      status: 400,
      message: expect.stringContaining('content-type application/json'),
    })
    expect(await post('/api/jobs/scan', '{"model":"m","sql":1}')).toMatchObject({ status: 400 })
  })

  it('of ours say so and do not end the server', async () => {
    const silent = console.error
    console.error = () => {}
    const answer = await errorOf(ask('/api/sql', json, { method: 'POST', body: '{"sql":"select 1"}' }))
    console.error = silent
    expect(answer).toMatchObject({ status: 500, code: 'internal' })
    expect((await ask('/api/about', bearer)).status).toBe(200)
  })

  it('refuse a body that is too large', async () => {
    const body = JSON.stringify({ sql: 'x'.repeat(17 * 1024 * 1024) })
    expect(await errorOf(ask('/api/sql', json, { method: 'POST', body }))).toMatchObject({ status: 400 })
  })
})

it('work that nobody waits for any more is cancelled', async () => {
  const stop = new AbortController()
  const body = JSON.stringify({ model: api.folder, prompt: { ids: [1] }, max: 1000 })
  const url = `http://127.0.0.1:${api.port}/api/generate`
  const asked = fetch(url, { method: 'POST', headers: json, body, signal: stop.signal })
  await vi.waitFor(() => expect(api.signals).toHaveLength(1))
  expect(api.signals[0]!.aborted).toBe(false)
  stop.abort()
  await expect(asked).rejects.toThrow()
  await vi.waitFor(() => expect(api.signals[0]!.aborted).toBe(true))
})

it('a stream of events is left when its listener goes away', async () => {
  const job = api.queue.start('without an end', () => new Promise(() => {}))
  const stop = new AbortController()
  const answer = await fetch(`http://127.0.0.1:${api.port}/api/jobs/${job}/events`, {
    headers: bearer,
    signal: stop.signal,
  })
  const first = await answer.body!.getReader().read()
  expect(new TextDecoder().decode(first.value)).toContain('"label":"without an end"')
  expect(api.following()).toBe(1)
  stop.abort()
  await vi.waitFor(() => expect(api.following()).toBe(0))
})

it('a port in use is one sentence', async () => {
  await expect(listen(() => new Response(), api.port)).rejects.toMatchObject({
    code: 'in-use',
    message: `The port ${api.port} on 127.0.0.1 is used by another program: choose another one, or none for a free one.`,
  })
  await expect(listen(() => new Response(), 70000)).rejects.toMatchObject({ code: 'bad-request' })
})
