/**
 * The workspace that keeps a command's work. In: --store, --no-store. Out: the writing side, or null. Opened before
 * anything is computed, so that a store that does not fit costs no work.
 */
import { resolve } from 'node:path'
import type { WorkspaceWrites } from '../api/compute/workspace-writes.ts'
import { defaultStorePath } from '../store/default-path.ts'
import { UsageError } from './command.ts'

export interface StoreValues {
  readonly store: string | undefined
  readonly 'no-store': boolean
}

/** The file that is meant, or null for none. Throws UsageError. */
export function storePath(values: StoreValues): string | null {
  if (values.store === '') throw new UsageError('--store is empty: name the file of a workspace')
  if (values['no-store']) {
    if (values.store !== undefined) throw new UsageError('--store and --no-store exclude each other')
    return null
  }
  return values.store === undefined ? defaultStorePath() : resolve(values.store)
}

/** Opens the workspace for writing; the caller closes it. Throws bad-store. */
export async function openWrites(
  values: StoreValues,
): Promise<{ path: string; writes: WorkspaceWrites } | null> {
  const path = storePath(values)
  if (path === null) return null
  const [{ openStore }, { workspaceWrites }] = await Promise.all([
    import('../store/capture-store.ts'),
    import('../api/compute/workspace-writes.ts'),
  ])
  return { path, writes: workspaceWrites(openStore(path)) }
}
