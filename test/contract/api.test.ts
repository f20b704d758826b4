/** The HTTP API as its clients see it: the real engine on the bundled checkpoints, over a real port, typed by hono. */
import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { hc } from 'hono/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AppType } from '../../core/api/app.ts'
import type { ApiError, InductionView, JobEvent, RunDetail, ScanReply } from '../../core/api/contract.ts'
import { type Serving, serve } from '../../core/api/serve.ts'
import { projectPaths } from '../../electron/paths.ts'

const MODEL = 'induction-2l'
const paths = projectPaths()
let folder: string
let serving: Serving
let client: ReturnType<typeof hc<AppType>>

const options = (name: string) => ({
  storePath: join(folder, name, 'work.db'),
  cacheDir: join(folder, 'cache'),
  bundledDir: paths.models,
  rendererDir: join(folder, 'no-pages'),
  threads: 1,
})

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headscope-api-'))
  serving = await serve(options('a'))
  client = hc<AppType>(`http://127.0.0.1:${serving.port}`, {
    headers: { authorization: `Bearer ${serving.token}` },
  })
}, 30_000)

afterAll(async () => {
  await serving.close()
  rmSync(folder, { recursive: true })
}, 30_000)

const raw = (path: string, init: RequestInit = {}) =>
  fetch(`http://127.0.0.1:${serving.port}${path}`, {
    ...init,
    headers: { authorization: `Bearer ${serving.token}`, 'content-type': 'application/json' },
  })

/** What the server answered, of a response that must be an error. */
async function errorOf(response: Promise<{ status: number; json(): Promise<unknown> }>) {
  const { status, json } = await response.then((r) => ({ status: r.status, json: () => r.json() }))
  return { status, ...((await json()) as ApiError).error }
}

async function eventsOf<R>(job: number): Promise<JobEvent<R>[]> {
  const text = await (await raw(`/api/jobs/${job}/events`)).text()
  const lines = text.split('\n').filter((line) => line.startsWith('data: '))
  return lines.map((line) => JSON.parse(line.slice(6)) as JobEvent<R>)
}

