/** SQLite's errors as our sentences. In: whatever was thrown. Out: a HeadscopeError that names the file and the remedy. */
import { HeadscopeError } from '../errors.ts'

/** Runs `work`; what it throws becomes a HeadscopeError about the store at `path`. */
export function guarded<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw storeProblem(error, path)
  }
}

/** One sentence for an error of SQLite or the file system; a HeadscopeError stays as it is. */
export function storeProblem(error: unknown, path: string): HeadscopeError {
  if (error instanceof HeadscopeError) return error
  const code = String((error as { code?: unknown } | null)?.code ?? '')
  const because = { cause: error }
  if (code.startsWith('SQLITE_FULL') || code === 'ENOSPC' || code === 'SQLITE_IOERR_SHMSIZE')
    return new HeadscopeError(
      'no-space',
      `${path}: no space left for this workspace; the run in flight was not kept. Free some disk space, or delete runs and compact.`,
      because,
    )
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED'))
    return new HeadscopeError(
      'in-use',
      `${path}: another process is writing to this workspace; try again when it is done.`,
      because,
    )
  if (code.startsWith('SQLITE_READONLY') || code === 'EACCES' || code === 'EROFS' || code === 'EPERM')
    return new HeadscopeError(
      'bad-store',
      `${path}: this file or its folder may not be written to; choose another place with --store, or change its permissions.`,
      because,
    )
  if (
    code.startsWith('SQLITE_CANTOPEN') ||
    code === 'ENOENT' ||
    code === 'ENOTDIR' ||
    code === 'EEXIST' ||
    code === 'EISDIR'
  )
    return new HeadscopeError(
      'bad-store',
      `${path}: cannot be opened as a workspace; name a file in an existing folder that you may write to.`,
      because,
    )
  if (code.startsWith('SQLITE_CORRUPT') || code.startsWith('SQLITE_NOTADB')) return damaged(path, because)
  if (error instanceof TypeError && error.message === 'The database connection is not open')
    return new HeadscopeError('bad-store', `${path}: this workspace was closed; open it again.`, because)
  if (code.startsWith('SQLITE_IOERR'))
    return new HeadscopeError(
      'bad-store',
      `${path}: the disk reported an error (${code}); check the disk, then open the workspace again.`,
      because,
    )
  return new HeadscopeError(
    'internal',
    `${path}: ${error instanceof Error ? error.message : String(error)}`,
    because,
  )
}

/** The sentence for a workspace that SQLite or we cannot read. */
export function damaged(path: string, options?: { cause?: unknown }): HeadscopeError {
  return new HeadscopeError(
    'bad-store',
    `${path}: this workspace is damaged and was left as it is; restore a copy, or choose another file with --store.`,
    options,
  )
}
