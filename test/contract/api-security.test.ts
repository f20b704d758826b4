/** Who may use the server, and what its pages may do. Real sockets, the real app; the engine behind it is not asked. */
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createApp } from '../../core/api/app.ts'
import { createCatalogue } from '../../core/api/catalogue.ts'
import type { ApiDeps } from '../../core/api/deps.ts'
import { createJobQueue } from '../../core/api/job-queue.ts'
import { type Listening, listen } from '../../core/api/listen.ts'
import { HeadscopeError } from '../../core/errors.ts'

const TOKEN = 'a-token-of-this-test'
let folder: string
let server: Listening
let port = 0
const queue = createJobQueue()
/** Streams of events that are open. */
let following = 0
/** Of every question that was put to the engine; none is answered. */
const signals: AbortSignal[] = []

const absent = (): never => {
  throw new HeadscopeError('not-found', 'There is no run 7.')
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headscope-security-'))
  const rendererDir = join(folder, 'dist')
  await mkdir(join(rendererDir, 'assets'), { recursive: true })
  await writeFile(join(rendererDir, 'index.html'), '<!doctype html><title>the app</title>')
  await writeFile(join(rendererDir, 'assets', 'main-1.js'), 'export {}')
  await writeFile(join(folder, 'secret.txt'), 'words of no page')
  await symlink(join(folder, 'secret.txt'), join(rendererDir, 'link.txt'))
  const deps: ApiDeps = {
    about: {
      headscope: '0',
      node: '24',
      onnxruntime: '1',
      platform: 'test',
      device: 'cpu',
      threads: 1,
      store: 'work.db',
      families: [],
    },
    startText: null,
    catalogue: createCatalogue({ bundledDir: null, dataDir: folder }),
    workspace: {
      prompts: () => [],
      runs: () => [],
      run: absent,
      pattern: absent,
      thumbnails: absent,
      residual: absent,
      newestScan: () => null,
      sql: async () => {
        throw new TypeError('x is not a function')
      },
      close: () => {},
    },
    compute: {
      call: (_method, _input, options) => {
        signals.push(options!.signal!)
        return new Promise(() => {})
      },
      close: async () => {},
    },
    jobs: {
      ...queue,
      follow(job, listener) {
        const leave = queue.follow(job, listener)
        following++
        return () => {
          following--
          leave()
        }
      },
    },
    rendererDir,
    token: TOKEN,
    port: () => port,
  }
  const app = createApp(deps)
  server = await listen((incoming) => app.fetch(incoming))
  port = server.port
})

afterAll(async () => {
  await server.close()
  await rm(folder, { recursive: true })
})

interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
}

/** A request as raw as Node lets us: the path is not cleaned, Host and Origin are what we say. */
function ask(
  path: string,
  headers: Record<string, string> = {},
  { method = 'GET', body }: { method?: string; body?: string } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, method, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (part: string) => (text += part))
      response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, text }))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

const bearer = { authorization: `Bearer ${TOKEN}` }
const json = { ...bearer, 'content-type': 'application/json' }

describe('the token', () => {
  it('is needed for the API and for pages', async () => {
    for (const path of ['/api/about', '/', '/assets/main-1.js']) {
      const answer = await ask(path)
      expect(answer.status).toBe(401)
      expect(JSON.parse(answer.text).error.message).toMatch(/needs its token/)
    }
    expect((await ask('/api/about', { authorization: 'Bearer wrong' })).status).toBe(401)
    expect((await ask('/?token=wrong')).status).toBe(401)
  })

  it('in the URL once becomes a strict cookie, and the URL loses it', async () => {
    const first = await ask(`/models/x?token=${TOKEN}&head=L1H3`)
    expect(first.status).toBe(302)
    expect(first.headers.location).toBe('/models/x?head=L1H3')
    const cookie = String(first.headers['set-cookie'])
    expect(cookie).toMatch(/HttpOnly/i)
    expect(cookie).toMatch(/SameSite=Strict/i)
    const page = await ask('/', { cookie: cookie.split(';')[0]! })
    expect(page.status).toBe(200)
    expect(page.text).toContain('the app')
  })

  it('does not send a visitor to another server, and works from a link elsewhere', async () => {
    expect((await ask(`//evil.example/?token=${TOKEN}`)).headers.location).not.toMatch(/^\/\//)
    const linked = await ask(`/?a="><b&token=${TOKEN}`, { 'sec-fetch-site': 'cross-site' })
    expect(linked.status).toBe(200)
    expect(linked.text).toContain('http-equiv="refresh"')
    expect(linked.text).not.toContain('<b')
  })

  it('is not taken from the URL by the API', async () => {
    expect((await ask(`/api/about?token=${TOKEN}`)).status).toBe(401)
  })
})

describe('Host and Origin', () => {
  it('must be ours', async () => {
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      '127.0.0.1:1',
      `127.0.0.1.evil.example:${port}`,
    ]) {
      expect((await ask('/api/about', { ...bearer, host })).status).toBe(403)
    }
    for (const origin of [
      'http://evil.example',
      'null',
      `http://127.0.0.1:${port + 1}`,
      `https://127.0.0.1:${port}`,
    ]) {
      expect((await ask('/api/about', { ...bearer, origin })).status).toBe(403)
    }
    expect((await ask('/api/about', { ...bearer, 'sec-fetch-site': 'same-site' })).status).toBe(403)
  })

  it('may be any name of this machine', async () => {
    for (const name of ['127.0.0.1', 'localhost', '[::1]']) {
      const host = `${name}:${port}`
      expect((await ask('/api/about', { ...bearer, host, origin: `http://${host}` })).status).toBe(200)
    }
  })

  it('listens on loopback only', async () => {
    expect(server.address).toBe('127.0.0.1')
    const outside = Object.values(networkInterfaces())
      .flat()
      .filter((address) => address && !address.internal && address.family === 'IPv4')
    for (const address of outside)
      await expect(fetch(`http://${address!.address}:${port}/`)).rejects.toThrow()
  })
})

