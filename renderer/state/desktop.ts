/**
 * What the desktop shell asks for. In: window.headscope where the shell put
 * it. Out: an opened checkpoint, a step back, another theme, the palette, the keys, or the state of the engine's process.
 */
import { useSyncExternalStore } from 'react'
import type { DesktopApi, DesktopCommand, EngineState } from '../../core/api/desktop.ts'
import { type Job, resumeJobs, runningJobs } from '../api/jobs.ts'
import { queryClient } from '../api/query-client.ts'
import { watchEngine } from './connection.ts'
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
  if (desktop) showProgress(desktop)
  const hear = (state: EngineState) => {
    const back = engine.get().state !== 'ready' && state.state === 'ready'
    engine.set(state)
    if (back) refresh()
  }
  if (desktop) desktop.onEngine(hear)
  else watchEngine(hear)
}

/** How far all running work is together, 0 to 1; null when nothing runs. Work that has not said yet counts as begun. */
export function shareDone(jobs: readonly Pick<Job, 'state' | 'progress'>[]): number | null {
  const running = jobs.filter(({ state }) => state === 'running')
  if (running.length === 0) return null
  const shares = running.map(({ progress }) =>
    progress && progress.total > 0 ? progress.done / progress.total : 0,
  )
  return Math.min(1, shares.reduce((sum, share) => sum + share, 0) / running.length)
}

/** Keeps the bar in the dock or the task bar, in steps of a hundredth. */
function showProgress(shell: DesktopApi): void {
  let shown: number | null = null
  runningJobs.subscribe(() => {
    const share = shareDone(runningJobs.get())
    const next = share === null ? null : Math.round(share * 100) / 100
    if (next === shown) return
    shown = next
    shell.showProgress(next)
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
