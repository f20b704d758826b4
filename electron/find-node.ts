/**
 * The Node that runs the engine. In: the project's folder. Out: the path of a Node 24 or newer. The one that npm
 * installed with the project comes first, so that the engine is the same in the desktop app and in the terminal.
 */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { HeadscopeError } from '../core/errors.ts'

export interface NodeHost {
  readonly platform: string
  readonly arch: string
  /** The program that runs now, its Node version, and whether it is Electron. */
  readonly execPath: string
  readonly version: string
  readonly electron: boolean
}

const here = (): NodeHost => ({
  platform: process.platform,
  arch: process.arch,
  execPath: process.execPath,
  version: process.versions.node,
  electron: 'electron' in process.versions,
})

/** Path of the engine's Node. Throws `unsupported` when there is none, naming the package that should hold it. */
export function findNode(root: string, host: NodeHost = here()): string {
  const system = host.platform === 'win32' ? 'win' : host.platform
  const name = `node-${system}-${host.arch}`
  const file = host.platform === 'win32' ? 'node.exe' : 'node'
  // node_modules may lie above the project when it is installed as a dependency.
  for (let folder = root; ; folder = dirname(folder)) {
    const path = join(folder, 'node_modules', name, 'bin', file)
    if (existsSync(path)) return path
    if (dirname(folder) === folder) break
  }
  if (!host.electron && Number.parseInt(host.version, 10) >= 24) return host.execPath
  throw new HeadscopeError(
    'unsupported',
    `No Node 24 was installed with Headscope (package ${name}): run npm ci again with its optional dependencies.`,
  )
}
