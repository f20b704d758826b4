/**
 * A stand-in for the `electron` module, so that the desktop shell runs for real where Electron's program cannot be had:
 * the same main.ts, the same built preload, the real engine behind it. In: what the shell calls. Out: what it asked
 * for, to be looked at, and the window's requests and messages, to be made. Only what the shell uses is here.
 */
import { EventEmitter } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { Page } from 'playwright-core'

type Handler = (request: Request) => Response | Promise<Response>
type Listener = (...args: unknown[]) => void

/** What a test looks at and turns. */
export const standIn = {
  userData: mkdtempSync(join(tmpdir(), 'headscope-shell-')),
  windows: [] as BrowserWindow[],
  menu: [] as MenuItem[],
  schemes: [] as { scheme: string; privileges: Record<string, boolean> }[],
  handlers: new Map<string, Handler>(),
  /** What the next folder dialog answers. */
  chosen: { canceled: true, filePaths: [] as string[] },
  dialogs: [] as unknown[],
  errors: [] as string[],
  quits: 0,
  recent: [] as string[],
  about: null as { credits?: string } | null,
  aboutShown: 0,
  permissions: {
    request: null as
      | ((contents: unknown, permission: string, answer: (allowed: boolean) => void) => void)
      | null,
    check: null as ((contents: unknown, permission: string) => boolean) | null,
  },
}

/** A request as the window would make it. */
export async function windowRequest(url: string, init?: RequestInit): Promise<Response> {
  const handler = standIn.handlers.get(new URL(url).protocol.slice(0, -1))
  if (!handler) throw new Error(`No protocol handler answers ${url}.`)
  return handler(new Request(url, init))
}

/**
 * The window's protocol on a port, for a real browser: a page sees what the window would see. `origin` is where.
 * The messages between page and main process are not carried: see `runPreload`.
 */
export async function windowOverHttp(host = 'app://headscope'): Promise<{ origin: string; close(): void }> {
  const server = createServer(async (incoming, outgoing) => {
    const stop = new AbortController()
    outgoing.once('close', () => stop.abort())
    const hasBody = incoming.method !== 'GET' && incoming.method !== 'HEAD'
    const answer = await windowRequest(host + incoming.url, {
      method: incoming.method!,
      headers: incoming.headers as Record<string, string>,
      signal: stop.signal,
      ...(hasBody && { body: Readable.toWeb(incoming) as ReadableStream, duplex: 'half' }),
    } as RequestInit)
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers))
    if (answer.body) {
      Readable.fromWeb(answer.body as never)
        .on('error', () => outgoing.destroy())
        .pipe(outgoing)
    } else outgoing.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }
}

/** Runs a built preload as the sandbox does, for one window, and returns what it puts on the page's `window`. */
export function runPreload(file: string, window: BrowserWindow): Record<string, unknown> {
  const world: Record<string, unknown> = {}
  const fromMain = new EventEmitter()
  window.webContents.page = fromMain
  const modules: Record<string, unknown> = {
    electron: {
      contextBridge: { exposeInMainWorld: (name: string, api: unknown) => (world[name] = api) },
      ipcRenderer: {
        on: (channel: string, listener: Listener) => fromMain.on(channel, listener),
        removeListener: (channel: string, listener: Listener) => fromMain.off(channel, listener),
        send: (channel: string, ...args: unknown[]) =>
          ipcMain.emit(channel, { senderFrame: { url: window.url }, sender: window.webContents }, ...args),
      },
      webUtils: { getPathForFile: (file: { path?: string }) => file.path ?? '' },
    },
  }
  const require = (name: string) => {
    // A sandboxed preload has no other module: asking for one fails there as it does here.
    if (!(name in modules)) throw new Error(`module not found: ${name}`)
    return modules[name]
  }
  new Function('require', 'process', readFileSync(file, 'utf8'))(require, { platform: process.platform })
  return world
}

/**
 * Shows a window in a real browser: its protocol over HTTP, its preload in the page, messages carried both ways.
 * Close what it returns after the page.
 */
