/**
 * The checkpoints that are known without opening them. In: the bundled folder, an optional library folder, and the
 * list of recent folders in the data folder. Out: what to show and what to open. Costs a few directory reads.
 */
import { readdirSync, statSync } from 'node:fs'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { makeFolder } from '../checkpoint/files.ts'
import { isCheckpointFolder, listMembers } from '../checkpoint/series.ts'
import { HeadscopeError } from '../errors.ts'
import type { LibraryModel } from './contract.ts'

export interface CatalogueOptions {
  /** Folder whose checkpoints have names of their own; null for none. */
  readonly bundledDir: string | null
  /** Folder whose checkpoints, at most four levels down, fill the library. */
  readonly library?: string | null
  /** Where recents.json is kept. */
  readonly dataDir: string
}

export type Series = LibraryModel['series']

export interface Catalogue {
  models(): Promise<LibraryModel[]>
  /**
   * The folder of what a person names: a bundled name or an absolute path; of a series, its last member. Whether it can
   * be opened shows when it is. Throws not-found or bad-request.
   */
  folder(name: string): string
  /** What to show for a folder: the bundled name when it is one, else its absolute path. */
  nameOf(folder: string): string
  /** The members below or beside this checkpoint, in natural order; empty when it stands alone. */
  series(folder: string): Series
  /** Puts a folder first among the recent ones. Bundled ones are not kept. */
  remember(folder: string): Promise<void>
}

/** Order of names with numbers in them: step2 before step10. */
export const natural = new Intl.Collator('en', { numeric: true }).compare

/** How many recent folders are kept. */
const KEPT = 20
const DEPTH = 4
/** Names that the steps of one training run have; a folder of other names is a collection of models. */
const STEP = /^(step|checkpoint|epoch|iter|global_step)?[-_]?\d+/

/** Makes the catalogue. Nothing is read before it is asked. */
export function createCatalogue({ bundledDir, library, dataDir }: CatalogueOptions): Catalogue {
  const recentsFile = join(dataDir, 'recents.json')
  let remembered: Promise<void> = Promise.resolve()

  const nameOf = (folder: string): string => {
    if (bundledDir === null) return folder
    const inside = relative(bundledDir, folder)
    return inside === '' || inside.startsWith('..') || isAbsolute(inside)
      ? folder
      : inside.split(sep).join('/')
  }

  const series = (folder: string): Series => {
    const below = listMembers(folder)
    const found = below.length > 0 ? below : beside(folder)
    return found.map(({ at, path }) => ({ at, path: nameOf(path) }))
  }

  const describe = (folder: string, origin: LibraryModel['origin']): LibraryModel => {
    // A folder of steps is one model with a series; what it opens is its last step.
    if (!isCheckpointFolder(folder)) {
      const members = series(folder)
      return { path: members.at(-1)!.path, name: basename(folder), origin, series: members }
    }
    const step = beside(folder).length > 0
    return {
      path: nameOf(folder),
      name: step ? `${basename(dirname(folder))}/${basename(folder)}` : basename(folder),
      origin,
      series: step ? [] : series(folder),
    }
  }

  return {
    nameOf,
    series,
    async models() {
      const bundled = bundledDir === null ? [] : find(bundledDir, 1)
      const local = library ? find(resolve(library), DEPTH) : []
      const recents = (await readRecents(recentsFile)).filter(isCheckpointFolder)
      const listed = new Set<string>()
      const models: LibraryModel[] = []
      const add = (folder: string, origin: LibraryModel['origin']) => {
        const model = describe(folder, origin)
        if (listed.has(model.path)) return
        for (const { path } of [model, ...model.series]) listed.add(path)
        models.push(model)
      }
      for (const folder of bundled) add(folder, 'bundled')
      for (const folder of local) add(folder, 'library')
      for (const folder of recents) add(folder, 'recent')
      return models
    },
    folder(name) {
      if (name === '' || name.includes('\0'))
        throw new HeadscopeError('bad-request', 'Name a checkpoint folder to open.')
      const folder = isAbsolute(name) ? resolve(name) : bundled(name)
      return isCheckpointFolder(folder) ? folder : (listMembers(folder).at(-1)?.path ?? folder)
    },
    remember(folder) {
      // One after the other: two at once would read the same list and write one file.
      const turn = remembered.then(() => write(folder))
      remembered = turn.catch(() => undefined)
      return turn
    },
  }

  async function write(folder: string): Promise<void> {
    if (nameOf(folder) !== folder) return
    const old = await readRecents(recentsFile)
    if (old[0] === folder) return
    const list = [folder, ...old.filter((other) => other !== folder)].slice(0, KEPT)
    makeFolder(dataDir)
    // Written beside and renamed, so that a crash leaves the old list or the new one.
    const draft = `${recentsFile}.${process.pid}.tmp`
    await writeFile(draft, JSON.stringify(list, null, 2))
    await rename(draft, recentsFile)
  }

  function bundled(name: string): string {
    const folder = bundledDir === null ? null : resolve(bundledDir, name)
    if (folder !== null && nameOf(folder) !== folder && isFolder(folder)) return folder
    const known = bundledDir === null ? [] : find(bundledDir, 1).map(nameOf)
    const names = known.length > 0 ? ` or one of ${known.join(', ')}` : ''
    throw new HeadscopeError(
      'not-found',
      `No bundled model is called ${JSON.stringify(name)}: give the absolute path of a checkpoint folder${names}.`,
    )
  }
}

/** True for a folder, or a link to one. */
export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

/** The steps beside this one, itself included; none when its folder is a collection of unlike models. */
function beside(folder: string): ReturnType<typeof listMembers> {
  const members = isCheckpointFolder(dirname(folder)) ? [] : listMembers(dirname(folder))
  const among = members.some(({ path }) => path === folder)
  return among && members.length > 1 && members.every(({ at }) => STEP.test(at)) ? members : []
}

/** Checkpoints and folders of steps below a folder; what lies inside one is its series, not another model. */
function find(folder: string, depth: number): string[] {
  const found: string[] = []
  for (const name of namesIn(folder).sort(natural)) {
    if (name.startsWith('.') || name === 'node_modules') continue
    const path = join(folder, name)
    if (isCheckpointFolder(path)) found.push(path)
    else if (depth > 1 && isFolder(path)) found.push(...(isSeries(path) ? [path] : find(path, depth - 1)))
  }
  return found
}

function isSeries(folder: string): boolean {
  const members = listMembers(folder)
  return members.length > 1 && members.every(({ at }) => STEP.test(at))
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return [] // not a folder, or not readable by us: nothing to list
  }
}

async function readRecents(file: string): Promise<string[]> {
  try {
    const list: unknown = JSON.parse(await readFile(file, 'utf8'))
    return Array.isArray(list) ? list.filter((item): item is string => typeof item === 'string') : []
  } catch {
    return [] // absent or damaged: a list of recent folders is not worth an error
  }
}
