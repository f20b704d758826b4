/**
 * The table of malformed and tricky checkpoints.
 * In: test/fixtures/hostile. Out: its rows, and for each a place where its `setup` has been applied.
 */

import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

export type Outcome = 'accept' | 'warn' | 'reject'

export interface SetupStep {
  readonly op: 'mkdir' | 'copy' | 'symlink' | 'chmod' | 'mkfifo' | 'crlf'
  readonly path: string
  readonly from?: string
  readonly to?: string
  readonly mode?: string
}

export interface HostileRow {
  readonly path: string
  readonly kind: string
  readonly 'what is wrong': string
  readonly must: Outcome
  readonly or?: Outcome
  readonly names: readonly string[]
  readonly names_any?: readonly string[]
  readonly logits?: string | null
  readonly logits_except?: readonly number[]
  readonly texts?: string
  readonly setup?: readonly SetupStep[]
  readonly time_limit_s?: number
}

export interface Reference {
  readonly ids?: readonly number[]
  readonly logits?: readonly (readonly number[])[] // [pos, vocab]
  readonly texts?: { readonly [text: string]: readonly number[] }
}

const root = fileURLToPath(new URL('../fixtures/hostile', import.meta.url))

/** Rows of the table. */
export const hostileRows: readonly HostileRow[] = JSON.parse(
  readFileSync(join(root, 'expected.json'), 'utf8'),
)

export const hostileReference: ReadonlyMap<string, Reference> = new Map(
  Object.entries(JSON.parse(readFileSync(join(root, 'reference.json'), 'utf8')) as Record<string, Reference>),
)

export interface HostilePlace {
  /** What to open. */
  readonly path: string
  /** Removes the copy, if one was made. */
  remove(): void
}

/** Why this system cannot make the row, or null. */
export function cannotMake(row: HostileRow): string | null {
  const ops = new Set(row.setup?.map((step) => step.op))
  if (process.platform === 'win32') {
    for (const op of ['symlink', 'mkfifo', 'chmod'] as const) if (ops.has(op)) return `Windows has no ${op}`
    if (/[<>:"|?*]/.test(row.path)) return 'Windows forbids this name'
  }
  if (row.path === 'folder-unreadable-weights' && process.getuid?.() === 0) return 'root may read every file'
  return null
}

/** Applies the setup of a row in a temporary copy of what it needs. Rows without one are opened in place. */
export function placeOf(row: HostileRow): HostilePlace {
  if (!row.setup) return { path: join(root, row.path), remove: () => {} }
  const copy = mkdtempSync(join(tmpdir(), 'headscope-hostile-'))
  cpSync(join(root, 'good'), join(copy, 'good'), { recursive: true })
  const top = row.path.split('/')[0]!
  if (existsSync(join(root, top))) cpSync(join(root, top), join(copy, top), { recursive: true })
  for (const step of row.setup) apply(copy, step)
  const remove = () => {
    for (const step of row.setup ?? []) if (step.op === 'chmod') chmodSync(join(copy, step.path), 0o755)
    rmSync(copy, { recursive: true, force: true })
  }
  return { path: join(copy, row.path), remove }
}

function apply(base: string, step: SetupStep): void {
  const path = join(base, step.path)
  switch (step.op) {
    case 'mkdir':
      mkdirSync(path, { recursive: true })
      return
    case 'copy':
      cpSync(join(base, step.from!), path, { recursive: true })
      return
    case 'symlink':
      symlinkSync(step.to!, path)
      return
    case 'chmod':
      chmodSync(path, Number.parseInt(step.mode!, 8))
      return
    case 'mkfifo':
      execFileSync('mkfifo', [path])
      return
    case 'crlf':
      writeFileSync(path, readFileSync(path, 'utf8').replace(/\r?\n/g, '\r\n'))
  }
}

/** Every name below a place with its size and time of change: two of these are equal when nothing was written. */
export function snapshot(place: string): string[] {
  const out: string[] = []
  const walk = (path: string): void => {
    const facts = lstatSync(path, { throwIfNoEntry: false })
    if (!facts) return
    const what = facts.isSymbolicLink() ? readlinkSync(path) : `${facts.size} ${facts.mtimeMs} ${facts.mode}`
    out.push(`${path} ${what}`)
    if (!facts.isDirectory()) return
    for (const name of readdirSync(path).sort()) walk(path + sep + name)
  }
  const followed = statSync(place, { throwIfNoEntry: false })
  walk(followed?.isFile() ? join(place, '..') : place)
  return out
}
