/**
 * Opened models, the most recently used first. In: how to open one. Out: `use(path, work)`, which opens or finds the
 * model and keeps it open while the work lasts. Costs the mapped weights and sessions of at most `limit` models,
 * beside those that are in use.
 */

interface Closable {
  close(): Promise<void>
}

interface Entry<M> {
  readonly opening: Promise<M>
  /** What the files looked like when it was opened. */
  readonly stamp: string
  users: number
}

export interface ModelCache<M> {
  /** Runs `work` with the model of that folder. Throws what opening or the work throws. */
  use<T>(path: string, work: (model: M) => Promise<T> | T): Promise<T>
  /** Whether some model is in use. */
  busy(): boolean
  closeAll(): Promise<void>
}

/**
 * Makes an empty cache. `stampOf` tells the state of a folder's files: when it has changed, the model is opened again,
 * because a mapped file that was written over holds other weights. A model that fails to open is not kept, so that
 * a mended folder opens at the next try.
 */
export function createModelCache<M extends Closable>(
  open: (path: string) => Promise<M>,
  limit: number,
  stampOf: (path: string) => string = () => '',
): ModelCache<M> {
  const entries = new Map<string, Entry<M>>() // in order of use, the newest last

  const close = async (entry: Entry<M>): Promise<void> => {
    await (await entry.opening.catch(() => null))?.close()
  }

  /** The entry of a path: the one that is open, unless its files have changed since. */
  function find(path: string): Entry<M> {
    const stamp = stampOf(path)
    const known = entries.get(path)
    if (known?.stamp === stamp) return known
    if (known && known.users === 0) void close(known) // else its last user closes it
    return { opening: open(path), stamp, users: 0 }
  }

  async function trim(): Promise<void> {
    for (const [path, entry] of entries) {
      if (entries.size <= limit) return
      if (entry.users > 0) continue
      entries.delete(path)
      await close(entry)
    }
  }

  return {
    async use(path, work) {
      const entry = find(path)
      entries.delete(path)
      entries.set(path, entry)
      entry.users++
      try {
        const model = await entry.opening.catch((error) => {
          if (entries.get(path) === entry) entries.delete(path)
          throw error
        })
        return await work(model)
      } finally {
        entry.users--
        if (entry.users === 0 && entries.get(path) !== entry) await close(entry)
        await trim()
      }
    },
    busy: () => [...entries.values()].some(({ users }) => users > 0),
    async closeAll() {
      const all = [...entries.values()]
      entries.clear()
      for (const entry of all) await close(entry)
    },
  }
}
