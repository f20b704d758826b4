/**
 * A Slurm cluster of one node, for tests: the real daemons of the system's packages (Debian: slurm-wlm), run by this
 * user in a folder of their own, on ports of their own. In: a folder. Out: a cluster that takes jobs, or why not.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { accessSync, chmodSync, constants, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { availableParallelism, hostname, userInfo } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'

const DAEMONS = ['munged', 'slurmctld', 'slurmd']
const PROGRAMS = [...DAEMONS, 'sbatch', 'sinfo', 'scancel', 'squeue']
/** Daemons lie where only root looks. */
const PATH = [process.env.PATH ?? '', '/usr/sbin', '/usr/local/sbin'].join(delimiter)

/** How long the node may take until it accepts jobs, in ms. */
const PATIENCE = 30_000

export interface Cluster {
  /** Runs one of Slurm's programs in `folder`; its output. */
  run(program: string, args: readonly string[], env?: Record<string, string>): Promise<string>
  stop(): Promise<void>
}

/** Why there can be no cluster here; null where all programs are there. */
export function whyNoSlurm(): string | null {
  if (process.platform !== 'linux') return 'Slurm runs on Linux'
  const missing = PROGRAMS.filter((name) => !found(name))
  return missing.length > 0
    ? `Slurm is not installed (no ${missing.join(', ')}; on Debian: apt-get install slurm-wlm)`
    : null
}

/** Starts the cluster; a string says why it did not start. */
export async function startSlurm(folder: string): Promise<Cluster | string> {
  const [ctld, slurmd] = [await freePort(), await freePort()]
  for (const name of ['state', 'spool']) mkdirSync(join(folder, name))
  chmodSync(folder, 0o755)
  const key = join(folder, 'munge.key')
  writeFileSync(key, randomBytes(128), { mode: 0o600 })
  const socket = join(folder, 'munge.socket')
  const conf = join(folder, 'slurm.conf')
  writeFileSync(conf, config(folder, socket, ctld, slurmd))
  const env = { ...process.env, PATH, SLURM_CONF: conf }
  const children: { name: string; child: ChildProcess; words: () => string }[] = []
  const daemon = (name: string, args: readonly string[]) => {
    const child = spawn(name, args, { env, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
    let words = ''
    child.on('error', (error) => (words += error.message))
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (words = (words + text).slice(-2000)))
    children.push({ name, child, words: () => words })
  }
  const stop = async () => {
    for (const { child } of [...children].reverse()) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      const gone = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      const kill = globalThis.setTimeout(() => child.kill('SIGKILL'), 5000)
      await gone
      clearTimeout(kill)
    }
  }
  const run: Cluster['run'] = async (program, args, more = {}) =>
    (await promisify(execFile)(program, args, { env: { ...env, ...more }, cwd: folder })).stdout

  const place = (name: string) => join(folder, `munged.${name}`)
  daemon('munged', [
    '--foreground',
    '--force',
    `--socket=${socket}`,
    `--key-file=${key}`,
    ...['pid', 'log', 'seed'].map((name) => `--${name}-file=${place(name)}`),
  ])
  await setTimeout(500)
  daemon('slurmctld', ['-D'])
  daemon('slurmd', ['-D'])
  for (const began = Date.now(); Date.now() - began < PATIENCE; await setTimeout(250)) {
    const dead = children.find(({ child }) => child.exitCode !== null)
    if (dead) {
      await stop()
      return `${dead.name} did not start: ${lastLine(dead.words())}`
    }
    const state = await run('sinfo', ['--noheader', '--format=%T']).catch(() => '')
    if (state.trim() === 'idle') return { run, stop }
  }
  await stop()
  return `the node took no jobs within ${PATIENCE / 1000} s: ${lastLine(log(folder))}`
}

// --- Internal helpers ---

function config(folder: string, socket: string, ctld: number, slurmd: number): string {
  const user = userInfo().username
  const host = hostname().split('.')[0]
  return `ClusterName=headscope
SlurmctldHost=${host}(127.0.0.1)
SlurmctldPort=${ctld}
SlurmdPort=${slurmd}
SlurmUser=${user}
SlurmdUser=${user}
AuthType=auth/munge
AuthInfo=socket=${socket}
StateSaveLocation=${folder}/state
SlurmdSpoolDir=${folder}/spool
SlurmctldPidFile=${folder}/slurmctld.pid
SlurmdPidFile=${folder}/slurmd.pid
SlurmctldLogFile=${folder}/slurmctld.log
SlurmdLogFile=${folder}/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,batch_sched_delay=0
KillWait=2
ReturnToService=2
NodeName=${host} NodeAddr=127.0.0.1 CPUs=${availableParallelism()} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`
}

function found(program: string): boolean {
  return PATH.split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return folder !== ''
    } catch {
      return false
    }
  })
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  const { port } = server.address() as { port: number }
  await new Promise((closed) => server.close(closed))
  return port
}

function log(folder: string): string {
  try {
    return readFileSync(join(folder, 'slurmctld.log'), 'utf8')
  } catch {
    return ''
  }
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) || 'it said nothing'
}
