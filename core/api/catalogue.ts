/**
 * The checkpoints that are known without opening them. In: the bundled folder, an optional library folder, and the
 * list of recent folders in the data folder. Out: what to show and what to open. A checkpoint is a folder with
 * config.json and safetensors weights; a series is a folder of such folders. Costs a few directory reads.
 */
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { HeadscopeError } from '../errors.ts'
import type { LibraryModel } from './contract.ts'

export interface CatalogueOptions {
  readonly bundledDir: string | null
  readonly library?: string | null
  /** Where recents.json is kept. */
  readonly dataDir: string
}

export type Series = readonly { readonly at: string; readonly path: string }[]

export interface Catalogue {
  models(): Promise<LibraryModel[]>
  /** The folder of what a person names: a bundled name or an absolute path. Throws not-found or bad-request. */
  folder(name: string): Promise<string>
  /** What to show for a folder: the bundled name when it is one, else its absolute path. */
  nameOf(folder: string): string
  /** The members beside or below this checkpoint, in natural order; empty when it stands alone. */
  series(folder: string): Promise<Series>
  /** Puts a folder first among the recent ones. Bundled ones and those of the library are not kept. */
  remember(folder: string): Promise<void>
}

/** Order of names with numbers in them: step2 before step10. */
export const natural = new Intl.Collator('en', { numeric: true }).compare

const KEPT = 20
const DEPTH = 4

/** Makes the catalogue. Nothing is read before it is asked. */
export function createCatalogue({ bundledDir, library, dataDir }: CatalogueOptions): Catalogue {
  const recentsFile = join(dataDir, 'recents.json')

  const nameOf = (folder: string): string => {
    if (bundledDir === null) return folder
    const inside = relative(bundledDir, folder)
    return inside === '' || inside.startsWith('..') || isAbsolute(inside)
      ? folder
      : inside.split(sep).join('/')
  }

  const series = async (folder: string): Promise<Series> => {
    const own = await members(join(folder, 'checkpoints'))
    const below = own.length > 0 ? own : await members(folder)
    const found = below.length > 0 ? below : await members(dirname(folder), folder)
    return found.map((path) => ({ at: basename(path), path: nameOf(path) }))
  }

  const describe = async (folder: string, origin: LibraryModel['origin']): Promise<LibraryModel> => ({
    path: nameOf(folder),
    name: basename(folder),
    origin,
    series: origin === 'recent' && !(await isSeriesHead(folder)) ? [] : await series(folder),
  })

  return {
    nameOf,
    series,
    async models() {
      const bundled = bundledDir === null ? [] : await below(bundledDir, 1)
      const local = library ? await below(library, DEPTH) : []
      const seen = new Set([...bundled, ...local])
      const recent: string[] = []
      for (const folder of await readRecents(recentsFile)) {
        if (!seen.has(folder) && (await isCheckpoint(folder))) recent.push(folder)
      }
      return Promise.all([
        ...bundled.map((folder) => describe(folder, 'bundled')),
        ...local.map((folder) => describe(folder, 'library')),
        ...recent.map((folder) => describe(folder, 'recent')),
      ])
    },
    async folder(name) {
      if (name === '' || name.includes('\0'))
        throw new HeadscopeError('bad-request', 'Name a checkpoint folder to open.')
      if (isAbsolute(name)) return resolve(name)
      const folder = bundledDir === null ? null : resolve(bundledDir, name)
      if (folder !== null && nameOf(folder) !== folder && (await isFolder(folder))) return folder
      const known = bundledDir === null ? [] : (await below(bundledDir, 1)).map(nameOf)
      throw new HeadscopeError(
        'not-found',
        `No bundled model is called ${JSON.stringify(name)}: give an absolute path of a checkpoint folder${
          known.length > 0 ? ` or one of ${known.join(', ')}` : ''
        }.`,
      )
    },
    async remember(folder) {
      if (nameOf(folder) !== folder) return
      const old = await readRecents(recentsFile)
      if (old[0] === folder) return
      const list = [folder, ...old.filter((other) => other !== folder)].slice(0, KEPT)
      await mkdir(dataDir, { recursive: true })
      // Written beside and renamed, so that a crash leaves the old list or the new one.
      const draft = `${recentsFile}.${process.pid}.tmp`
      await writeFile(draft, JSON.stringify(list, null, 2))
      await rename(draft, recentsFile)
    },
  }
}

/** True for a folder with config.json and safetensors weights (one file or an index of shards). */
export async function isCheckpoint(folder: string): Promise<boolean> {
  const names = await namesIn(folder)
  return (
    names.has('config.json') && (names.has('model.safetensors') || names.has('model.safetensors.index.json'))
  )
}

async function namesIn(folder: string): Promise<Set<string>> {
  return new Set(await readdir(folder).catch(() => []))
}

/** True for a folder, or a link to one. */
export async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() ?? false
}

async function isSeriesHead(folder: string): Promise<boolean> {
  return (await members(join(folder, 'checkpoints'))).length > 0
}

/** Checkpoint folders directly in `folder`, in natural order; none when `among` is given and is not one of them. */
async function members(folder: string, among?: string): Promise<string[]> {
  const found: string[] = []
  for (const name of [...(await namesIn(folder))].sort(natural)) {
    const path = join(folder, name)
    if (await isCheckpoint(path)) found.push(path)
  }
  // One checkpoint alone is no series, and a folder of unlike models is a library: their steps must look alike.
  if (found.length < 2) return []
  if (among !== undefined && (!found.includes(among) || !found.every((path) => /\d/.test(basename(path)))))
    return []
  return found
}

/** Checkpoints below a folder; what lies inside one is its series, not another model. */
async function below(folder: string, depth: number): Promise<string[]> {
  const found: string[] = []
  for (const name of [...(await namesIn(folder))].sort(natural)) {
    if (name.startsWith('.') || name === 'node_modules') continue
    const path = join(folder, name)
    if (await isCheckpoint(path)) found.push(path)
    else if (depth > 1 && (await isFolder(path))) found.push(...(await below(path, depth - 1)))
  }
  return found
}

async function readRecents(file: string): Promise<string[]> {
  try {
    const list: unknown = JSON.parse(await readFile(file, 'utf8'))
    return Array.isArray(list) ? list.filter((item): item is string => typeof item === 'string') : []
  } catch {
    return [] // absent or damaged: a list of recent folders is not worth an error
  }
}
