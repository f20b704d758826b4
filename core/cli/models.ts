/**
 * MODEL on the command line → folders. In: what a person wrote, and the bundled folder. Out: one checkpoint, or the
 * members of a series. Only names of files are looked at.
 */
import { existsSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { createCatalogue } from '../api/catalogue.ts'
import { isCheckpointFolder, listMembers } from '../checkpoint/series.ts'
import { HeadscopeError } from '../errors.ts'
import type { Place } from './command.ts'

/** A checkpoint to open. */
export interface Chosen {
  readonly path: string
  /** What a person calls it: the bundled name, or the path as written. */
  readonly name: string
  /** Its step when it was taken out of a series, and how many there are. */
  readonly at: string | null
  readonly of: number
}

/**
 * The one checkpoint that is meant; of a series the step `at`, else the last. Relative paths begin at `base`, by default
 * the working folder. Throws not-found or bad-request.
 */
export async function chooseModel(
  name: string,
  at: string | undefined,
  place: Place,
  base = '.',
): Promise<Chosen> {
  const path = await pathOf(name, place, base)
  if (at === undefined && !isSeries(path)) return { path, name, at: null, of: 1 }
  const members = listMembers(path)
  const member = at === undefined ? members.at(-1) : members.find((one) => one.at === at)
  if (member) return { path: member.path, name, at: member.at, of: members.length }
  if (members.length === 0)
    throw new HeadscopeError(
      'bad-request',
      `${name} is not a series of checkpoints, so it has no ${at}; leave --at out.`,
    )
  const steps = members.map((one) => one.at)
  throw new HeadscopeError('not-found', `${name} has no checkpoint ${at}; it has ${listed(steps)}.`)
}

/** Every checkpoint that the names mean; a series gives all its members, or the one `at`. */
export async function chooseModels(
  names: readonly string[],
  at: string | undefined,
  place: Place,
  base = '.',
): Promise<{ readonly several: boolean; readonly models: readonly Chosen[] }> {
  const models: Chosen[] = []
  let several = names.length > 1
  for (const name of names) {
    const path = await pathOf(name, place, base)
    if (at !== undefined || !isSeries(path)) models.push(await chooseModel(name, at, place, base))
    else {
      several = true
      const members = listMembers(path)
      models.push(...members.map((one) => ({ path: one.path, name, at: one.at, of: members.length })))
    }
  }
  return { several, models }
}

/** Where the bundled models lie. */
export function bundledFolder({ root }: Place): string {
  return join(root, 'models')
}

// --- Internal helpers ---

async function pathOf(name: string, place: Place, base: string): Promise<string> {
  if (name === '' || name.includes('\0'))
    throw new HeadscopeError('bad-request', 'MODEL is empty: name a checkpoint folder or a bundled model.')
  const bundled = bundledPath(name, place)
  if (bundled !== null) return bundled
  const path = resolve(base, name.startsWith('~/') ? join(homedir(), name.slice(2)) : name)
  if (existsSync(path)) return path
  const folder = bundledFolder(place)
  const catalogue = createCatalogue({ bundledDir: folder, dataDir: folder })
  const names = (await catalogue.models())
    .filter((model) => model.origin === 'bundled')
    .map((model) => model.path)
  throw new HeadscopeError(
    'not-found',
    `There is no ${JSON.stringify(name)}: give the path of a checkpoint folder${names.length > 0 ? `, or a bundled model (${names.join(', ')})` : ''}.`,
  )
}

/** The folder of a bundled name, or null for anything else: a path begins with `.`, `/` or `~`, or leads elsewhere. */
function bundledPath(name: string, place: Place): string | null {
  if (name === '' || /^[.~]/.test(name) || isAbsolute(name)) return null
  const folder = bundledFolder(place)
  const path = join(folder, name)
  if (createCatalogue({ bundledDir: folder, dataDir: folder }).nameOf(path) === path) return null
  return isCheckpointFolder(path) || isSeries(path) ? path : null
}

/** A folder without weights whose children are checkpoints. */
function isSeries(path: string): boolean {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
  return isFolder && !isCheckpointFolder(path) && listMembers(path).length > 0
}

function listed(names: readonly string[]): string {
  return names.length <= 14 ? names.join(', ') : `${names.slice(0, 12).join(', ')} … ${names.at(-1)}`
}

/** How a chosen checkpoint is called in text: its name, and its step with where that comes from. */
export function titleOf({ name, at, of }: Chosen, asked: boolean): string {
  const short =
    isAbsolute(name) || /^\.{1,2}$/.test(name) ? basename(resolve(name)) : name.replace(/\/+$/, '')
  if (at === null) return short
  const series = basename(short) === 'checkpoints' ? dirname(short) : short
  return `${series} ${at}${asked ? '' : ` (the last of ${of})`}`
}
