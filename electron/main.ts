/**
 * The desktop app: one window, one engine. It only composes: the engine is a Node process of its own (a native call of
 * the model would block this one), the window is sandboxed and reaches it through app://headscope/api.
 */
import { statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { app, type BrowserWindow, dialog, ipcMain, Menu } from 'electron'
import type { DesktopCommand, EngineState } from '../core/api/desktop.ts'
import { findNode, noNode } from '../core/cli/find-node.mjs'
import { whyNoRuntime } from '../core/cli/host.ts'
import { HeadscopeError } from '../core/errors.ts'
import { defaultStorePath } from '../core/store/default-path.ts'
import { aboutPanel } from './about.ts'
import { CHANNELS } from './channels.ts'
import { createEngineProcess, type EngineProcess } from './engine-process.ts'
import { menuTemplate } from './menu.ts'
import { projectPaths } from './paths.ts'
import { handleProtocol, registerScheme } from './protocol.ts'
import { denyPermissions, openWindow, ours } from './window.ts'

const paths = projectPaths()
let window: BrowserWindow | null = null
let engine: EngineProcess | null = null
/** Whether the page listens for folders to open: not while it loads. */
let pageListens = false
/** Folders to open that no page has heard of yet. */
const toOpen: string[] = foldersIn(process.argv.slice(app.isPackaged ? 1 : 2), process.cwd())

registerScheme()
if (app.requestSingleInstanceLock()) start()
else app.quit() // the first instance hears `second-instance` and opens what we were asked to open

function start(): void {
  app.on('second-instance', (_, argv, folder) => {
    for (const path of foldersIn(argv.slice(1), folder)) open(path)
    show()
  })
  app.on('open-file', (event, path) => {
    event.preventDefault()
    for (const folder of foldersIn([path], '/')) open(folder)
  })
  app.on('window-all-closed', () => {
    if (process.platform !== 'darwin') app.quit()
  })
  app.on('activate', () => {
    if (app.isReady()) show()
  })
  app.on('will-quit', (event) => {
    const leaving = engine
    if (!leaving) return
    engine = null
    event.preventDefault() // once: the work in flight is stopped and stored before the app goes
    void leaving.stop().finally(() => app.quit())
  })
  ipcMain.on(CHANNELS.listening, (event, channel) => {
    if (!event.senderFrame || !ours(event.senderFrame.url)) return
    if (channel === CHANNELS.open) {
      pageListens = true
      for (const path of toOpen.splice(0)) open(path)
    }
    if (channel === CHANNELS.engine && engine) event.sender.send(CHANNELS.engine, engine.state())
  })
  ipcMain.on(CHANNELS.choose, (event) => {
    if (event.senderFrame && ours(event.senderFrame.url)) void choose()
  })
  ipcMain.on(CHANNELS.progress, (event, share: unknown) => {
    if (!event.senderFrame || !ours(event.senderFrame.url)) return
    const known = typeof share === 'number' && share >= 0 && share <= 1
    window?.setProgressBar(known ? share : -1) // −1 takes the bar away
  })
  void app.whenReady().then(ready)
}

function ready(): void {
  try {
    engine = startEngine()
  } catch (error) {
    dialog.showErrorBox('Headscope cannot start', (error as Error).message)
    app.quit()
    return
  }
  handleProtocol(paths.renderer, engine.address)
  app.setAboutPanelOptions(aboutPanel(app.getVersion(), process.versions))
  denyPermissions()
  const send = (command: DesktopCommand) => window?.webContents.send(CHANNELS.command, command)
  const openCheckpoint = () => void choose()
  const openFile = () => void choose('file')
  Menu.setApplicationMenu(
    Menu.buildFromTemplate(
      menuTemplate({
        platform: process.platform,
        openCheckpoint,
        openFile,
        send,
        about: () => app.showAboutPanel(),
      }),
    ),
  )
  show()
}

function startEngine(): EngineProcess {
  const why = whyNoRuntime()
  if (why !== null) throw new HeadscopeError('unsupported', why)
  const node = findNode(paths.root)
  if (node === null) throw new HeadscopeError('unsupported', noNode())
  const storePath = defaultStorePath()
  return createEngineProcess({
    node,
    entry: paths.engine,
    options: {
      storePath,
      bundledDir: paths.models,
      rendererDir: paths.renderer,
      dataDir: dirname(storePath),
    },
    onState: (state: EngineState) => window?.webContents.send(CHANNELS.engine, state),
  })
}

function show(): void {
  if (!window) {
    window = openWindow(join(paths.shell, 'preload.cjs'))
    window.webContents.on('did-start-loading', () => {
      pageListens = false
    })
    window.on('closed', () => {
      window = null
      pageListens = false
    })
    return
  }
  if (window.isMinimized()) window.restore()
  window.focus()
}

/** Shows the system's dialog for folders or files; what is chosen goes to the page. */
async function choose(what: 'folder' | 'file' = 'folder'): Promise<void> {
  const options =
    what === 'folder'
      ? { title: 'Open a checkpoint folder', properties: ['openDirectory' as const] }
      : {
          title: 'Open a checkpoint file',
          properties: ['openFile' as const],
          filters: [{ name: 'Checkpoints', extensions: ['gguf', 'safetensors'] }],
        }
  const chosen = window ? await dialog.showOpenDialog(window, options) : await dialog.showOpenDialog(options)
  const path = chosen.filePaths[0]
  if (!chosen.canceled && path !== undefined) open(path)
}

/** Hands a folder to the page, or keeps it until a page listens. */
function open(path: string): void {
  app.addRecentDocument(path)
  if (window && pageListens) window.webContents.send(CHANNELS.open, path)
  else toOpen.push(path)
}

/** The checkpoints among arguments: folders and GGUF files; another file means the folder that holds it. */
function foldersIn(args: readonly string[], base: string): string[] {
  return args
    .filter((arg) => arg !== '' && !arg.startsWith('-'))
    .map((arg) => resolve(base, arg))
    .flatMap((path) => {
      const found = statSync(path, { throwIfNoEntry: false })
      if (!found || path === paths.root || path.startsWith(paths.shell)) return []
      return [found.isDirectory() || /\.gguf$/i.test(path) ? path : dirname(path)]
    })
}
