/**
 * The command line in a process beside the tests: a warm one that runs one command after the other, or the launcher
 * itself. In: arguments. Out: exit code and output.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Ask } from './command-child.ts'

export const ROOT = join(import.meta.dirname, '..', '..')
export const LAUNCHER = join(ROOT, 'core', 'cli', 'headscope.mjs')

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface CommandLine {
  /** Runs to the end, in the warm process. */
  (...args: string[]): Promise<Ended>
  /** Starts the real launcher; `ended` tells the rest. */
  start(
    args: readonly string[],
    options?: { cwd?: string; node?: string; env?: NodeJS.ProcessEnv },
  ): { child: ChildProcess; ended: Promise<Ended> }
}

/** A command line whose workspace and cache lie in `folder`, which is also where it is called from. */
export function commandLine(folder: string): CommandLine {
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    HEADSCOPE_DATA: join(folder, 'data'),
    HEADSCOPE_CACHE: join(folder, 'cache'),
    FORCE_COLOR: undefined,
    NODE_OPTIONS: undefined,
  }
  const start: CommandLine['start'] = (
    args,
    { cwd = folder, node = process.execPath, env: own = {} } = {},
  ) => {
    const child = spawn(node, [LAUNCHER, ...args], {
      cwd,
      env: { ...env, ...own },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let stdout = ''
    let stderr = ''
    child.stdout!.setEncoding('utf8').on('data', (part: string) => (stdout += part))
    child.stderr!.setEncoding('utf8').on('data', (part: string) => (stderr += part))
    const ended = new Promise<Ended>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code) => resolve({ code, stdout, stderr }))
    })
    return { child, ended }
  }
  const run = (...args: string[]): Promise<Ended> => {
    if (pending) return start(args).ended // one at a time; what runs beside it has a process of its own
    warm ??= startWarm()
    warm.send({ args, cwd: folder, env: JSON.parse(JSON.stringify(env)), root: ROOT } satisfies Ask)
    return new Promise((resolve) => (pending = resolve))
  }
  return Object.assign(run, { start })
}

// --- Internal helpers ---

let warm: ChildProcess | null = null
let pending: ((ended: Ended) => void) | null = null

/** It ends with the worker of the tests, whose channel closes then. */
function startWarm(): ChildProcess {
  const child = fork(join(import.meta.dirname, 'command-child.ts'), {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const end = (ended: Ended) => {
    pending?.(ended)
    pending = null
  }
  child.on('message', (ended: Ended) => end(ended))
  child.once('exit', (code) => {
    warm = null
    end({ code, stdout: '', stderr: 'The command ended its process.' })
  })
  child.unref()
  child.channel?.unref()
  return child
}
