import { afterEach, expect, test, vi } from 'vitest'
import { ApiFailure, api, onUnanswered } from './client.ts'

const codes = Uint16Array.from([0x3c00, 0x3800, 0x3800]) // 1 | .5 .5
const bytes = new Uint8Array(codes.buffer)
const headers = {
  'content-length': String(bytes.length),
  'x-headscope-shape': '[2,2]',
  'x-headscope-dtype': 'f16',
  'x-headscope-codec': 'tri',
}

/** An answer whose body comes in pieces; `broken` fails after the last of them. */
function answer(pieces: readonly Uint8Array[], type: 'bytes' | undefined, broken = false): Response {
  let at = 0
  const body = new ReadableStream({
    ...(type && { type }),
    pull(controller: ReadableByteStreamController) {
      const piece = pieces[at++]
      if (piece) controller.enqueue(new Uint8Array(piece))
      else if (broken) controller.error(new TypeError('network error'))
      else {
        controller.close()
        controller.byobRequest?.respond(0)
      }
    },
  } as UnderlyingByteSource)
  return new Response(body, { headers })
}

afterEach(() => {
  vi.unstubAllGlobals()
  onUnanswered(() => undefined)
})

test.each([
  ['bytes', 'bytes' as const],
  ['no bytes, as in Safari', undefined],
])('a pattern is read from pieces of a stream of %s', async (_, type) => {
  vi.stubGlobal('fetch', async () => answer([bytes.subarray(0, 1), bytes.subarray(1, 6)], type))
  expect(await api.pattern(1, 0, 0)).toEqual({ size: 2, layout: 'tri', data: codes })
})

test.each([['ends', false] as const, ['breaks', true] as const])(
  'a body that %s halfway is an engine that does not answer',
  async (_, broken) => {
    const unanswered = vi.fn()
    onUnanswered(unanswered)
    vi.stubGlobal('fetch', async () => answer([bytes.subarray(0, 4)], 'bytes', broken))
    const failure = await api.pattern(1, 0, 0).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(ApiFailure)
    expect(failure).toMatchObject({ code: 'offline', message: expect.stringContaining('does not answer') })
    expect(unanswered).toHaveBeenCalledOnce()
  },
)
