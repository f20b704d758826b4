/** A real engine of its own for a test or a picture: a child process on a fresh workspace. In: options. Out: its URL. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { ServeOptions } from '../../core/api/serve.ts'
import type { EngineMessage } from '../../electron/engine.ts'
import { projectPaths } from '../../electron/paths.ts'

export interface AppEngine {
  /** With the token: the first address to open. */
  readonly url: string
  /** Folder that is removed at the end; the workspace is in it. */
  readonly folder: string
  /** Ends at once, as after a crash; the folder stays. */
  kill(): Promise<void>
  close(): Promise<void>
}

/** Starts the engine that the app starts, on the bundled models and the built pages; again on a folder and a port. */
export async function startAppEngine(
  again: { readonly folder?: string; readonly port?: number } = {},
): Promise<AppEngine> {
  const paths = projectPaths()
  const folder = again.folder ?? mkdtempSync(join(tmpdir(), 'headscope-app-'))
  const options: ServeOptions = {
    storePath: join(folder, 'workspace.db'),
    bundledDir: paths.models,
    rendererDir: paths.renderer,
    dataDir: folder,
    cacheDir: join(folder, 'cache'),
    ...(again.port === undefined ? {} : { port: again.port }),
  }
  const child = spawn(process.execPath, [paths.engine, JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const message = await new Promise<EngineMessage>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', (line) =>
      resolve(JSON.parse(line) as EngineMessage),
    )
    child.once('exit', (code) => reject(new Error(`The engine ended with ${code} before it was ready.`)))
  })
  if (message.type === 'failed') throw new Error(message.message)
  return {
    url: message.url,
    folder,
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
    async close() {
      child.stdin.end() // it ends when its parent lets go
      await exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
