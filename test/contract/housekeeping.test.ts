/** Housekeeping as a person does it: the commands `store` and `cache`, and the same over the API. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CommandLine, commandLine } from '../support/command-line.ts'

let folder: string
let headscope: CommandLine
const store = () => join(folder, 'data', 'workspace.db')

// biome-ignore lint/suspicious/noExplicitAny: documents are looked at field by field
async function json(...args: string[]): Promise<any> {
  const { code, stdout, stderr } = await headscope(...args, '--json')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout)
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headscope-housekeeping-'))
  headscope = commandLine(folder)
  for (const ids of ['5,9,12,5,9', '5,9', '7,7,7']) await json('run', 'induction-2l', '--ids', ids)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('headscope store', () => {
  it('lists runs with their sizes', async () => {
    const found = await json('store', 'list')
    expect(found.path).toBe(store())
    expect(found.runs.map((run: { id: number; captures: boolean }) => [run.id, run.captures])).toEqual([
      [3, true],
      [2, true],
      [1, true],
    ])
    for (const { bytes } of found.runs) expect(bytes).toBeGreaterThan(1000)
    const { stdout } = await headscope('store', 'list')
    expect(stdout).toMatch(/3 +induction-2l +3 +[\d.]+ KB/)
    expect(await json('store', 'path')).toMatchObject({ path: store() })
  })

  it('drops captures, deletes, and compacts', async () => {
    expect(await json('store', 'keep-scores', '1')).toMatchObject({ kept_scores: [1] })
    expect(await json('store', 'delete', '2', '2')).toMatchObject({ deleted: [2] })
    const { runs, free } = await json('store', 'list')
    expect(runs.map(({ id, captures }: { id: number; captures: boolean }) => [id, captures])).toEqual([
      [3, true],
      [1, false],
    ])
    expect(free).toBeGreaterThan(0)
    const compacted = await json('store', 'compact')
    expect(compacted.after).toBeLessThan(compacted.before)
    expect((await json('store', 'list')).free).toBe(0)
    expect(await json('store', 'keep-scores', '--all')).toMatchObject({ kept_scores: [3, 1] })
  })

  it('touches nothing when a run is not there, and makes no workspace', async () => {
    const missing = await headscope('store', 'delete', '3', '99')
    expect(missing).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^Run 99 is not/) })
    expect((await json('store', 'list')).runs).toHaveLength(2)
    const absent = join(folder, 'absent.db')
    expect(await headscope('store', 'compact', '--store', absent)).toMatchObject({ code: 1 })
    expect(existsSync(absent)).toBe(false)
    for (const wrong of [['frob'], ['delete'], ['delete', 'x'], ['list', '1'], ['delete', '1', '--all']])
      expect((await headscope('store', ...wrong)).code, wrong.join(' ')).toBe(2)
  })
})

describe('headscope cache', () => {
  it('says what working copies take, and removes them and nothing else', async () => {
    const cache = join(folder, 'cache')
    mkdirSync(join(cache, 'weights'), { recursive: true })
    writeFileSync(join(cache, 'weights', 'x.f32.safetensors'), Buffer.alloc(5000))
    writeFileSync(join(cache, 'mine.txt'), 'stays')
    const { bytes, path } = await json('cache', 'size')
    expect(path).toBe(cache)
    expect(bytes).toBeGreaterThanOrEqual(5000)
    expect(await json('cache', 'clear')).toMatchObject({ bytes: 0, freed: bytes })
    expect(existsSync(join(cache, 'mine.txt'))).toBe(true)
    expect((await json('cache', 'size')).bytes).toBe(0)
  })
})
