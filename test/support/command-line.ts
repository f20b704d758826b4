/** The real launcher as a child process. In: arguments. Out: exit code and output. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '..', '..')
export const LAUNCHER = join(ROOT, 'core', 'cli', 'headscope.mjs')

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface CommandLine {
  /** Runs to the end. */
  (...args: string[]): Promise<Ended>
  /** Starts it; `ended` tells the rest. */
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
  return Object.assign((...args: string[]) => start(args).ended, { start })
}
