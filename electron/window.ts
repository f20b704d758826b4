/**
 * The one window. Sandboxed, without Node; it shows app://headscope/ and nothing else: no other page, no new window, no
 * permission except writing text to the clipboard when a copy button is pressed.
 */
import { join } from 'node:path'
import { app, BrowserWindow, nativeTheme, screen, session } from 'electron'
import { ORIGIN } from './protocol.ts'
import { readWindowState, writeWindowState } from './window-state.ts'

const ALLOWED: readonly string[] = ['clipboard-sanitized-write']

/** Opens the window on the app. `preload` is the built preload.cjs. */
export function openWindow(preload: string): BrowserWindow {
  const file = join(app.getPath('userData'), 'window.json')
  const screens = screen.getAllDisplays().map((display) => display.workArea)
  const { bounds, maximized } = readWindowState(file, screens)
  const window = new BrowserWindow({
    ...bounds,
    minWidth: 800,
    minHeight: 560,
    show: false,
    title: 'Headscope',
    backgroundColor: nativeTheme.shouldUseDarkColors ? '#101418' : '#ffffff',
    webPreferences: {
      preload,
      sandbox: true,
      contextIsolation: true,
      nodeIntegration: false,
      webviewTag: false,
      spellcheck: false,
    },
  })
  if (maximized) window.maximize()
  window.once('ready-to-show', () => window.show())
  window.on('close', () =>
    writeWindowState(file, { bounds: window.getNormalBounds(), maximized: window.isMaximized() }),
  )
  confine(window)
  void window.loadURL(`${ORIGIN}/`)
  return window
}

/** Refuses permissions for every window of this app. */
export function denyPermissions(): void {
  session.defaultSession.setPermissionRequestHandler((_, permission, answer) =>
    answer(ALLOWED.includes(permission)),
  )
  session.defaultSession.setPermissionCheckHandler((_, permission) => ALLOWED.includes(permission))
}

function confine(window: BrowserWindow): void {
  const contents = window.webContents
  contents.setWindowOpenHandler(() => ({ action: 'deny' }))
  contents.on('will-navigate', (event) => {
    if (!ours(event.url)) event.preventDefault()
  })
  contents.on('will-redirect', (event) => {
    if (!ours(event.url)) event.preventDefault()
  })
  contents.on('will-attach-webview', (event) => event.preventDefault())
}

/** True for an address of the app. */
export function ours(url: string): boolean {
  return url === ORIGIN || url.startsWith(`${ORIGIN}/`)
}
