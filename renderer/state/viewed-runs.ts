/**
 * Runs that were stored only to be looked at: the selected prompt with the active edits, once for each set of edits. In:
 * their numbers as they are made. Out: those that nobody needs any more, to be deleted. The list is kept in this browser,
 * so that a window that was closed leaves nothing behind for long. Pure but for the storage that is passed in.
 */

/** A stored run. Numbers begin anew in every workspace, and a browser sees several: when it was stored tells them apart. */
export interface RunName {
  readonly id: number
  readonly created: string // ISO time
}

export interface ViewedRun extends RunName {
  readonly window: string
  readonly made: number // ms since 1970
}

export function sameRun(a: RunName, b: RunName): boolean {
  return a.id === b.id && a.created === b.created
}

/** Of each window so many stay, so that undo and redo need no new run. */
export const VIEWED_KEPT = 6
/** A run of a window that was closed goes after this long: the window may still be open. */
const FORGOTTEN_MS = 12 * 3600 * 1000

/** The list with a run added, without those that go. `needed` are on the screen, whatever their age. */
export function withViewed(
  list: readonly ViewedRun[],
  added: ViewedRun,
  needed: readonly number[],
): { readonly kept: readonly ViewedRun[]; readonly gone: readonly RunName[] } {
  const all = [...list.filter((run) => !sameRun(run, added)), added]
  const own = all.filter(({ window }) => window === added.window)
  const old = new Set(own.slice(0, Math.max(0, own.length - VIEWED_KEPT)))
  const goes = (run: ViewedRun) =>
    !needed.includes(run.id) &&
    (old.has(run) || (run.window !== added.window && added.made - run.made > FORGOTTEN_MS))
  return {
    kept: all.filter((run) => !goes(run)),
    gone: all.filter(goes).map(({ id, created }) => ({ id, created })),
  }
}

const KEY = 'headscope.viewed-runs'

/** The list as it is stored; empty where there is none, or where it cannot be read. */
export function readViewed(storage: Pick<Storage, 'getItem'> | undefined): readonly ViewedRun[] {
  try {
    const value: unknown = JSON.parse(storage?.getItem(KEY) ?? '[]')
    return Array.isArray(value) ? value.filter(isViewed) : []
  } catch {
    return []
  }
}

export function writeViewed(storage: Pick<Storage, 'setItem'> | undefined, list: readonly ViewedRun[]): void {
  try {
    storage?.setItem(KEY, JSON.stringify(list))
  } catch {
    // storage is switched off or full: the runs stay in the workspace, where the Store view deletes them
  }
}

function isViewed(value: unknown): value is ViewedRun {
  const run = value as Partial<ViewedRun> | null
  return (
    typeof run?.id === 'number' &&
    typeof run.created === 'string' &&
    typeof run.window === 'string' &&
    typeof run.made === 'number'
  )
}
