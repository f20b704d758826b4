/**
 * What the desktop shell asks for, and the keys that do the same in a browser. In: window.headscope where the shell put
 * it. Out: an opened checkpoint, a step back, another theme, the help, or the state of the engine's process.
 */
import { useSyncExternalStore } from 'react'
import type { OpenedModel } from '../../core/api/contract.ts'
import type { DesktopApi, DesktopCommand, EngineState } from '../../core/api/desktop.ts'
import { resumeJobs } from '../api/jobs.ts'
import { queryClient } from '../api/queries.ts'
import { openCheckpoint } from './open.ts'
import { walked } from './selection.ts'
import { createStore, getSelection, select } from './store.ts'
import { currentTheme, toggleTheme } from './theme.ts'

/** The shell's own functions; undefined in a browser. */
export const desktop = (globalThis as { headscope?: DesktopApi }).headscope

const READY: EngineState = { state: 'ready', message: null }
const engine = createStore<EngineState>(READY)
export const helpOpen = createStore(false)
/** Why a folder that came from outside (dropped, chosen, named at the start) could not be opened. */
export const openProblem = createStore<string | null>(null)

export function useEngineState(): EngineState {
  return useSyncExternalStore(engine.subscribe, engine.get)
}

export function useOpenProblem(): string | null {
  return useSyncExternalStore(openProblem.subscribe, openProblem.get)
}

/** Begins to listen. Called once, when the app starts. */
export function connectDesktop(): void {
  const refresh = () => void queryClient.invalidateQueries()
  resumeJobs(refresh).catch(() => undefined) // an engine that does not answer is shown by what asks next
  desktop?.onOpen((path) => {
    openProblem.set(null)
    openCheckpoint(path).catch((error: Error) => openProblem.set(error.message))
  })
  desktop?.onCommand(carryOut)
  desktop?.onEngine((state) => {
    const back = engine.get().state !== 'ready' && state.state === 'ready'
    engine.set(state)
    if (back) refresh()
  })
  addEventListener('keydown', (event) => {
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey
    if (plain && event.target === document.body && walkHeads(event.key)) return event.preventDefault()
    if (!(event.ctrlKey || event.metaKey) || desktop) return undefined // the shell's menu has these keys
    if (event.key.toLowerCase() === 'k') carryOut('palette')
    else if (event.key === '/') carryOut('shortcuts')
    else return undefined
    return event.preventDefault()
  })
}

/** Keys that work while nothing has the focus: arrows walk the heads, Enter opens one, A ablates it, Escape unlocks. */
function walkHeads(key: string): boolean {
  const now = getSelection()
  const model = queryClient.getQueryData<OpenedModel>(['model', now.model])
  const next = model && walked(key, now.head, model.spec)
  if (next) select({ head: next, ablate: false })
  else if (key === 'Enter' && now.head) select({ tab: 'pattern' })
  else if (key.toLowerCase() === 'a' && now.head) select({ ablate: !now.ablate })
  else if (key === 'Escape') select({ query: null, key: null }, { replace: true })
  else return false
  return true
}

function carryOut(command: DesktopCommand): void {
  if (command === 'back') history.back()
  else if (command === 'forward') history.forward()
  else if (command === 'theme') toggleTheme(currentTheme())
  else if (command === 'shortcuts') helpOpen.set(!helpOpen.get())
  else {
    select({ tab: 'heads' })
    requestAnimationFrame(() => document.querySelector<HTMLInputElement>('input[type=search]')?.focus())
  }
}
