/** `npm start` as a person runs it on a machine without a display: a reason, a URL, the app behind it, a clean end. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, it } from 'vitest'
import { build } from '../../electron/build.ts'
import { projectPaths } from '../../electron/paths.ts'

const paths = projectPaths()
const data = mkdtempSync(join(tmpdir(), 'headscope-start-'))
const children: ChildProcess[] = []

afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
})
afterAll(() => rmSync(data, { recursive: true }))

function start(args: readonly string[]) {
  const env = {
    ...process.env,
    HEADSCOPE_DATA: data,
    HEADSCOPE_CACHE: data,
    DISPLAY: '',
    WAYLAND_DISPLAY: '',
  }
  const started = spawn(process.execPath, [join(paths.root, 'electron', 'start.ts'), ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(started)
  let output = ''
  const url = new Promise<string>((resolve, reject) => {
    const hear = (text: Buffer) => {
      output += text.toString()
      const found = /http:\/\/\S+/.exec(output)
      if (found) resolve(found[0])
    }
    started.stdout.on('data', hear)
    started.stderr.on('data', hear)
    started.once('exit', () => reject(new Error(output)))
  })
  return { started, url, output: () => output }
}

it.runIf(process.platform === 'linux')(
  'without a display says why and serves to the browser',
  async () => {
    await build(['renderer'])
    const before = Date.now()
    const { started, url, output } = start([])
    const address = await url
    expect(Date.now() - before).toBeLessThan(15_000)
    expect(output().split('\n')[0]).toMatch(/^There is no display .*: serving to the browser instead\.$/)
    const entered = await fetch(address, { redirect: 'manual' })
    const cookie = entered.headers.get('set-cookie')!.split(';')[0]!
    const page = await fetch(new URL('/', address), { headers: { cookie } })
    expect(await page.text()).toContain('<title>Headscope</title>')
    const about = await fetch(new URL('/api/about', address), { headers: { cookie } })
    expect(await about.json()).toMatchObject({ start: { model: 'induction-2l' } })
    started.kill('SIGINT')
    const [code] = await once(started, 'exit')
    expect(code).toBe(0)
  },
  60_000,
)

it('with --browser goes there at once; what does not fit is one sentence and exit 1', async () => {
  const { url, output } = start(['--browser'])
  await url
  expect(output()).not.toContain('instead')
  const other = start(['--browser', '--port', new URL(await url).port])
  await expect(other.url).rejects.toThrow(
    /^The port \d+ on 127\.0\.0\.1 is used by another program: [^\n]+\.\n$/,
  )
  expect(other.started.exitCode).toBe(1)
}, 60_000)
