/**
 * What the desktop shell asks for. In: window.headscope where the shell put
 * it. Out: an opened checkpoint, a step back, another theme, the palette, the keys, or the state of the engine's process.
 */
import { useSyncExternalStore } from 'react'
import type { DesktopApi, DesktopCommand, EngineState } from '../../core/api/desktop.ts'
import { resumeJobs } from '../api/jobs.ts'
import { queryClient } from '../api/query-client.ts'
import { examplesOpen } from './examples.ts'
import { openCheckpoint } from './open.ts'
import { createStore } from './store.ts'
import { currentTheme, toggleTheme } from './theme.ts'

/** The shell's own functions; undefined in a browser. */
export const desktop = (globalThis as { headscope?: DesktopApi }).headscope

const READY: EngineState = { state: 'ready', message: null }
const engine = createStore<EngineState>(READY)
export const helpOpen = createStore(false)
export const paletteOpen = createStore(false)
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
}

/** Does what a menu or a key asks for. */
export function carryOut(command: DesktopCommand): void {
  if (command === 'back') history.back()
  else if (command === 'forward') history.forward()
  else if (command === 'theme') toggleTheme(currentTheme())
  else if (command === 'shortcuts') helpOpen.set(!helpOpen.get())
  else if (command === 'examples') examplesOpen.set(!examplesOpen.get())
  else paletteOpen.set(!paletteOpen.get())
}
