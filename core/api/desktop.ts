/**
 * What the desktop shell's preload puts on `window.headscope`, as a type: the renderer reads it, the preload and the
 * main process keep it. In a browser it is absent. Every `on…` returns the way to stop listening.
 */

/** Menu commands that the renderer carries out. */
export type DesktopCommand = 'palette' | 'theme' | 'shortcuts' | 'examples' | 'back' | 'forward'

/** The engine's process: `restarting` after it died, `ready` once it answers again, `failed` when it will not start. */
export interface EngineState {
  readonly state: 'ready' | 'restarting' | 'failed'
  /** One sentence for the person, except when ready. */
  readonly message: string | null
}

export interface DesktopApi {
  /** `darwin`, `win32`, `linux` … */
  readonly platform: string
  /** Opens the system's folder dialog; what is chosen arrives at `onOpen`. */
  chooseCheckpoint(): void
  /** A folder that the person chose, dropped on the icon, or named on the command line. */
  onOpen(listener: (path: string) => void): () => void
  /** Where a dropped file or folder is on the disk; empty where it is not on one. */
  pathOf(file: unknown): string
  /** Shows how far the work is on the icon in the dock or the task bar: 0 to 1; null: nothing runs. */
  showProgress(share: number | null): void
  onCommand(listener: (command: DesktopCommand) => void): () => void
  onEngine(listener: (state: EngineState) => void): () => void
}
