/** Prompts beyond 2,048 tokens on the command line: patterns as summaries, whole ones on request. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { openStore } from '../../core/store/capture-store.ts'
import { commandLine } from '../support/command-line.ts'

describe('run', () => {
  const folder = mkdtempSync(join(tmpdir(), 'headscope-long-'))
  const headscope = commandLine(folder)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const ids = Array.from({ length: 2100 }, (_, i) => (i * 37) % 1024).join(',')

  test('keeps summaries of a long prompt, and says so', async () => {
    const file = join(folder, 'work.db')
    const { code, stdout, stderr } = await headscope(
      'run',
      'induction-2l',
      '--ids',
      ids,
      '--store',
      file,
      '--json',
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const { summaries, run } = JSON.parse(stdout)
    expect(summaries[0].heads).toHaveLength(16)
    for (const { entropy, sink, by_distance } of summaries[0].heads) {
      expect(entropy).toBeGreaterThanOrEqual(0)
      expect(sink).toBeLessThanOrEqual(1)
      expect(by_distance.length).toBe(64)
    }
    const store = openStore(file, { readonly: true })
    const { cellList, complete } = store.experiment(summaries[0].experiment)
    expect(complete).toBe(true)
    expect(cellList).toHaveLength(16)
    const { edge_keys } = cellList[0]!.value as { edge_keys: string }
    expect(Buffer.from(edge_keys, 'base64').length).toBe(2100 * 4 * 4)
    expect(store.hooks(run).some((hook) => hook.includes('pattern'))).toBe(false)
    store.close()
  })

  test('a word that is none of the three is wrong usage', async () => {
    const { code, stderr } = await headscope(
      'run',
      'induction-2l',
      '--ids',
      '1,2',
      '--no-store',
      '--patterns',
      'some',
    )
    expect(code).toBe(2)
    expect(stderr).toContain('full, summary or none')
  })
})
