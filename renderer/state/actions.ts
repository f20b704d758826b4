/**
 * What the app can do, by name: the command palette shows all of it. In: actions of the frame and of the views that are
 * open. Out: those that fit what was typed, best first.
 */
import { useEffect } from 'react'
import { createStore } from './store.ts'

export interface Action {
  readonly id: string
  /** Heading in the palette. */
  readonly group: string
  readonly title: string
  /** Keys that do the same. */
  readonly keys?: string
  /** Said at the right: what it is now, or where it is. */
  readonly note?: string
  readonly run: () => void
}

const registered = createStore<ReadonlyMap<string, readonly Action[]>>(new Map())

/** Actions of the views that are open. */
export const viewActions = {
  subscribe: registered.subscribe,
  get: registered.get,
}

/** Offers actions while the calling component is there. `actions` should keep its identity between renders. */
export function useActions(source: string, actions: readonly Action[]): void {
  useEffect(() => {
    registered.set(new Map(registered.get()).set(source, actions))
    return () => {
      const rest = new Map(registered.get())
      if (rest.get(source) === actions) rest.delete(source)
      registered.set(rest)
    }
  }, [source, actions])
}

/**
 * Actions that fit what was typed: every word must begin a word of the title or group, or be inside one. Whole
 * beginnings come first; the given order holds otherwise.
 */
export function findActions(actions: readonly Action[], typed: string): Action[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return [...actions]
  const ranked: { action: Action; rank: number; at: number }[] = []
  actions.forEach((action, at) => {
    const title = action.title.toLowerCase()
    const text = `${title} ${action.group.toLowerCase()}`
    let rank = 0
    for (const word of words) {
      const found = text.indexOf(word)
      if (found < 0) return
      const begins = found === 0 || /[^a-z0-9]/.test(text[found - 1]!)
      rank += found === 0 ? 0 : begins && found < title.length ? 1 : begins ? 2 : 3
    }
    ranked.push({ action, rank, at })
  })
  return ranked.sort((a, b) => a.rank - b.rank || a.at - b.at).map(({ action }) => action)
}
