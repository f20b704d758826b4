/**
 * Who writes a run: host, process id and the time that process began, so that a process id that was given again
 * does not pass for the writer. In: the row. Out: whether that writer still lives.
 * Linux reads /proc (start time in clock ticks, and the boot it counts from); macOS asks ps; elsewhere only the
 * existence of the process is known, and our own start time.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

export interface WriterProcess {
  readonly host: string
  readonly pid: number
  readonly start: string
}

/** This process. */
export function thisProcess(): WriterProcess {
  return (own ??= { host: hostName(), pid: process.pid, start: startOf(process.pid) ?? 'unknown' })
}
let own: WriterProcess | undefined

/**
 * True while the writer runs. A writer on another host cannot be looked at from here: it counts as living for seven
 * days after `created`.
 */
export function isAlive(writer: WriterProcess, created: string): boolean {
  const self = thisProcess()
  if (writer.host !== self.host) return Date.now() - Date.parse(created) < 7 * 86_400_000
  if (writer.pid === self.pid) return writer.start === self.start
  const start = startOf(writer.pid)
  if (start === null) return false
  return start === 'unknown' || writer.start === 'unknown' || start === writer.start
}

// --- Internal helpers ---

/** When a process began; null when there is none (a zombie is none), 'unknown' when the system does not say. */
function startOf(pid: number): string | null {
  if (process.platform === 'linux') return linuxStart(pid)
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return null
  }
  if (process.platform === 'darwin') {
    const listed = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      env: { LC_ALL: 'C' },
    })
    return listed.status === 0 && listed.stdout.trim() ? listed.stdout.trim() : 'unknown'
  }
  return pid === process.pid ? String(Math.round(Date.now() / 1000 - process.uptime())) : 'unknown'
}

function linuxStart(pid: number): string | null {
  let stat: string
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return null
  }
  // The command in brackets may hold spaces and brackets: fields are counted after the last one.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (fields[0] === 'Z' || fields[0] === 'X') return null
  return `${bootId()} ${fields[19]}`
}

function bootId(): string {
  return (boot ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim())
}
let boot: string | undefined

/** Containers may share a host name, but not a space of process ids. */
function hostName(): string {
  if (process.platform !== 'linux') return hostname()
  try {
    return `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return hostname()
  }
}
