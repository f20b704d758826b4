import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { aboutPanel } from './about.ts'
import { projectPaths } from './paths.ts'

it('names the versions of the app and of what it runs on, and leaves out what it does not know', () => {
  const { root } = projectPaths()
  const wanted = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  const panel = aboutPanel('1.2.3', { electron: '41.0.0', chrome: '140.0', node: '24.0.0' }, root)
  expect(panel.applicationVersion).toBe('1.2.3')
  expect(panel.credits!.split('\n')).toEqual([
    `onnxruntime-node ${wanted.dependencies['onnxruntime-node']}`,
    `better-sqlite3 ${wanted.dependencies['better-sqlite3']}`,
    'Electron 41.0.0',
    'Chromium 140.0',
    'Node 24.0.0',
  ])
  expect(aboutPanel('1.2.3', { electron: '41.0.0' }, '/no/such/folder').credits).toBe('Electron 41.0.0')
})
