import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { electronBinary } from './electron-binary.ts'

let root: string
let folder: string
let memory: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'headscope-binary-'))
  folder = join(root, 'electron')
  memory = join(root, 'cache', 'electron.json')
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), '{"version":"41.0.0"}')
})
afterEach(() => rmSync(root, { recursive: true }))

/** Runs with an installer that does what `source` says, and counts how often it ran. */
function fetching(source: string, more: { retry?: boolean; patience?: number } = {}) {
  const installer = join(root, 'install.cjs')
  const runs = join(root, 'runs')
  mkdirSync(runs, { recursive: true })
  writeFileSync(
    installer,
    `const fs = require('node:fs'); fs.writeFileSync(${JSON.stringify(runs)} + '/' + process.pid, '')
     const folder = ${JSON.stringify(folder)}; ${source}`,
  )
  const answer = electronBinary({ folder, memory, retry: false, installer, ...more })
  return answer.then((result) => ({ ...result, runs: readdirSync(runs).length }))
}

const FAILS = `console.error('RequestError: getaddrinfo ENOTFOUND example.org\\n    at x'); process.exit(1)`
const WORKS = `fs.mkdirSync(folder + '/dist'); fs.writeFileSync(folder + '/dist/electron', ''); fs.writeFileSync(folder + '/path.txt', 'electron')`

it('lets the installer fetch it once', async () => {
  const path = join(folder, 'dist', 'electron')
  expect(await fetching(WORKS)).toEqual({ path, runs: 1 })
  expect(await fetching(FAILS)).toEqual({ path, runs: 1 })
})

it('remembers a failure until it is asked again, or the version changes', async () => {
  expect(await fetching(FAILS)).toMatchObject({
    problem: expect.stringMatching(
      /^Electron 41\.0\.0 could not be fetched \(getaddrinfo ENOTFOUND example\.org\)/,
    ),
    runs: 1,
  })
  expect(await fetching(WORKS)).toMatchObject({
    problem: expect.stringContaining('could not be fetched before'),
    runs: 1,
  })
  writeFileSync(join(folder, 'package.json'), '{"version":"42.0.0"}')
  expect(await fetching(FAILS)).toMatchObject({ runs: 2 })
  expect(await fetching(WORKS, { retry: true })).toMatchObject({ path: expect.any(String), runs: 3 })
})

it('gives up when nothing arrives', async () => {
  expect(await fetching('setInterval(() => {}, 1000)', { patience: 600 })).toMatchObject({
    problem: expect.stringContaining('nothing arrived for 1 s'),
  })
})

it('says so when the package is not installed or the installer leaves nothing', async () => {
  expect(await fetching('')).toMatchObject({ problem: expect.stringContaining('left no program') })
  rmSync(folder, { recursive: true })
  expect(await fetching('')).toMatchObject({ problem: 'Electron is not among the installed packages' })
})
