/**
 * The engine: HTTP server, compute worker and workspace put together. In: paths and a port. Out: a URL with its token.
 * The worker opens the workspace first (it makes and migrates the file), then the server reads it. Costs one thread
 * and one port; nothing is loaded before it is asked for.
 */
import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { createApp } from './app.ts'
import { createCatalogue, natural } from './catalogue.ts'
import { createComputeClient } from './compute/client.ts'
import type { ComputeMethods } from './compute/methods.ts'
import type { WorkerData } from './compute/worker-data.ts'
import type { About } from './contract.ts'
import { createJobQueue } from './job-queue.ts'
import { HOST, listen, listenAsUsual } from './listen.ts'
import { parts } from './parts.ts'
import type { WorkspaceReads } from './workspace.ts'

export interface ServeOptions {
  /** The workspace database; made when it is not there. */
  readonly storePath: string
  /** Folder of the bundled checkpoints, or null for none. */
  readonly bundledDir: string | null
  /** Folder of the built pages. */
  readonly rendererDir: string
  /** A folder whose checkpoints fill the library. */
  readonly library?: string | null
  /** A free port when absent or 0; `usual`: the same one every time, where it is free. */
  readonly port?: number | 'usual'
  /** A random one when absent. */
  readonly token?: string
  /** Where recents are kept; beside the workspace when absent. */
  readonly dataDir?: string
  readonly cacheDir?: string
  readonly threads?: number
  /** Where models are computed, as devices.ts names it; default cpu. */
  readonly device?: string
  /** Text whose opening a fresh app shows twice; the first .txt file of `bundledDir` when absent. */
  readonly startText?: string
}

export interface Serving {
  /** Opens the app in a browser: carries the token. */
  readonly url: string
  readonly port: number
  readonly token: string
  /** Cancels what runs, waits for it, and releases every file. */
  close(): Promise<void>
}

/** What the server is put together from; `parts.ts` has the real ones. */
export interface ServeParts {
  /** File of the compute worker: see compute/worker.ts. */
  readonly worker: URL
  readonly facts: Pick<About, 'headscope' | 'onnxruntime' | 'families'>
  /** Opens an existing workspace for reading. */
  openWorkspace(path: string): WorkspaceReads
}

/** Starts the engine with its real parts: see serveWith. */
export function serve(options: ServeOptions): Promise<Serving> {
  return serveWith(parts, options)
}

/** Starts everything. Throws one sentence when the workspace, the port or a folder does not fit; nothing stays open. */
export async function serveWith(parts: ServeParts, options: ServeOptions): Promise<Serving> {
  const { storePath, bundledDir, rendererDir, library = null } = options
  const dataDir = options.dataDir ?? dirname(storePath)
  const threads = options.threads ?? availableParallelism()
  const token = options.token ?? randomBytes(24).toString('base64url')
  const workerData: WorkerData = {
    storePath,
    threads,
    device: options.device ?? 'cpu',
    ...(options.cacheDir && { cacheDir: options.cacheDir }),
  }
  const compute = createComputeClient<ComputeMethods>(parts.worker, workerData, 'close')
  const jobs = createJobQueue()
  let workspace: WorkspaceReads | null = null
  try {
    await compute.call('ready', {})
    workspace = parts.openWorkspace(storePath)
    const app = createApp({
      about: {
        ...parts.facts,
        node: process.versions.node,
        platform: `${process.platform} ${process.arch}`,
        device: options.device ?? 'cpu',
        threads,
        store: storePath,
      },
      startText: options.startText ?? (await firstText(bundledDir)),
      catalogue: createCatalogue({ bundledDir, library, dataDir }),
      workspace,
      compute,
      jobs,
      rendererDir,
      token,
    })
    const answer = (request: Request) => app.fetch(request)
    const listening = await (options.port === 'usual' ? listenAsUsual(answer) : listen(answer, options.port))
    const { port } = listening
    const reads = workspace
    return {
      url: `http://${HOST}:${port}/?token=${token}`,
      port,
      token,
      async close() {
        jobs.cancelAll()
        await listening.close()
        await compute.close()
        reads.close()
      },
    }
  } catch (error) {
    await compute.close()
    workspace?.close()
    throw error
  }
}

async function firstText(folder: string | null): Promise<string | null> {
  if (folder === null) return null
  const names = await readdir(folder).catch(() => [])
  const name = names.filter((file) => file.endsWith('.txt')).sort(natural)[0]
  return name === undefined ? null : readFile(join(folder, name), 'utf8')
}
