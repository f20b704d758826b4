/**
 * What the about box says. In: the app's version and those of what it runs on. Out: options for Electron's own box. The
 * model runs on a Node and an ONNX Runtime of its own, so their versions are read from what is installed.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AboutPanelOptionsOptions } from 'electron'
import { projectPaths } from './paths.ts'

/** Packages whose versions a report of a defect needs. */
const PACKAGES = ['onnxruntime-node', 'better-sqlite3']

/** Options of the about box. `root` is the folder that holds node_modules. */
export function aboutPanel(
  version: string,
  versions: Readonly<Record<string, string | undefined>>,
  root = projectPaths().root,
): AboutPanelOptionsOptions {
  const runs = [
    ...PACKAGES.map((name) => [name, installed(root, name)]),
    ['Electron', versions.electron],
    ['Chromium', versions.chrome],
    ['Node', versions.node],
  ].flatMap(([name, value]) => (value ? [`${name} ${value}`] : []))
  const lines = runs.join('\n')
  return {
    applicationName: 'Headscope',
    applicationVersion: version,
    copyright: 'MIT License',
    credits: lines, // macOS and Windows
    authors: runs, // Linux has no other place for lines
    iconPath: join(root, 'electron', 'icon.png'),
  }
}

function installed(root: string, name: string): string | null {
  try {
    const text = readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')
    return (JSON.parse(text) as { version: string }).version
  } catch {
    return null // not there: the box says what is
  }
}
