/**
 * The live selection and the live hover: two small stores outside React. The selection is mirrored in the address
 * (back, forward and reload work); hover is not, it changes many times a second and only what shows it listens.
 */
import { useSyncExternalStore } from 'react'
import { formatSelection, parseSelection, type Selection, sameHead } from './selection.ts'
import { markHeadSwitch } from './timing.ts'

export interface Store<T> {
  get(): T
  set(value: T): void
  subscribe(listener: () => void): () => void
}

/** A value with listeners. */
export function createStore<T>(initial: T): Store<T> {
  let value = initial
  const listeners = new Set<() => void>()
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return
      value = next
      for (const listener of listeners) listener()
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

let selection = parseSelection(globalThis.location?.hash ?? '')
/** What the window shows: the selection, but for the moment in which the pattern of a head that was chosen is on its way. */
const shown = createStore<Selection>(selection)

/** So long the window waits for the pattern of a head, to be drawn once with it instead of once without and once with. */
const HOLD_MS = 30
let comingFor: (next: Selection) => Promise<unknown> | null = () => null
let held: ReturnType<typeof setTimeout> | null = null

/** Names what a window waits for before it shows another head: null where everything is there. */
export function showTogetherWith(coming: (next: Selection) => Promise<unknown> | null): void {
  comingFor = coming
}

function choose(next: Selection): void {
  const sameShown = sameHead(shown.get().head, next.head)
  if (!sameHead(selection.head, next.head)) markHeadSwitch()
  selection = next
  if (held !== null) return
  const coming = sameShown ? null : comingFor(next)
  if (coming === null) {
    shown.set(next)
    return
  }
  const mine = setTimeout(showNow, HOLD_MS)
  const come = () => held === mine && showNow()
  held = mine
  coming.then(come, come)
}

function showNow(): void {
  if (held !== null) clearTimeout(held)
  held = null
  shown.set(selection)
}

/** Changes within this many ms of the last one share a history entry: a walk over heads is one step back. */
const COALESCE_MS = 600
const SOON_MS = 50 // writing costs some ms: after the picture, not before it
const WRITE_MS = 120 // browsers refuse hundreds of address changes in a row
let lastChange = 0
let pending: ReturnType<typeof setTimeout> | null = null
let pendingPush = false

export function getSelection(): Selection {
  return selection
}

/** Changes the selection and the address. `replace` leaves no step for the back button, `push` always leaves one. */
export function select(patch: Partial<Selection>, options: { replace?: boolean; push?: boolean } = {}): void {
  const before = selection
  const after = { ...before, ...patch }
  if (formatSelection(before) === formatSelection(after)) return
  const now = performance.now()
  const quick = now - lastChange < COALESCE_MS
  lastChange = now
  pendingPush ||= options.push ?? (!options.replace && !quick)
  choose(after)
  if (pending === null) pending = setTimeout(writeAddress, quick ? WRITE_MS : SOON_MS)
}

function writeAddress(): void {
  pending = null
  const address = `#${formatSelection(selection)}`
  const push = pendingPush
  pendingPush = false
  if (address === location.hash) return
  if (push && location.hash.length > 1) history.pushState(null, '', address)
  else history.replaceState(null, '', address)
}

globalThis.addEventListener?.('popstate', () => {
  lastChange = 0
  choose(parseSelection(location.hash))
})

/** The selection, or a part of it; a component renders again only when that part changes. */
export function useSelection<T>(pick: (selection: Selection) => T): T {
  return useSyncExternalStore(shown.subscribe, () => pick(shown.get()))
}

/** What the pointer is over: a token (of the strip), or a cell of a pattern. */
export interface Hover {
  readonly query: number | null
  readonly key: number | null
}

const NOWHERE: Hover = { query: null, key: null }
export const hover = createStore<Hover>(NOWHERE)

export function setHover(query: number | null, key: number | null): void {
  const now = hover.get()
  if (now.query !== query || now.key !== key)
    hover.set(query === null && key === null ? NOWHERE : { query, key })
}

export function useHover(): Hover {
  return useSyncExternalStore(hover.subscribe, hover.get)
}

/** Locks a token as the query; again: unlocks. */
export function toggleQuery(position: number): void {
  const now = getSelection()
  const same = now.query === position && now.key === null && now.also.length === 0
  select(same ? { query: null } : { query: position, key: null, also: [] }, { replace: true })
}

/** Adds a token to the locked queries, or takes it out: their rows are averaged. */
export function toggleAlso(position: number): void {
  const { query, also } = getSelection()
  if (query === null) select({ query: position, key: null, also: [] }, { replace: true })
  else if (position === query) select({ query: also[0] ?? null, also: also.slice(1) }, { replace: true })
  else select({ also: toggled(also, position) }, { replace: true })
}

function toggled(also: readonly number[], position: number): number[] {
  const without = also.filter((i) => i !== position)
  return without.length < also.length ? without : [...also, position].sort((a, b) => a - b)
}

/** A setting of a tab, and the way to change it. */
export function useTool<T extends string>(name: string, initial: T): [T, (next: T) => void] {
  const value = useSelection((s) => s.tool[name] as T | undefined)
  return [value ?? initial, (next) => setTool(name, next === initial ? '' : next)]
}

/** Sets a tab's setting; an empty text is its initial value. */
export function setTool(name: string, value: string): void {
  const { [name]: _, ...rest } = getSelection().tool
  select({ tool: value === '' ? rest : { ...rest, [name]: value } }, { replace: true })
}

/** Locks a cell; again: unlocks. */
export function toggleCell(query: number, key: number): void {
  const now = getSelection()
  const same = now.query === query && now.key === key
  select(same ? { query: null, key: null, also: [] } : { query, key, also: [] }, { replace: true })
}
