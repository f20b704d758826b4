/** Size and place of the window, kept in a JSON file. A place that is on no screen any more is forgotten. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { makeFolder } from '../core/checkpoint/files.ts'

export interface Bounds {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface WindowState {
  /** Without x and y the system chooses the place. */
  readonly bounds: { readonly width: number; readonly height: number } | Bounds
  readonly maximized: boolean
}

const FRESH: WindowState = { bounds: { width: 1440, height: 900 }, maximized: false }
/** How much of the window must be on a screen to be caught with the mouse, in pixels. */
const GRIP = 100

/** The state that was kept, made to fit the screens that there are now. */
export function readWindowState(file: string, screens: readonly Bounds[]): WindowState {
  try {
    const { bounds, maximized } = JSON.parse(readFileSync(file, 'utf8')) as WindowState
    const { x, y, width, height } = bounds as Bounds
    if (![width, height].every((size) => Number.isFinite(size) && size >= 400)) return FRESH
    const visible =
      [x, y].every(Number.isFinite) && screens.some((screen) => overlaps({ x, y, width, height }, screen))
    return { bounds: visible ? { x, y, width, height } : { width, height }, maximized: maximized === true }
  } catch {
    return FRESH // absent or damaged: a window's place is not worth an error
  }
}

/** Keeps the state, whole or not at all. */
export function writeWindowState(file: string, state: WindowState): void {
  makeFolder(dirname(file))
  writeFileSync(`${file}.tmp`, JSON.stringify(state))
  renameSync(`${file}.tmp`, file)
}

function overlaps(window: Bounds, screen: Bounds): boolean {
  const wide = Math.min(window.x + window.width, screen.x + screen.width) - Math.max(window.x, screen.x)
  const titleBar = window.y >= screen.y && window.y + GRIP <= screen.y + screen.height
  return wide >= GRIP && titleBar
}