async function resultOf<R>(response: Promise<{ json(): Promise<{ job: number }> }>): Promise<R> {
  const { job } = await (await response).json()
  const last = (await eventsOf<R>(job)).at(-1)!
  if (last.type !== 'done') throw new Error(JSON.stringify(last))
  return last.result
}

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
    run = (await resultOf<{ run: number }>(client.api.jobs.run.$post({ json }))).run
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
      { name: 'induction-2l', path: join(paths.models, 'induction-2l'), checkpoint: true },
      { name: 'prose-4l', path: join(paths.models, 'prose-4l'), checkpoint: true },
      { name: 'train', path: join(paths.models, 'train'), checkpoint: false },
    ])
    expect(listing.parent).toBe(paths.root)
  })

  it('that do not fit are one sentence each', async () => {
    const ask = (prompt: object) =>
      errorOf(client.api.predict.$post({ json: { model: MODEL, prompt, edits: [] } }))
    expect(await ask({ ids: [] })).toMatchObject({ status: 422, code: 'bad-prompt' })
    expect(await ask({ ids: [5000] })).toMatchObject({ status: 422, code: 'bad-prompt' })
    expect(await errorOf(client.api.models.open.$post({ json: { path: folder } }))).toMatchObject({
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
    const copy = join(folder, 'copy')
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

describe('jobs', () => {
  const scan = (json: object) => client.api.jobs.scan.$post({ json: { model: MODEL, ...json } })

  it('a scan is stored and found by the weights', async () => {
    expect(await errorOf(client.api.scans.$get({ query: { model: MODEL } }))).toMatchObject({ status: 404 })
    const result = await resultOf<ScanReply>(scan({ batch: 8, seed: 1 }))
    expect(result.model).toBe(MODEL)
    const best = result.heads.toSorted((a, b) => b.scores.induction!.value! - a.scores.induction!.value!)[0]!
    expect(best.layer).toBe(1)
    expect(best.scores.induction!.value!).toBeGreaterThan(0.9)
    expect(await (await client.api.scans.$get({ query: { model: MODEL } })).json()).toEqual(result)
  }, 30_000)

  it('a question is answered while a scan runs, with the same numbers', async () => {
    const json = { model: MODEL, prompt: { ids: [0, 9, 8, 7, 9] }, edits: [] }
    const alone = await (await client.api.predict.$post({ json })).json()
    const { job } = await (await scan({ batch: 512 })).json()
    const beside = await (await client.api.predict.$post({ json })).json()
    const state = (await (await client.api.jobs.$get()).json()).find((entry) => entry.job === job)
    expect(state?.event.type).toBe('progress')
    expect(beside).toEqual(alone)
    await raw(`/api/jobs/${job}/cancel`, { method: 'POST' })
    expect((await eventsOf(job)).at(-1)).toEqual({ type: 'cancelled' })
  }, 30_000)

  it('a cancelled scan stores nothing, and the next run is whole', async () => {
    const count = async () =>
      (await client.api.sql.$post({ json: { sql: 'select count(*) from experiment' } })).json()
    const before = await count()
    const { job } = await (await scan({ batch: 2000 })).json()
    const cancelled = eventsOf(job)
    await raw(`/api/jobs/${job}/cancel`, { method: 'POST' })
    expect((await cancelled).at(-1)).toEqual({ type: 'cancelled' })
    expect(await count()).toEqual(before)
    const { run } = await resultOf<{ run: number }>(
      client.api.jobs.run.$post({ json: { model: MODEL, prompt: { ids: [0, 1, 2] } } }),
    )
    expect((await raw(`/api/runs/${run}`)).status).toBe(200)
  }, 30_000)

  it('one that fails says why, and leaves no run behind', async () => {
    const before = (await (await client.api.library.$get()).json()).runs.length
    const edits = [{ hook: 'blocks.0.attn.hook_z', head: 99, op: 'zero' as const }]
    const { job } = await (
      await client.api.jobs.run.$post({ json: { model: MODEL, prompt: { ids: [1, 2] }, edits } })
    ).json()
    expect((await eventsOf(job)).at(-1)).toMatchObject({ type: 'failed', error: { code: 'bad-edit' } })
    expect((await (await client.api.library.$get()).json()).runs).toHaveLength(before)
  })

  it('that do not exist are 404', async () => {
    expect((await raw('/api/jobs/999/events')).status).toBe(404)
    expect((await raw('/api/jobs/999/cancel', { method: 'POST' })).status).toBe(404)
  })
})

describe('starting and ending', () => {
  it('a port in use, or a file that is no workspace, is one sentence and leaves nothing open', async () => {
    await expect(serve({ ...options('b'), port: serving.port })).rejects.toMatchObject({ code: 'in-use' })
    const text = join(folder, 'notes.db')
    writeFileSync(text, 'These are my notes, not a database. '.repeat(50))
    await expect(serve({ ...options('c'), storePath: text })).rejects.toMatchObject({
      code: 'bad-store',
      message: expect.stringMatching(/^[^\n]+\.$/),
    })
    expect(readFileSync(text, 'utf8')).toContain('my notes')
  }, 20_000)

  it('close() cancels what runs, and the workspace is whole', async () => {
    const other = await serve(options('d'))
    const headers = { authorization: `Bearer ${other.token}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ model: MODEL, batch: 2000 })
    await fetch(`http://127.0.0.1:${other.port}/api/jobs/scan`, { method: 'POST', headers, body })
    await new Promise((resolve) => setTimeout(resolve, 300))
    const before = Date.now()
    await other.close()
    expect(Date.now() - before).toBeLessThan(4000)
    await (await serve(options('d'))).close()
  }, 30_000)

  it.runIf(process.platform !== 'win32')(
    'the engine’s process ends when its parent does',
    async () => {
      // A parent that starts the engine as the desktop does, tells us its id, and is killed.
      const parent = spawn(
        process.execPath,
        [
          '-e',
          `const { spawn } = require('node:child_process')
         const child = spawn(process.execPath, ${JSON.stringify([paths.engine, JSON.stringify(options('e'))])}, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
         child.on('message', (message) => console.log(JSON.stringify({ ...message, pid: child.pid })))`,
        ],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      )
      const line = await new Promise<string>((resolve) =>
        createInterface({ input: parent.stdout }).once('line', resolve),
      )
      const { type, url, pid } = JSON.parse(line) as { type: string; url: string; pid: number }
      expect(type).toBe('ready')
      expect((await fetch(url, { redirect: 'manual' })).status).toBe(302)
      parent.kill('SIGKILL')
      const ended = async () => {
        for (let tries = 0; tries < 200; tries++) {
          try {
            process.kill(pid, 0)
          } catch {
            return true
          }
          await new Promise((resolve) => setTimeout(resolve, 50))
        }
        return false
      }
      expect(await ended()).toBe(true)
    },
    30_000,
  )
})
