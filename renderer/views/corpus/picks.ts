/** Which tokens a query and a key may be: any, a class, or words that a person lists. */
import { useSyncExternalStore } from 'react'
import type { TokenChoice } from '../../../core/api/contract.ts'
import { createStore } from '../../state/store.ts'

export interface Pick {
  /** `any`, `words`, or the name of a class. */
  readonly kind: string
  readonly words: string
}

/** Who asks: each has its own. */
export type Asker = 'examples' | 'search'

export interface Picks {
  readonly query: Pick
  readonly key: Pick
}

/** The search begins with letters: any token would find, before all else, that heads look at the first position. */
const ANY: Pick = { kind: 'any', words: '' }
const picks = createStore<Readonly<Record<Asker, Picks>>>({
  examples: { query: ANY, key: ANY },
  search: { query: ANY, key: { kind: 'letters', words: '' } },
})

export function usePicks(asker: Asker): Picks {
  return useSyncExternalStore(picks.subscribe, () => picks.get()[asker])
}

export function setPick(asker: Asker, side: keyof Picks, pick: Pick): void {
  const all = picks.get()
  picks.set({ ...all, [asker]: { ...all[asker], [side]: pick } })
}

/** The same for a request; undefined: any token. Words are split at commas. */
export function choiceOf({ kind, words }: Pick): TokenChoice | undefined {
  if (kind === 'any') return undefined
  if (kind !== 'words') return { class: kind }
  const list = words
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')
  return list.length > 0 ? { words: list } : undefined
}

/** The fields `query` and `key` of a request. */
export function choicesOf(now: Picks): { query?: TokenChoice; key?: TokenChoice } {
  const query = choiceOf(now.query)
  const key = choiceOf(now.key)
  return { ...(query ? { query } : {}), ...(key ? { key } : {}) }
}
