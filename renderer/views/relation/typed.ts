/** What was typed for the relation probe: stays while the tabs change. */
import { useSyncExternalStore } from 'react'
import { createStore } from '../../state/store.ts'

export interface Typed {
  /** null: those of the shipped example. */
  readonly texts: string | null
  readonly slots: string | null
  readonly triples: string
}

const typed = createStore<Typed>({ texts: null, slots: null, triples: '' })

export function useTyped(): Typed {
  return useSyncExternalStore(typed.subscribe, typed.get)
}

export function setTyped(change: Partial<Typed>): void {
  typed.set({ ...typed.get(), ...change })
}
