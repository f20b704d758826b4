/**
 * app://headscope/: the renderer's files and, under /api, the engine. In: a request of the window. Out: an answer.
 * The token is added here, so that no page ever holds it; bodies and event streams pass through as they come.
 */
import { protocol } from 'electron'
import type { ApiError } from '../core/api/contract.ts'
import { CONTENT_SECURITY_POLICY, SECURITY_HEADERS } from '../core/api/security.ts'
import { staticFile } from '../core/api/static.ts'
import { sentence } from '../core/errors.ts'
import type { EngineAddress } from './engine-process.ts'

export const SCHEME = 'app'
export const ORIGIN = `${SCHEME}://headscope`

/** Request headers that mean something to the engine; none of the window's own. */
const PASSED_ON = ['accept', 'content-type', 'last-event-id', 'if-none-match']

/** Must be called before the app is ready: makes the scheme a full origin with fetch and streams. */
export function registerScheme(): void {
  protocol.registerSchemesAsPrivileged([
    { scheme: SCHEME, privileges: { standard: true, secure: true, supportFetchAPI: true, stream: true } },
  ])
}

/** Answers every request of the window. `address` waits for an engine that is starting. */
export function handleProtocol(rendererDir: string, address: () => Promise<EngineAddress>): void {
  protocol.handle(SCHEME, (request) => {
    const url = new URL(request.url)
    if (url.host !== 'headscope') return new Response('There is no such host.', { status: 404 })
    return url.pathname.startsWith('/api/') ? passOn(request, url, address) : page(rendererDir, url.pathname)
  })
}

async function passOn(request: Request, url: URL, address: () => Promise<EngineAddress>): Promise<Response> {
  try {
    const { port, token } = await address()
    const headers = new Headers({ authorization: `Bearer ${token}` })
    for (const name of PASSED_ON) {
      const value = request.headers.get(name)
      if (value !== null) headers.set(name, value)
    }
    const body = request.method === 'GET' || request.method === 'HEAD' ? null : await request.arrayBuffer()
    const target = `http://127.0.0.1:${port}${url.pathname}${url.search}`
    const { signal } = request
    const answer = await fetch(target, { method: request.method, headers, body, signal, redirect: 'error' })
    return new Response(answer.body, { status: answer.status, headers: answer.headers })
  } catch (error) {
    const message = `The engine does not answer: ${sentence(error)}`
    return Response.json({ error: { code: 'internal', message } } satisfies ApiError, { status: 503 })
  }
}

async function page(rendererDir: string, pathname: string): Promise<Response> {
  const file = await staticFile(rendererDir, pathname)
  if (file.status !== 200) {
    return new Response(file.message, {
      status: file.status,
      headers: { 'content-type': 'text/plain; charset=utf-8' },
    })
  }
  const headers = { ...SECURITY_HEADERS, 'content-type': file.type, 'cache-control': file.cache }
  const policy = { 'content-security-policy': CONTENT_SECURITY_POLICY }
  return new Response(file.body, {
    headers: file.type.startsWith('text/html') ? { ...headers, ...policy } : headers,
  })
}
