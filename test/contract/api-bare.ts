/** The app on a real port with nothing behind it: for who may ask, and for how errors and open streams are handled. */
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApp } from '../../core/api/app.ts'
import { createCatalogue } from '../../core/api/catalogue.ts'
import type { ApiDeps } from '../../core/api/deps.ts'
import { createJobQueue } from '../../core/api/job-queue.ts'
import { listen } from '../../core/api/listen.ts'
import { HeadscopeError } from '../../core/errors.ts'

export const TOKEN = 'a-token-of-this-test'
export const bearer = { authorization: `Bearer ${TOKEN}` }
export const json = { ...bearer, 'content-type': 'application/json' }

export interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
}

/** A request as raw as Node lets us: the path is not cleaned, Host and Origin are what we say. */
export function ask(
  port: number,
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

export type BareApi = Awaited<ReturnType<typeof startBareApi>>

/** Starts it. Pages are a small folder; no run exists; questions to the engine are never answered, only counted. */
export async function startBareApi() {
  const folder = await mkdtemp(join(tmpdir(), 'headscope-security-'))
  const rendererDir = join(folder, 'dist')
  const queue = createJobQueue()
  const signals: AbortSignal[] = []
  let following = 0
  const absent = (): never => {
    throw new HeadscopeError('not-found', 'There is no run 7.')
  }
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
      edgesAt: absent,
      newestScan: () => null,
      headNotes: () => [],
      figures: () => [],
      editStack: absent,
      figure: absent,
      experiments: () => [],
      analyses: () => [],
      editStacks: () => [],
      analysis: absent,
      experiment: absent,
      search: absent,
      use: absent,
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
  }
  const app = createApp(deps)
  const server = await listen((incoming) => app.fetch(incoming))
  const { port } = server
  return {
    folder,
    port,
    address: server.address,
    queue,
    /** Of every question that was put to the engine. */
    signals,
    /** Streams of events that are open. */
    following: () => following,
    async close() {
      await server.close()
      await rm(folder, { recursive: true })
    },
  }
}
