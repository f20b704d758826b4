import { describe, expect, it } from 'vitest'
import { createModelCache } from './model-cache.ts'

function fakes() {
  const log: string[] = []
  const open = async (path: string) => {
    log.push(`open ${path}`)
    if (path === 'bad') throw new Error('bad folder')
    return { path, close: async () => void log.push(`close ${path}`) }
  }
  return { log, open }
}

describe('model cache', () => {
  it('opens a model once and closes the least recently used beyond the limit', async () => {
    const { log, open } = fakes()
    const cache = createModelCache(open, 2)
    for (const path of ['a', 'b', 'a', 'c']) await cache.use(path, () => undefined)
    expect(log).toEqual(['open a', 'open b', 'open c', 'close b'])
  })

  it('keeps a model that is in use', async () => {
    const { log, open } = fakes()
    const cache = createModelCache(open, 1)
    let release = () => {}
    const held = cache.use('a', () => new Promise<void>((resolve) => (release = resolve)))
    await cache.use('b', () => undefined)
    expect(log).not.toContain('close a')
    release()
    await held
    await cache.closeAll()
    expect(log.filter((line) => line.startsWith('close'))).toHaveLength(2)
  })

  it('tries again after a failure', async () => {
    const { log, open } = fakes()
    const cache = createModelCache(open, 2)
    await expect(cache.use('bad', () => 1)).rejects.toThrow('bad folder')
    await expect(cache.use('bad', () => 1)).rejects.toThrow('bad folder')
    expect(log).toEqual(['open bad', 'open bad'])
  })

  it('opens again when the files have changed, and closes the old one after its last user', async () => {
    const { log, open } = fakes()
    let stamp = '1'
    const cache = createModelCache(open, 2, () => stamp)
    let release = () => {}
    const held = cache.use('a', () => new Promise<void>((resolve) => (release = resolve)))
    await cache.use('a', () => undefined)
    stamp = '2'
    await cache.use('a', () => undefined)
    expect(log).toEqual(['open a', 'open a'])
    release()
    await held
    expect(log).toEqual(['open a', 'open a', 'close a'])
    stamp = '3'
    await cache.use('a', () => undefined)
    expect(log).toEqual(['open a', 'open a', 'close a', 'open a', 'close a'])
  })
})
