/**
 * The app on a remote machine: `headscope serve` there, a tunnel to a port of this machine, a browser here. The tunnel
 * is what `ssh -L` is at its two ends: bytes from one loopback port to another.
 */
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commandLine } from '../support/command-line.ts'
import { ask } from './api-bare.ts'

let folder: string
let child: ChildProcess
let ended: Promise<unknown>
let token: string
let remote: number
const tunnels: { server: Server; sockets: Set<Socket> }[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headscope-tunnel-'))
  ;({ child, ended } = commandLine(folder).start(['serve', '--store', join(folder, 'work.db')]))
  const url = new URL(
    (await new Promise<string>((ready) => child.stdout!.once('data', ready))).trim().split('\n')[0]!,
  )
  remote = Number(url.port)
  token = url.searchParams.get('token')!
})
afterAll(async () => {
  for (const { server, sockets } of tunnels) {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  child.kill('SIGINT')
  await ended
  rmSync(folder, { recursive: true, force: true })
})

/** A port here whose bytes go to the remote one. */
async function tunnel(host = '127.0.0.1', port = 0): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer((here) => {
    const there = connect(remote, '127.0.0.1')
    for (const socket of [here, there]) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
    }
    here.pipe(there).pipe(here)
  })
  await new Promise<void>((ready) => server.listen(port, host, ready))
  tunnels.push({ server, sockets })
  return (server.address() as AddressInfo).port
}

describe('through a tunnel to another local port', () => {
  it('the page opens, keeps its token, and its work runs', async () => {
    const port = await tunnel()
    expect(port).not.toBe(remote)
    const host = `localhost:${port}`
    const first = await ask(port, `/?token=${token}`, { host })
    expect(first.status).toBe(302)
    const cookie = String(first.headers['set-cookie']).split(';')[0]!
    const headers = { host, cookie, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' }
    const about = await ask(port, '/api/about', headers)
    expect(JSON.parse(about.text)).toMatchObject({ device: 'cpu', store: join(folder, 'work.db') })

    const body = JSON.stringify({ model: 'induction-2l', prompt: { ids: [5, 9, 5] } })
    const post = { method: 'POST', body }
    const started = await ask(port, '/api/jobs/run', { ...headers, 'content-type': 'application/json' }, post)
    const { job } = JSON.parse(started.text) as { job: number }
    const events = await ask(port, `/api/jobs/${job}/events`, headers)
    expect(events.text.trim().split('\n').at(-1)).toMatch(/"type":"done","result":\{"run":1\}/)
    const pattern = await ask(port, '/api/runs/1/pattern?layer=0&head=0', headers)
    expect(pattern.headers['x-headscope-shape']).toBe('[3,3]')
  })

  it('a page of another port or host still may not', async () => {
    const port = await tunnel()
    const authorization = `Bearer ${token}`
    const asked = (host: string, origin: string) => ask(port, '/api/about', { authorization, host, origin })
    expect((await asked(`localhost:${port}`, `http://localhost:${remote}`)).status).toBe(403)
    expect((await asked(`evil.example:${port}`, `http://evil.example:${port}`)).status).toBe(403)
    expect((await ask(port, '/api/about', { host: `localhost:${port}` })).status).toBe(401)
  })

  it.skipIf(process.platform !== 'linux')('the same port of another loopback address will do', async () => {
    const port = await tunnel('127.0.0.2', remote)
    expect(port).toBe(remote)
    const about = await fetch(`http://127.0.0.2:${port}/api/about`, {
      headers: { authorization: `Bearer ${token}` },
    })
    expect(about.status).toBe(200)
  })
})
