import { MessageChannel } from 'node:worker_threads'
import { afterEach, describe, expect, it } from 'vitest'
import type { HeadscopeError } from '../../errors.ts'
import { createComputeClient } from './client.ts'
import { type Call, type FromWorker, serveMethods } from './rpc.ts'

/** A worker of our own: the real thread, the real calls, small methods. */
const worker = (source: string) => new URL(`data:text/javascript,${encodeURIComponent(source)}`)
const rpc = JSON.stringify(new URL('./rpc.ts', import.meta.url).href)
const errors = JSON.stringify(new URL('../../errors.ts', import.meta.url).href)

type Methods = {
  twice: (n: number) => number
  spin: (blocks: number, call: Call) => number
  fail: (code: string) => void
  die: (_: null) => void
  leave: (_: object) => void
}

const source = worker(`
  import { parentPort } from 'node:worker_threads'
  const { serveMethods } = await import(${rpc})
  const { HeadscopeError } = await import(${errors})
  serveMethods(parentPort, {
    twice: (n) => n * 2,
    // Blocks its thread as a native call does, and looks at the signal between blocks without giving way.
    spin: (blocks, { signal, progress }) => {
      for (let done = 0; done < blocks; done++) {
        progress({ done, total: blocks, secondsLeft: null })
        const end = Date.now() + 5
        while (Date.now() < end);
        signal.throwIfAborted()
      }
      return blocks
    },
    fail: (code) => { throw code ? new HeadscopeError(code, 'One sentence.') : new TypeError('x is not a function') },
    die: () => { setImmediate(() => { throw new Error('a bug outside of any call') }) ; return new Promise(() => {}) },
    leave: () => {},
  })
`)

let client = createComputeClient<Methods>(source, null, 'leave')
afterEach(async () => {
  await client.close()
  client = createComputeClient<Methods>(source, null, 'leave')
})

describe('calls across the worker', () => {
  it('returns results and progress', async () => {
    expect(await client.call('twice', 21)).toBe(42)
    const seen: number[] = []
    expect(await client.call('spin', 3, { onProgress: ({ done }) => seen.push(done) })).toBe(3)
    expect(seen).toEqual([0, 1, 2])
  })

  it('keeps the code and the sentence of an error, and serves the next call', async () => {
    await expect(client.call('fail', 'bad-prompt')).rejects.toMatchObject({
      code: 'bad-prompt',
      message: 'One sentence.',
    })
    expect(await client.call('twice', 1)).toBe(2)
  })

  it('cancels a call that never returns to its event loop', async () => {
    const stop = new AbortController()
    const before = Date.now()
    const call = client.call('spin', 2000, { signal: stop.signal, onProgress: () => stop.abort() })
    await expect(call).rejects.toMatchObject({ code: 'cancelled' })
    expect(Date.now() - before).toBeLessThan(5000)
    expect(await client.call('twice', 4)).toBe(8)
  })

  it('fails what was under way when the worker dies, and starts another', async () => {
    await expect(client.call('die', null)).rejects.toMatchObject({
      code: 'internal',
      message: /broke off: a bug outside/,
    })
    expect(await client.call('twice', 5)).toBe(10)
  })

  it('close() cancels, waits, and refuses later calls', async () => {
    let begun = () => {}
    const started = new Promise<void>((resolve) => (begun = resolve))
    const running = client
      .call('spin', 2000, { onProgress: begun })
      .catch((error: HeadscopeError) => error.code)
    await started
    await client.close()
    expect(await running).toBe('cancelled')
    await expect(client.call('twice', 1)).rejects.toThrow('shutting down')
  }, 20_000)
})

it('an unknown method is an error, also one that every object has', async () => {
  const { port1, port2 } = new MessageChannel()
  serveMethods(port2, {})
  const reply = new Promise<FromWorker>((resolve) => port1.on('message', resolve))
  port1.postMessage({ type: 'call', id: 1, method: 'toString', input: null, flag: new SharedArrayBuffer(4) })
  expect(await reply).toMatchObject({ type: 'error', error: { code: 'internal' } })
  port1.close()
})
