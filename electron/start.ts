/**
 * `npm start`: builds what is stale and opens the desktop app; where Electron or a display is missing it says why in
 * one line and serves to the browser instead. `--browser` goes there at once, `--retry-electron` fetches Electron
 * again, `--port N` fixes the browser's port; folders are opened in the desktop app.
 */
import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { serve } from '../core/api/serve.ts'
import { defaultCacheDir } from '../core/checkpoint/cache.ts'
import { whyNoRuntime } from '../core/cli/host.ts'
import { sentence } from '../core/errors.ts'
import { defaultStorePath } from '../core/store/default-path.ts'
import { build } from './build.ts'
import { electronBinary } from './electron-binary.ts'
import { endOnSignals } from './engine.ts'
import { projectPaths } from './paths.ts'

/** A desktop app that ends with an error this soon has not started, in ms. */
const EARLY = 10_000

const paths = projectPaths()
try {
  process.exitCode = await main()
} catch (error) {
  console.error(sentence(error))
  process.exitCode = 1
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      browser: { type: 'boolean', default: false },
      'retry-electron': { type: 'boolean', default: false },
      port: { type: 'string' },
    },
  })
  const why = whyNoRuntime()
  if (why !== null) {
    console.error(why)
    return 1
  }
  const problem = values.browser ? null : await desktop(values['retry-electron'], positionals)
  if (problem === 'done') return 0
  if (problem !== null) console.log(`${problem}: serving to the browser instead.`)
  await browser(values.port === undefined ? 'usual' : Number(values.port))
  return 0
}

/** Runs the desktop app until it is closed ('done'), or says in one line why it cannot. */
async function desktop(retry: boolean, folders: readonly string[]): Promise<string> {
  if (process.platform === 'linux' && !process.env.DISPLAY && !process.env.WAYLAND_DISPLAY) {
    return 'There is no display (neither DISPLAY nor WAYLAND_DISPLAY is set)'
  }
  const binary = await electronBinary({
    folder: join(paths.root, 'node_modules', 'electron'),
    memory: join(defaultCacheDir(), 'electron.json'),
    retry,
    say: progress,
  })
  if ('problem' in binary) return binary.problem
  await build()
  return run(binary.path, folders)
}

function run(program: string, folders: readonly string[]): Promise<string> {
  const began = Date.now()
  const child = spawn(program, [join(paths.shell, 'main.js'), ...folders], {
    stdio: ['inherit', 'inherit', 'pipe'],
  })
  let words = ''
  child.stderr.on('data', (text: Buffer) => {
    words = (words + text.toString()).slice(-4000)
    process.stderr.write(text)
  })
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(`Electron did not start (${error.message})`))
    child.once('exit', (code, signal) => {
      const failed = code !== 0 && Date.now() - began < EARLY
      resolve(failed ? `Electron did not start (${reason(words) ?? signal ?? `exit ${code}`})` : 'done')
    })
  })
}

function reason(words: string): string | undefined {
  const lines = words.split('\n').filter((line) => line.trim() !== '')
  return lines
    .at(-1)
    ?.replace(/^\[[^\]]*\]\s*/, '')
    .slice(0, 160)
}

async function browser(port: number | 'usual'): Promise<void> {
  await build(['renderer'])
  const storePath = defaultStorePath()
  const serving = await serve({
    port,
    storePath,
    bundledDir: paths.models,
    rendererDir: paths.renderer,
    dataDir: dirname(storePath),
  })
  endOnSignals(serving)
  console.log(`Headscope is at ${serving.url}\nCtrl-C ends it.`)
}

/** Progress on one line of a terminal; a log gets the first line only. */
function progress(line: string): void {
  if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K${line}${line.endsWith('…') ? '\n' : ''}`)
  else if (line.endsWith('…')) console.log(line)
}