export async function showInBrowser(
  file: string,
  window: BrowserWindow,
  page: Page,
): Promise<{ close(): void }> {
  const server = await windowOverHttp()
  const fromMain = new EventEmitter()
  fromMain.emit = (channel, _event, ...args) => {
    // A page that is loading hears nothing, as in Electron.
    const call = `globalThis.fromMain?.(...${JSON.stringify([channel, ...args])})`
    page.evaluate(call).catch(() => {})
    return true
  }
  window.webContents.page = fromMain
  await page.exposeFunction('toMain', (channel: string, ...args: unknown[]) => {
    const senderFrame = { url: page.url().replace(server.origin, 'app://headscope') }
    ipcMain.emit(channel, { senderFrame, sender: window.webContents }, ...args)
  })
  await page.addInitScript(`{
    const listeners = new Map()
    globalThis.fromMain = (channel, ...args) => { for (const listen of listeners.get(channel) ?? []) listen({}, ...args) }
    const module = {
      contextBridge: { exposeInMainWorld: (name, api) => { globalThis[name] = api } },
      ipcRenderer: {
        on: (channel, listen) => listeners.set(channel, [...(listeners.get(channel) ?? []), listen]),
        removeListener: (channel, listen) => listeners.set(channel, listeners.get(channel).filter((other) => other !== listen)),
        send: (channel, ...args) => globalThis.toMain(channel, ...args),
      },
      webUtils: { getPathForFile: (file) => globalThis.droppedPaths?.[file.name] ?? '' },
    }
    const require = () => module
    const process = { platform: ${JSON.stringify(process.platform)} }
    ;(() => {${readFileSync(file, 'utf8')}
})()
  }`)
  window.webContents.emit('did-start-loading')
  await page.goto(`${server.origin}/`)
  return server
}

// --- The module ---

interface MenuItem {
  label?: string
  role?: string
  accelerator?: string
  click?: () => void
  submenu?: MenuItem[]
}

class App extends EventEmitter {
  requestSingleInstanceLock = () => true
  isReady = () => true
  whenReady = () => Promise.resolve()
  getPath = (_: string) => standIn.userData
  getVersion = () => '0.0.0-stand-in'
  addRecentDocument = (path: string) => standIn.recent.push(path)
  setAboutPanelOptions = (options: { credits?: string }) => {
    standIn.about = options
  }
  showAboutPanel = () => standIn.aboutShown++
  /** As Electron's: `will-quit` may be prevented, and then the app goes on. */
  quit(): void {
    standIn.quits++
    let prevented = false
    this.emit('will-quit', { preventDefault: () => (prevented = true) })
    if (!prevented) this.emit('quit')
  }
}

class WebContents extends EventEmitter {
  page: EventEmitter | null = null
  openHandler: ((details: { url: string }) => { action: string }) | null = null
  setWindowOpenHandler(handler: (details: { url: string }) => { action: string }): void {
    this.openHandler = handler
  }
  send(channel: string, ...args: unknown[]): void {
    this.page?.emit(channel, {}, ...structuredClone(args))
  }
}

export class BrowserWindow extends EventEmitter {
  readonly webContents = new WebContents()
  readonly options: Record<string, unknown> & { webPreferences: Record<string, unknown> }
  url = ''
  shown = false
  maximized = false
  focused = 0
  progress: number[] = []

  constructor(options: BrowserWindow['options']) {
    super()
    this.options = options
    standIn.windows.push(this)
  }
  async loadURL(url: string): Promise<void> {
    this.url = url
    this.webContents.emit('did-start-loading')
    await windowRequest(url)
    this.emit('ready-to-show')
  }
  show = () => {
    this.shown = true
  }
  focus = () => this.focused++
  setProgressBar = (share: number) => this.progress.push(share)
  maximize = () => {
    this.maximized = true
  }
  isMaximized = () => this.maximized
  isMinimized = () => false
  restore = () => {}
  getNormalBounds = () => ({ x: 10, y: 20, width: 1000, height: 700 })
  close(): void {
    this.emit('close')
    this.emit('closed')
  }
}

export const app = new App()
export const ipcMain = new EventEmitter()
export const nativeTheme = { shouldUseDarkColors: false }
export const screen = { getAllDisplays: () => [{ workArea: { x: 0, y: 0, width: 1920, height: 1080 } }] }
export const protocol = {
  registerSchemesAsPrivileged: (schemes: typeof standIn.schemes) => standIn.schemes.push(...schemes),
  handle: (scheme: string, handler: Handler) => standIn.handlers.set(scheme, handler),
}
export const session = {
  defaultSession: {
    setPermissionRequestHandler: (handler: typeof standIn.permissions.request) => {
      standIn.permissions.request = handler
    },
    setPermissionCheckHandler: (handler: typeof standIn.permissions.check) => {
      standIn.permissions.check = handler
    },
  },
}
export const dialog = {
  showErrorBox: (title: string, text: string) => standIn.errors.push(`${title}: ${text}`),
  showOpenDialog: async (...args: unknown[]) => {
    standIn.dialogs.push(args.at(-1))
    return standIn.chosen
  },
}
export const Menu = {
  buildFromTemplate: (template: MenuItem[]) => template,
  setApplicationMenu: (menu: MenuItem[]) => {
    standIn.menu = menu
  },
}
