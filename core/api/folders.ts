/** GET /api/folders?path=: folders and GGUF files inside one, for the open dialog; the home folder without a path. */
import { readdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { Hono } from 'hono'
import { z } from 'zod'
import { isCheckpointFolder } from '../checkpoint/series.ts'
import { HeadscopeError } from '../errors.ts'
import { isFolder, natural } from './catalogue.ts'
import type { FolderListing } from './contract.ts'
import type { ApiDeps } from './deps.ts'
import { query } from './http.ts'

export function foldersRoutes(_: ApiDeps) {
  return new Hono().get('/', query(z.object({ path: z.string().max(4096).optional() })), async (c) =>
    c.json<FolderListing>(await listFolder(c.req.valid('query').path || homedir())),
  )
}

/** The visible folders and GGUF files inside `given`, in natural order. Throws not-found or bad-request with the reason. */
export async function listFolder(given: string): Promise<FolderListing> {
  if (!isAbsolute(given) || given.includes('\0')) {
    throw new HeadscopeError('bad-request', `The folder ${JSON.stringify(given)} needs an absolute path.`)
  }
  const path = resolve(given)
  const inside = await readdir(path, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    throw new HeadscopeError('not-found', `The folder ${path} ${reason(error)}.`, { cause: error })
  })
  const visible = inside.filter((entry) => !entry.name.startsWith('.'))
  const kept: FolderListing['entries'][number][] = []
  for (const entry of visible) {
    const child = join(path, entry.name)
    const folder = entry.isDirectory() || (entry.isSymbolicLink() && isFolder(child))
    const checkpoint = (folder || /\.gguf$/i.test(entry.name)) && isCheckpointFolder(child)
    if (folder || checkpoint) kept.push({ name: entry.name, path: child, checkpoint, file: !folder })
  }
  kept.sort((a, b) => natural(a.name, b.name))
  return { path, parent: dirname(path) === path ? null : dirname(path), entries: kept }
}

function reason(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT') return 'does not exist'
  if (error.code === 'ENOTDIR') return 'is a file'
  if (error.code === 'EACCES' || error.code === 'EPERM') return 'may not be read by you'
  return `cannot be read (${error.code ?? error.message})`
}
