/**
 * What the page may ask of the desktop: the whole of it is `window.headscope`. Runs in the sandbox, so it is built as
 * one CommonJS file and knows only Electron's bridge.
 */
import { contextBridge, type IpcRendererEvent, ipcRenderer, webUtils } from 'electron'
import type { DesktopApi } from '../core/api/desktop.ts'
import { CHANNELS } from './channels.ts'

function on<T>(channel: string, listener: (value: T) => void): () => void {
  // The event object would hand the page Electron's own sender: only the value goes on.
  const heard = (_: IpcRendererEvent, value: T) => listener(value)
  ipcRenderer.on(channel, heard)
  ipcRenderer.send(CHANNELS.listening, channel)
  return () => ipcRenderer.removeListener(channel, heard)
}

const api: DesktopApi = {
  platform: process.platform,
  chooseCheckpoint: () => ipcRenderer.send(CHANNELS.choose),
  pathOf: (file) => webUtils.getPathForFile(file as File),
  showProgress: (share) => ipcRenderer.send(CHANNELS.progress, share),
  onOpen: (listener) => on(CHANNELS.open, listener),
  onCommand: (listener) => on(CHANNELS.command, listener),
  onEngine: (listener) => on(CHANNELS.engine, listener),
}

contextBridge.exposeInMainWorld('headscope', api)
