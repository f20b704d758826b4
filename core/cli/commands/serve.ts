/** `headscope serve`: the app in a browser, on this machine only. Costs the engine: one process, one port. */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { HeadscopeError } from '../../errors.ts'
import { command, type Place } from '../command.ts'
import { ENGINE_OPTIONS, STORE_OPTIONS } from '../options.ts'

export const serve = command({
  name: 'serve',
  usage: '[options]',
  summary: 'The app in a browser: prints one URL with its token, and serves until Ctrl-C',
  detail:
    'Listens on 127.0.0.1 only. On a remote machine, tunnel the port, to any port here (ssh -L 4000:127.0.0.1:8571 host), and open the URL with the port of this side.',
  examples: ['headscope serve', 'headscope serve --port 4000 --library ~/checkpoints'],
  options: {
    port: { type: 'whole', value: 'N', help: 'port on 127.0.0.1 (default: 8571, or a free one)' },
    library: { type: 'text', value: 'DIR', help: 'folder whose checkpoints fill the library' },
    ...STORE_OPTIONS,
    ...ENGINE_OPTIONS,
  },
  takes: [0, 0],
  async run({ values, place, out, signal }) {
    const [{ requireRuntime, threadsOf }, { storePath }, { bundledFolder }] = await Promise.all([
      import('../runtime.ts'),
      import('../store.ts'),
      import('../models.ts'),
    ])
    requireRuntime()
    const threads = threadsOf(values.threads)
    const { requireDevice } = await import('../../run/devices.ts')
    const device = await requireDevice(values.device ?? 'cpu')
    const library = values.library === undefined ? null : resolve(values.library)
    if (library !== null && !statSync(library, { throwIfNoEntry: false })?.isDirectory())
      throw new HeadscopeError(
        'not-found',
        `The folder ${library} ${existsSync(library) ? 'is a file' : 'does not exist'}; name an existing folder with --library.`,
      )
    const kept = storePath(values)
    const temporary = kept === null ? mkdtempSync(join(tmpdir(), 'headscope-')) : null
    try {
      const rendererDir = await builtPages(place, signal)
      const api = await import('../../api/serve.ts')
      const store = kept ?? join(temporary!, 'workspace.db')
      const serving = await api.serve({
        storePath: store,
        bundledDir: bundledFolder(place),
        rendererDir,
        library,
        dataDir: dirname(store),
        port: values.port ?? 'usual',
        ...threads,
        device,
      })
      if (out.json) out.document({ url: serving.url, port: serving.port, store, warnings: [] })
      else out.line(serving.url)
      if (process.stderr.isTTY)
        process.stderr.write(`Open this in a browser. Workspace: ${store}. Ctrl-C ends it.\n`)
      await until(signal)
      await serving.close()
      return 130
    } finally {
      if (temporary !== null) rmSync(temporary, { recursive: true, force: true })
    }
  },
})

// --- Internal helpers ---

/** The folder of the built pages; a fresh clone builds them first (about 2 s). */
async function builtPages({ root }: Place, signal: AbortSignal): Promise<string> {
  const folder = join(root, 'renderer', 'dist')
  if (existsSync(join(folder, 'index.html'))) return folder
  const script = join(root, 'electron', 'build.ts')
  const missing = new HeadscopeError(
    'not-found',
    'The pages of the app are not built: run npm run build in its folder first.',
  )
  if (!existsSync(script)) throw missing
  const built = spawn(process.execPath, [...process.execArgv, script], { stdio: 'ignore', cwd: root, signal })
  await new Promise<void>((done) => built.once('exit', () => done()).once('error', () => done()))
  if (!existsSync(join(folder, 'index.html'))) throw missing
  return folder
}

function until(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (signal.aborted) done()
    else signal.addEventListener('abort', () => done(), { once: true })
  })
}
