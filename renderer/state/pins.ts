/** Pinned heads, per checkpoint, kept in this browser. Out: a live set of names such as `L1H3`. */
import { useSyncExternalStore } from 'react'
import { type HeadId, headName } from './head-name.ts'
import { createStore, getSelection, useSelection } from './store.ts'

type Pins = Readonly<Record<string, readonly string[]>>

const KEY = 'headscope.pins'
const NONE: readonly string[] = []
const pins = createStore<Pins>(remembered())

/** Names of the pinned heads of the selected checkpoint, in the order in which they were pinned. */
export function usePins(): readonly string[] {
  const model = useSelection((s) => s.model) ?? ''
  return useSyncExternalStore(pins.subscribe, () => pins.get()[model] ?? NONE)
}

/** Pins a head of the selected checkpoint; again: unpins. */
export function togglePin(head: HeadId): void {
  const model = getSelection().model ?? ''
  const name = headName(head)
  const before = pins.get()[model] ?? NONE
  const after = before.includes(name) ? before.filter((pinned) => pinned !== name) : [...before, name]
  pins.set({ ...pins.get(), [model]: after })
  try {
    localStorage.setItem(KEY, JSON.stringify(pins.get()))
  } catch {
    // storage is switched off: pinned until the window closes
  }
}

function remembered(): Pins {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(KEY) ?? '{}')
    return typeof value === 'object' && value !== null ? (value as Pins) : {}
  } catch {
    return {}
  }
}
