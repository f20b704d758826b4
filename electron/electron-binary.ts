/**
 * Electron's program, which npm does not bring. In: the project's folder and a place to remember. Out: its path, or why
 * there is none. Electron's own installer fetches it once; a failure is remembered, so that later starts do not wait.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { makeFolder } from '../core/checkpoint/files.ts'

export type ElectronBinary =
  | { readonly path: string }
  /** One line without a full stop. */
  | { readonly problem: string }

export interface FetchOptions {
  /** Folder of the electron package. */
  readonly folder: string
  /** JSON file that remembers a failure. */
  readonly memory: string
  /** Tries although a failure is remembered. */
  readonly retry: boolean
  /** How long nothing may arrive before the download is given up, in ms. */
  readonly patience?: number
  readonly say?: (line: string) => void
  /** Runs the installer; replaced in tests. */
  readonly installer?: string
}

const PATIENCE = 60_000
const LOOK = 500

/** Finds the program or lets the installer fetch it. */
export async function electronBinary(options: FetchOptions): Promise<ElectronBinary> {
  const { folder, memory, retry, say = () => {} } = options
  const found = installed(folder)
  if (found) return { path: found }
  if (!existsSync(join(folder, 'package.json')))
    return { problem: 'Electron is not among the installed packages' }
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }
  const before = remembered(memory)
  if (before?.version === version && !retry) {
    return {
      problem: `Electron ${version} could not be fetched before (${before.reason}); npm start -- --retry-electron tries again`,
    }
  }
  say(`Fetching Electron ${version}, once (about 110 MB) …`)
  const reason = await install(options)
  const path = reason === null ? installed(folder) : null
  if (path) {
    rmSync(memory, { force: true })
    return { path }
  }
  const why = reason ?? 'its installer left no program'
  remember(memory, { version, reason: why })
  return {
    problem: `Electron ${version} could not be fetched (${why}); npm start -- --retry-electron tries again`,
  }
}

/** Path of the program when the installer has finished its work, as Electron's own index.js reads it. */
export function installed(folder: string): string | null {
  try {
    const path = join(folder, 'dist', readFileSync(join(folder, 'path.txt'), 'utf8').trim())
    return existsSync(path) ? path : null
  } catch {
    return null
  }
}

/** Runs the installer; null, or why it failed. */
function install({
  folder,
  installer,
  patience = PATIENCE,
  say = () => {},
}: FetchOptions): Promise<string | null> {
  const scratch = mkdtempSync(join(tmpdir(), 'headscope-electron-'))
  const env = { ...process.env, TMPDIR: scratch, TEMP: scratch, TMP: scratch, ELECTRON_GET_NO_PROGRESS: '1' }
  const child = spawn(process.execPath, [installer ?? join(folder, 'install.js')], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let words = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (words = (words + text).slice(-8000)))
  let bytes = 0
  let moved = Date.now()
  let gaveUp = false
  const timer = setInterval(() => {
    const now = sizeOf(scratch) + sizeOf(join(folder, 'dist'))
    if (now !== bytes) {
      bytes = now
      moved = Date.now()
      say(`Fetching Electron: ${(bytes / 1e6).toFixed(0)} MB`)
    } else if (Date.now() - moved > patience) {
      gaveUp = true
      child.kill()
    }
  }, LOOK)
  return new Promise((resolve) => {
    const end = (reason: string | null) => {
      clearInterval(timer)
      rmSync(scratch, { recursive: true, force: true })
      resolve(reason)
    }
    child.once('error', (error) => end(error.message))
    child.once('close', (code) => {
      if (gaveUp) end(`nothing arrived for ${Math.round(patience / 1000)} s`)
      else end(code === 0 ? null : firstReason(words))
    })
  })
}

/** The line of a stack trace that says what went wrong. */
function firstReason(words: string): string {
  const lines = words.split('\n').map((line) => line.trim())
  const line =
    lines.find((text) => /error/i.test(text) && !text.startsWith('at ')) ?? lines.find((text) => text !== '')
  return (line ?? 'the installer gave no reason').replace(/^\w*Error:\s*/, '').slice(0, 160)
}

function remembered(file: string): { version: string; reason: string } | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return null
  }
}

function remember(file: string, failure: { version: string; reason: string }): void {
  try {
    makeFolder(dirname(file))
    writeFileSync(file, JSON.stringify(failure))
  } catch {
    // A folder that cannot be written to only costs another try next time.
  }
}

function sizeOf(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found) return 0
  if (!found.isDirectory()) return found.size
  try {
    return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0)
  } catch {
    return 0 // the installer removes what it has unpacked
  }
}
