/** The real engine on the bundled checkpoints, over a real port, with hono's typed client: what API tests begin with. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hc } from 'hono/client'
import type { AppType } from '../../core/api/app.ts'
import type { ApiError, JobEvent } from '../../core/api/contract.ts'
import { type ServeOptions, type Serving, serve } from '../../core/api/serve.ts'
import { projectPaths } from '../../electron/paths.ts'

export const MODEL = 'induction-2l'
export const paths = projectPaths()

export interface Api {
  readonly folder: string
  readonly serving: Serving
  readonly client: ReturnType<typeof hc<AppType>>
  /** Serve options for another engine in this test's folder. */
  options(name: string): ServeOptions
  /** A request with the token, outside of the typed client. */
  raw(path: string, init?: RequestInit): Promise<Response>
  /** Every event of a job, once it has ended. */
  eventsOf<R>(job: number): Promise<JobEvent<R>[]>
  /** The result of a job that was started. Throws when it ended otherwise. */
  resultOf<R>(started: Promise<{ json(): Promise<{ job: number }> }>): Promise<R>
  close(): Promise<void>
}

/** Starts the engine on an empty workspace. */
export async function startApi(): Promise<Api> {
  const folder = mkdtempSync(join(tmpdir(), 'headscope-api-'))
  const options = (name: string): ServeOptions => ({
    storePath: join(folder, name, 'work.db'),
    cacheDir: join(folder, 'cache'),
    bundledDir: paths.models,
    rendererDir: join(folder, 'no-pages'),
    threads: 1,
  })
  const serving = await serve(options('a'))
  const origin = `http://127.0.0.1:${serving.port}`
  const headers = { authorization: `Bearer ${serving.token}`, 'content-type': 'application/json' }
  const raw = (path: string, init: RequestInit = {}) => fetch(origin + path, { ...init, headers })

  async function eventsOf<R>(job: number): Promise<JobEvent<R>[]> {
    const text = await (await raw(`/api/jobs/${job}/events`)).text()
    const lines = text.split('\n').filter((line) => line.startsWith('data: '))
    return lines.map((line) => JSON.parse(line.slice(6)) as JobEvent<R>)
  }

  async function resultOf<R>(started: Promise<{ json(): Promise<{ job: number }> }>): Promise<R> {
    const { job } = await (await started).json()
    const last = (await eventsOf<R>(job)).at(-1)!
    if (last.type !== 'done') throw new Error(JSON.stringify(last))
    return last.result
  }

  return {
    folder,
    serving,
    client: hc<AppType>(origin, { headers: { authorization: headers.authorization } }),
    options,
    raw,
    eventsOf,
    resultOf,
    async close() {
      await serving.close()
      rmSync(folder, { recursive: true })
    },
  }
}

/** What the server answered, of a response that must be an error. */
export async function errorOf(response: Promise<{ readonly status: number; json(): Promise<unknown> }>) {
  const answer = await response
  return { status: answer.status, ...((await answer.json()) as ApiError).error }
}