describe('pages', () => {
  it('have a strict content security policy and no sniffing', async () => {
    const page = await ask('/some/screen?of=the-app', bearer)
    expect(page.status).toBe(200)
    expect(page.text).toContain('the app')
    const policy = String(page.headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("script-src 'self';")
    expect(page.headers['x-content-type-options']).toBe('nosniff')
    expect(page.headers['referrer-policy']).toBe('no-referrer')
    expect((await ask('/api/about', bearer)).headers['x-content-type-options']).toBe('nosniff')
  })

  it('come from the built folder only', async () => {
    for (const path of [
      '/../secret.txt',
      '/%2e%2e/secret.txt',
      '/..%2fsecret.txt',
      '/assets/..%2f..%2fsecret.txt',
      '/..%5csecret.txt',
      '/%00',
      '/link.txt',
      '/%',
    ]) {
      const answer = await ask(path, bearer)
      expect(answer.text, path).not.toContain('words of no page')
      expect([403, 404], path).toContain(answer.status)
    }
    expect((await ask('/..%2fsecret.txt', bearer)).status).toBe(403)
  })

  it('that are missing are 404, except screens of the app', async () => {
    expect((await ask('/assets/none.js', bearer)).status).toBe(404)
    const script = await ask('/assets/main-1.js', bearer)
    expect(script.headers['content-type']).toMatch(/javascript/)
    expect(script.headers['cache-control']).toMatch(/immutable/)
  })
})

describe('errors', () => {
  const errorOf = async (answer: Promise<Answer>) => {
    const { status, text } = await answer
    return { status, ...(JSON.parse(text) as { error: { code: string; message: string } }).error }
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
    expect(await errorOf(ask(`/api/folders?path=${join(folder, 'none')}`, bearer))).toMatchObject({
      status: 404,
      message: `The folder ${join(folder, 'none')} does not exist.`,
    })
  })

  it('name the field that does not fit', async () => {
    const post = (path: string, body: string, headers = json) =>
      errorOf(ask(path, headers, { method: 'POST', body }))
    expect(await post('/api/tokenize', '{"model":"m","text":1,"bos":"auto"}')).toMatchObject({
      status: 400,
      message: expect.stringMatching(/^The field "text" of this request does not fit: [^\n]+\.$/),
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
  const body = JSON.stringify({ model: folder, prompt: { ids: [1] }, max: 1000 })
  const url = `http://127.0.0.1:${port}/api/generate`
  const asked = fetch(url, { method: 'POST', headers: json, body, signal: stop.signal })
  await vi.waitFor(() => expect(signals).toHaveLength(1))
  expect(signals[0]!.aborted).toBe(false)
  stop.abort()
  await expect(asked).rejects.toThrow()
  await vi.waitFor(() => expect(signals[0]!.aborted).toBe(true))
})

it('a stream of events is left when its listener goes away', async () => {
  const job = queue.start('without an end', () => new Promise(() => {}))
  const stop = new AbortController()
  const answer = await fetch(`http://127.0.0.1:${port}/api/jobs/${job}/events`, {
    headers: bearer,
    signal: stop.signal,
  })
  const first = await answer.body!.getReader().read()
  expect(new TextDecoder().decode(first.value)).toContain('"label":"without an end"')
  expect(following).toBe(1)
  stop.abort()
  await vi.waitFor(() => expect(following).toBe(0))
})

it('a port in use is one sentence', async () => {
  await expect(listen(() => new Response(), port)).rejects.toMatchObject({
    code: 'in-use',
    message: `The port ${port} on 127.0.0.1 is used by another program: choose another one, or none for a free one.`,
  })
  await expect(listen(() => new Response(), 70000)).rejects.toMatchObject({ code: 'bad-request' })
})
