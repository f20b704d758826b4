/** The native menu, as data. In: what its items do. Out: a template for Electron; shortcuts are the platform's own. */
import type { MenuItemConstructorOptions } from 'electron'
import type { DesktopCommand } from '../core/api/desktop.ts'

export interface MenuActions {
  readonly platform: string
  readonly openCheckpoint: () => void
  readonly openFile: () => void
  /** Shows the about box: on a Mac its menu is the system's own. */
  readonly about: () => void
  readonly send: (command: DesktopCommand) => void
}

/** Kept and drawn by macOS itself. */
const RECENT: MenuItemConstructorOptions = {
  label: 'Open Recent',
  role: 'recentDocuments',
  submenu: [{ role: 'clearRecentDocuments' }],
}

/** The menus from left to right. */
export function menuTemplate({
  platform,
  openCheckpoint,
  openFile,
  send,
  about,
}: MenuActions): MenuItemConstructorOptions[] {
  const mac = platform === 'darwin'
  const command = (label: string, id: DesktopCommand, accelerator: string): MenuItemConstructorOptions => ({
    label,
    accelerator,
    click: () => send(id),
  })
  return [
    ...(mac ? [{ role: 'appMenu' } as const] : []),
    {
      label: '&File',
      submenu: [
        { label: 'Open Checkpoint…', accelerator: 'CmdOrCtrl+O', click: openCheckpoint },
        { label: 'Open Checkpoint File…', accelerator: 'CmdOrCtrl+Shift+O', click: openFile },
        ...(mac ? [RECENT] : []),
        { type: 'separator' },
        mac ? { role: 'close' } : { role: 'quit' },
      ],
    },
    { role: 'editMenu' },
    {
      label: '&View',
      submenu: [
        command('Command Palette…', 'palette', 'CmdOrCtrl+K'),
        command('Light or Dark', 'theme', 'CmdOrCtrl+Shift+L'),
        { type: 'separator' },
        command('Back', 'back', mac ? 'Cmd+[' : 'Alt+Left'),
        command('Forward', 'forward', mac ? 'Cmd+]' : 'Alt+Right'),
        { type: 'separator' },
        { role: 'resetZoom' },
        { role: 'zoomIn' },
        { role: 'zoomOut' },
        { role: 'togglefullscreen' },
        { type: 'separator' },
        { role: 'reload' },
        { role: 'toggleDevTools' },
      ],
    },
    { role: 'windowMenu' },
    {
      role: 'help',
      submenu: [
        command('Examples…', 'examples', 'CmdOrCtrl+E'),
        command('Keyboard Shortcuts', 'shortcuts', 'CmdOrCtrl+/'),
        ...(mac ? [] : [{ type: 'separator' } as const, { label: 'About Headscope', click: about }]),
      ],
    },
  ]
}
