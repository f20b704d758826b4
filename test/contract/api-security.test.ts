/** Who may use the server, and what its pages may do. Real sockets, the real app; the engine behind it is not asked. */
import { networkInterfaces } from 'node:os'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ask as askPort, type BareApi, bearer, startBareApi, TOKEN } from './api-bare.ts'

let api: BareApi
let ask: (...args: Tail<Parameters<typeof askPort>>) => ReturnType<typeof askPort>
type Tail<T extends unknown[]> = T extends [unknown, ...infer R] ? R : never

beforeAll(async () => {
  api = await startBareApi()
  ask = (...args) => askPort(api.port, ...args)
})
afterAll(() => api.close())

describe('the token', () => {
  it('is needed for the API and for pages', async () => {
    for (const path of ['/api/about', '/', '/assets/main-1.js']) {
      const answer = await ask(path)
      expect(answer.status).toBe(401)
      expect(JSON.parse(answer.text).error.message).toMatch(/needs its token/)
    }
    expect((await ask('/api/about', { authorization: 'Bearer wrong' })).status).toBe(401)
    expect((await ask('/?token=wrong')).status).toBe(401)
  })

  it('in the URL once becomes a strict cookie, and the URL loses it', async () => {
    const first = await ask(`/models/x?token=${TOKEN}&head=L1H3`)
    expect(first.status).toBe(302)
    expect(first.headers.location).toBe('/models/x?head=L1H3')
    const cookie = String(first.headers['set-cookie'])
    expect(cookie).toMatch(/HttpOnly/i)
    expect(cookie).toMatch(/SameSite=Strict/i)
    const page = await ask('/', { cookie: cookie.split(';')[0]! })
    expect(page.status).toBe(200)
    expect(page.text).toContain('the app')
  })

  it('does not send a visitor to another server, and works from a link elsewhere', async () => {
    expect((await ask(`//evil.example/?token=${TOKEN}`)).headers.location).not.toMatch(/^\/\//)
    const linked = await ask(`/?a="><b&token=${TOKEN}`, { 'sec-fetch-site': 'cross-site' })
    expect(linked.status).toBe(200)
    expect(linked.text).toContain('http-equiv="refresh"')
    expect(linked.text).not.toContain('<b')
  })

  it('is not taken from the URL by the API', async () => {
    expect((await ask(`/api/about?token=${TOKEN}`)).status).toBe(401)
  })
})

describe('Host and Origin', () => {
  it('must be ours', async () => {
    for (const host of [
      'evil.example',
      `evil.example:${api.port}`,
      `127.0.0.1.evil.example:${api.port}`,
      `localhost.evil.example:${api.port}`,
      `10.0.0.1:${api.port}`,
    ]) {
      expect((await ask('/api/about', { ...bearer, host })).status, host).toBe(403)
    }
    for (const host of [`evil.example@127.0.0.1:${api.port}`, '127.0.0.1:port'])
      expect([400, 403], host).toContain((await ask('/api/about', { ...bearer, host })).status)
    for (const origin of [
      'http://evil.example',
      'null',
      `http://127.0.0.1:${api.port + 1}`,
      `https://127.0.0.1:${api.port}`,
    ]) {
      expect((await ask('/api/about', { ...bearer, origin })).status).toBe(403)
    }
    expect((await ask('/api/about', { ...bearer, 'sec-fetch-site': 'same-site' })).status).toBe(403)
  })

  it('may be any loopback name, with the port of a tunnel; the Origin is then that name and port', async () => {
    for (const host of ['127.0.0.1:4000', 'LOCALHOST:4000', '127.0.0.2:80', 'localhost']) {
      const origin = `http://${host.toLowerCase()}`
      expect((await ask('/api/about', { ...bearer, host, origin })).status, host).toBe(200)
      expect((await ask('/api/about', { ...bearer, host, origin: 'http://127.0.0.1:4001' })).status).toBe(403)
      expect((await ask('/api/about', { host, origin })).status).toBe(401)
    }
    // Two tunnels: each has a cookie of its own.
    const [here, there] = ['localhost:4000', 'localhost:4001']
    const cookie = String((await ask(`/?token=${TOKEN}`, { host: here })).headers['set-cookie']).split(
      ';',
    )[0]!
    expect((await ask('/api/about', { host: here, cookie })).status).toBe(200)
    expect((await ask('/api/about', { host: there, cookie })).status).toBe(401)
  })

  it('may be any name of this machine', async () => {
    for (const name of ['127.0.0.1', 'localhost', '[::1]']) {
      const host = `${name}:${api.port}`
      expect((await ask('/api/about', { ...bearer, host, origin: `http://${host}` })).status).toBe(200)
    }
  })

  it('listens on loopback only', async () => {
    expect(api.address).toBe('127.0.0.1')
    const outside = Object.values(networkInterfaces())
      .flat()
      .filter((address) => address && !address.internal && address.family === 'IPv4')
    for (const address of outside)
      await expect(fetch(`http://${address!.address}:${api.port}/`)).rejects.toThrow()
  })
})

describe('pages', () => {
  it('have a strict content security policy and no sniffing', async () => {
    const page = await ask('/some/screen?of=the-app', bearer)
    expect(page.status).toBe(200)
    expect(page.text).toContain('the app')
    const policy = String(page.headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("script-src 'self';")
    expect(page.headers['x-content-type-options']).toBe('nosniff')
    expect(page.headers['referrer-policy']).toBe('no-referrer')
    expect((await ask('/api/about', bearer)).headers['x-content-type-options']).toBe('nosniff')
  })

  it('come from the built folder only', async () => {
    for (const path of [
      '/../secret.txt',
      '/%2e%2e/secret.txt',
      '/..%2fsecret.txt',
      '/assets/..%2f..%2fsecret.txt',
      '/..%5csecret.txt',
      '/%00',
      '/link.txt',
      '/%',
    ]) {
      const answer = await ask(path, bearer)
      expect(answer.text, path).not.toContain('words of no page')
      expect([403, 404], path).toContain(answer.status)
    }
    expect((await ask('/..%2fsecret.txt', bearer)).status).toBe(403)
  })

  it('that are missing are 404, except screens of the app', async () => {
    expect((await ask('/assets/none.js', bearer)).status).toBe(404)
    const script = await ask('/assets/main-1.js', bearer)
    expect(script.headers['content-type']).toMatch(/javascript/)
    expect(script.headers['cache-control']).toMatch(/immutable/)
  })
})
