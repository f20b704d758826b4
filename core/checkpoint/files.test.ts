import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { makeFolder } from './files.ts'

const folder = mkdtempSync(join(tmpdir(), 'headscope-files-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('makeFolder', () => {
  it('makes every level that is missing, and takes what is there', () => {
    const path = join(folder, 'a', 'b', 'c')
    makeFolder(path)
    makeFolder(path)
    expect(existsSync(path)).toBe(true)
  })

  it.skipIf(process.platform !== 'linux')('answers at once for a path that cannot exist', () => {
    const began = performance.now()
    expect(() => makeFolder('/proc/no-such/place/x')).toThrow(
      expect.objectContaining({
        code: 'bad-request',
        message:
          'The folder /proc/no-such/place/x cannot be made (/proc/no-such: no folder can be made there); choose a place that you may write to.',
      }),
    )
    expect(performance.now() - began).toBeLessThan(1000)
  })

  it('names the file that stands in the way, with the code that was asked for', () => {
    const file = join(folder, 'file')
    writeFileSync(file, '')
    expect(() => makeFolder(join(file, 'below'), 'bad-store')).toThrow(
      expect.objectContaining({
        code: 'bad-store',
        message: expect.stringMatching(/file: a part of the path is a file/),
      }),
    )
  })
})
