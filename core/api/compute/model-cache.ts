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
  users: number
}

export interface ModelCache<M> {
  /** Runs `work` with the model of that folder. Throws what opening or the work throws. */
  use<T>(path: string, work: (model: M) => Promise<T> | T): Promise<T>
  closeAll(): Promise<void>
}

/** Makes an empty cache. A model that fails to open is not kept, so that a mended folder opens at the next try. */
export function createModelCache<M extends Closable>(
  open: (path: string) => Promise<M>,
  limit: number,
): ModelCache<M> {
  const entries = new Map<string, Entry<M>>() // in order of use, the newest last

  async function trim(): Promise<void> {
    for (const [path, entry] of entries) {
      if (entries.size <= limit) return
      if (entry.users > 0) continue
      entries.delete(path)
      await (await entry.opening).close()
    }
  }

  return {
    async use(path, work) {
      const entry = entries.get(path) ?? { opening: open(path), users: 0 }
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
        await trim()
      }
    },
    async closeAll() {
      const all = [...entries.values()]
      entries.clear()
      for (const { opening } of all) await (await opening.catch(() => null))?.close()
    },
  }
}
