/** The HTTP API as its clients see it: long work, and how the engine begins and ends. */
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ScanReply } from '../../core/api/contract.ts'
import { serve } from '../../core/api/serve.ts'
import { type Api, errorOf, MODEL, paths, startApi } from './api-setup.ts'

let api: Api
let client: Api['client']
let raw: Api['raw']

beforeAll(async () => {
  api = await startApi()
  ;({ client, raw } = api)
}, 30_000)
afterAll(() => api.close(), 30_000)

describe('jobs', () => {
  const scan = (json: object) => client.api.jobs.scan.$post({ json: { model: MODEL, ...json } })

  it('a scan is stored and found by the weights', async () => {
    expect(await errorOf(client.api.scans.$get({ query: { model: MODEL } }))).toMatchObject({ status: 404 })
    const result = await api.resultOf<ScanReply>(scan({ batch: 8, seed: 1 }))
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
    expect((await api.eventsOf(job)).at(-1)).toEqual({ type: 'cancelled' })
  }, 30_000)

  it('a cancelled scan stores nothing, and the next run is whole', async () => {
    const count = async () =>
      (await client.api.sql.$post({ json: { sql: 'select count(*) from experiment' } })).json()
    const before = await count()
    const { job } = await (await scan({ batch: 2000 })).json()
    const cancelled = api.eventsOf(job)
    await raw(`/api/jobs/${job}/cancel`, { method: 'POST' })
    expect((await cancelled).at(-1)).toEqual({ type: 'cancelled' })
    expect(await count()).toEqual(before)
    const { run } = await api.resultOf<{ run: number }>(
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
    expect((await api.eventsOf(job)).at(-1)).toMatchObject({ type: 'failed', error: { code: 'bad-edit' } })
    expect((await (await client.api.library.$get()).json()).runs).toHaveLength(before)
  })

  it('that do not exist are 404', async () => {
    expect((await raw('/api/jobs/999/events')).status).toBe(404)
    expect((await raw('/api/jobs/999/cancel', { method: 'POST' })).status).toBe(404)
  })
})

describe('starting and ending', () => {
  it('a port in use, or a file that is no workspace, is one sentence and leaves nothing open', async () => {
    await expect(serve({ ...api.options('b'), port: api.serving.port })).rejects.toMatchObject({
      code: 'in-use',
    })
    const text = join(api.folder, 'notes.db')
    writeFileSync(text, 'These are my notes, not a database. '.repeat(50))
    await expect(serve({ ...api.options('c'), storePath: text })).rejects.toMatchObject({
      code: 'bad-store',
      message: expect.stringMatching(/^[^\n]+\.$/),
    })
    expect(readFileSync(text, 'utf8')).toContain('my notes')
  }, 20_000)

  it('close() cancels what runs, and the workspace is whole', async () => {
    const other = await serve(api.options('d'))
    const headers = { authorization: `Bearer ${other.token}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ model: MODEL, batch: 2000 })
    await fetch(`http://127.0.0.1:${other.port}/api/jobs/scan`, { method: 'POST', headers, body })
    await new Promise((resolve) => setTimeout(resolve, 300))
    const before = Date.now()
    await other.close()
    expect(Date.now() - before).toBeLessThan(4000)
    await (await serve(api.options('d'))).close()
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
         const child = spawn(process.execPath, ${JSON.stringify([paths.engine, JSON.stringify(api.options('e'))])}, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
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
