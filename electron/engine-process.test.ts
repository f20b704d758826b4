import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { EngineState } from '../core/api/desktop.ts'
import { createEngineProcess, type EngineProcess } from './engine-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'headscope-process-'))
const states: EngineState[] = []
let engine: EngineProcess
afterAll(() => rmSync(folder, { recursive: true }))
beforeEach(() => {
  states.length = 0
})
afterEach(() => engine.stop())

/** A small engine: it does what `source` says, with what it is told. */
function run(source: string, options: unknown = {}): EngineProcess {
  const entry = join(folder, 'engine.mjs')
  writeFileSync(
    entry,
    `const options = JSON.parse(process.argv[2]); process.on('disconnect', () => process.exit()); ${source}`,
  )
  engine = createEngineProcess({
    node: process.execPath,
    entry,
    options,
    onState: (state) => states.push(state),
  })
  return engine
}

const READY = "process.send({ type: 'ready', url: '', port: 7, token: options.token })"

it('hands over its address and starts again after a death', async () => {
  run(READY, { token: 'abc' })
  expect(await engine.address()).toEqual({ port: 7, token: 'abc' })
  const first = engine.pid()!
  process.kill(first, 'SIGKILL')
  await vi.waitFor(() => expect(states.map(({ state }) => state)).toEqual(['ready', 'restarting', 'ready']))
  expect(await engine.address()).toEqual({ port: 7, token: 'abc' })
  expect(engine.pid()).not.toBe(first)
})

it('gives up after three deaths, with the last words', async () => {
  const silent = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  run("console.error('out of luck'); process.exitCode = 3; process.disconnect()")
  await vi.waitFor(() => expect(states.at(-1)?.state).toBe('failed'), 10_000)
  silent.mockRestore()
  expect(states.map(({ state }) => state)).toEqual(['restarting', 'restarting', 'failed'])
  expect(states.at(-1)!.message).toBe('The engine ended (exit 3): out of luck.')
  await expect(engine.address()).rejects.toThrow('out of luck')
})

it('does not try again when the workspace cannot be opened', async () => {
  run(
    `process.send({ type: 'failed', code: 'bad-store', message: 'x.db is no workspace.' }); process.exitCode = 1; process.disconnect()`,
  )
  await expect(engine.address()).rejects.toThrow('x.db is no workspace.')
  await vi.waitFor(() => expect(states).toEqual([{ state: 'failed', message: 'x.db is no workspace.' }]))
  await expect(engine.address()).rejects.toThrow('x.db is no workspace.')
})

it('says so when there is no such program', async () => {
  engine = createEngineProcess({
    node: join(folder, 'none'),
    entry: '',
    options: {},
    onState: (state) => states.push(state),
  })
  await vi.waitFor(() => expect(states.at(-1)?.state).toBe('failed'))
  expect(states.at(-1)!.message).toMatch(/^The engine did not start: .*ENOENT/)
})

it('ends with stop(), and is not started again', async () => {
  run(READY)
  await engine.address()
  const pid = engine.pid()!
  await engine.stop()
  expect(() => process.kill(pid, 0)).toThrow()
  expect(states.map(({ state }) => state)).toEqual(['ready'])
})
