/**
 * What stands in front of every handler: who may ask (token, Host, Origin), what a body must look like, and how an
 * error is answered. The server listens on loopback, but a web page in the same browser can reach loopback too; so a
 * request needs the token, a loopback Host (no rebinding of names) and, when it says one, that Host as its Origin.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { Context, MiddlewareHandler } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import { HTTPException } from 'hono/http-exception'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { validator } from 'hono/validator'
import type { z } from 'zod'
import { type ErrorCode, HeadscopeError, sentence } from '../errors.ts'
import type { ApiError } from './contract.ts'
import { CONTENT_SECURITY_POLICY, SECURITY_HEADERS } from './security.ts'

const STATUS: Readonly<Record<ErrorCode, ContentfulStatusCode>> = {
  'bad-checkpoint': 422,
  unsupported: 422,
  'bad-prompt': 422,
  'bad-edit': 422,
  'bad-request': 400,
  'bad-store': 409,
  'no-space': 507,
  'not-found': 404,
  'in-use': 409,
  cancelled: 409,
  internal: 500,
}

/** Answers any thrown value as {error: {code, message}}; a defect of ours is also written to stderr, with its stack. */
export function answerError(error: unknown, c: Context): Response {
  if (error instanceof HTTPException) return refuse(c, error.status, sentence(error))
  const { code, message } = toApiError(error).error
  if (code === 'internal') console.error(error)
  return c.json<ApiError>({ error: { code, message } }, STATUS[code])
}

/** The error body of any thrown value. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof HeadscopeError) return { error: { code: error.code, message: error.message } }
  if ((error as Error)?.name === 'AbortError')
    return { error: { code: 'cancelled', message: 'This was cancelled.' } }
  return { error: { code: 'internal', message: `Headscope met a defect of its own: ${sentence(error)}` } }
}

function refuse(c: Context, status: ContentfulStatusCode, message: string): Response {
  return c.json<ApiError>({ error: { code: status === 404 ? 'not-found' : 'bad-request', message } }, status)
}

/** Sets the security headers on every answer, and the content security policy on every page. */
export function securityHeaders(): MiddlewareHandler {
  return async (c, next) => {
    await next()
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) c.header(name, value)
    if (c.res.headers.get('content-type')?.startsWith('text/html')) {
      c.header('content-security-policy', CONTENT_SECURITY_POLICY)
    }
    if (!c.res.headers.has('cache-control')) c.header('cache-control', 'no-store')
  }
}

/**
 * Names that lead to this machine and nowhere else: no name server decides them, so no page of another host can turn its
 * own name into one. Any port: an SSH tunnel may end at another one than ours.
 */
const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|localhost|\[::1\])(?::(\d{1,5}))?$/

/**
 * Lets a request through when it comes from us: its Host is a loopback name, its Origin, when it says one, is that very
 * Host, and it carries the token as a cookie, as `authorization: Bearer`, or once in a page's URL (which sets the
 * cookie and redirects without it).
 */
export function guard(token: string): MiddlewareHandler {
  return async (c, next) => {
    const host = (c.req.header('host') ?? '').toLowerCase()
    const loopback = LOOPBACK.exec(host)
    if (!loopback) {
      return refuse(
        c,
        403,
        `The Host ${JSON.stringify(host)} is not this server: open it as http://127.0.0.1 with its port, through a tunnel from another machine.`,
      )
    }
    const origin = c.req.header('origin')
    if (origin !== undefined && origin !== `http://${host}`) {
      return refuse(c, 403, `Pages of ${JSON.stringify(origin)} may not use this server.`)
    }
    const url = new URL(c.req.url)
    const site = c.req.header('sec-fetch-site')
    if (url.pathname.startsWith('/api') && site !== undefined && site !== 'same-origin' && site !== 'none') {
      return refuse(c, 403, 'Pages of another origin may not use this server.')
    }
    // Cookies are shared by all ports of a host: the port that the browser sees, in the name, keeps two engines apart.
    const cookie = `headscope-${loopback[1] ?? 80}`
    const given = url.searchParams.get('token')
    if (given !== null && c.req.method === 'GET' && !url.pathname.startsWith('/api') && same(given, token)) {
      setCookie(c, cookie, token, { httpOnly: true, sameSite: 'Strict', path: '/' })
      url.searchParams.delete('token')
      return enter(c, url.pathname + url.search, site === 'cross-site')
    }
    const bearer = /^Bearer (.+)$/i.exec(c.req.header('authorization') ?? '')?.[1]
    if (same(bearer ?? getCookie(c, cookie) ?? '', token)) return next()
    return refuse(c, 401, 'This server needs its token: open the URL that it printed when it started.')
  }
}

/**
 * Sends the browser on to the same page without the token. A redirect of a visit that began on another site does not
 * carry a strict cookie, so that visit goes on from a page of ours instead.
 */
function enter(c: Context, path: string, fromElsewhere: boolean): Response {
  // `//host` would leave this server.
  const target = path.replace(/^\/+/, '/')
  if (!fromElsewhere) return c.redirect(target, 302)
  const escaped = target.replace(/[&"<>]/g, (char) => `&#${char.charCodeAt(0)};`)
  return c.html(
    `<!doctype html><meta http-equiv="refresh" content="0;url=${escaped}"><title>Headscope</title>`,
  )
}

function same(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}

/**
 * Validates a JSON body as the `T` of contract.ts; what does not fit is one sentence that names the field. JSON knows
 * no undefined, so an optional field of the schema is an absent one: that is what the cast says.
 */
export function body<T>(schema: z.ZodType) {
  return validator('json', (value: unknown, c): T => {
    if (!/^application\/json\b/i.test(c.req.header('content-type') ?? '')) {
      throw new HeadscopeError(
        'bad-request',
        'The request needs a JSON body with content-type application/json.',
      )
    }
    return check(schema, value, 'body') as T
  })
}

/** Validates the query string. Values are strings; use z.coerce for numbers. */
export function query<S extends z.ZodType>(schema: S) {
  return validator('query', (value: unknown): z.output<S> => check(schema, value, 'query'))
}

/** A run or job number in a path: a whole number from 1. Throws not-found otherwise. */
export function idOf(text: string, kind: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text))
    throw new HeadscopeError('not-found', `There is no ${kind} ${JSON.stringify(text)}.`)
  return Number(text)
}

function check<S extends z.ZodType>(schema: S, value: unknown, where: string): z.output<S> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const issue = nearest(result.error.issues[0]!)
  const field = issue.path.length > 0 ? `field ${JSON.stringify(issue.path.join('.'))}` : where
  throw new HeadscopeError(
    'bad-request',
    `The ${field} of this request does not fit: ${lower(issue.message)}.`,
  )
}

/** Of a value that may have several forms: the first fault of the form that it comes closest to. */
function nearest(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return issue
  const closest = issue.errors.reduce((best, form) => (form.length < best.length ? form : best))
  if (closest.length === 0) return issue
  const inner = nearest(closest[0]!)
  return { ...inner, path: [...issue.path, ...inner.path] }
}

function lower(message: string): string {
  return (message.charAt(0).toLowerCase() + message.slice(1)).replace(/\.$/, '')
}
