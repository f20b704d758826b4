/**
 * The desktop shell on its stand-in: the real main.ts and the built preload, a real engine process. One app for the
 * whole file, as a person has one.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { About, JobEvent, JobStarted } from '../../core/api/contract.ts'
import type { DesktopApi, EngineState } from '../../core/api/desktop.ts'
import { build } from '../../electron/build.ts'
import { projectPaths } from '../../electron/paths.ts'
import { app, runPreload, standIn, windowOverHttp, windowRequest } from '../support/electron-stand-in.ts'

vi.mock('electron', () => import('../support/electron-stand-in.ts'))

const APP = 'app://headscope'
const paths = projectPaths()
const folder = mkdtempSync(join(tmpdir(), 'headscope-shell-test-'))
const onCommandLine = join(folder, 'from the command line')
const opened: string[] = []
let openedFirst: string[] = []
const commands: string[] = []
const states: EngineState[] = []
let page: DesktopApi
const argv = process.argv

const getJson = async <T>(path: string, init?: RequestInit) =>
  (await windowRequest(APP + path, init)).json() as Promise<T>
const post = (body: unknown) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', origin: APP, authorization: 'Bearer of the page' },
  body: JSON.stringify(body),
})

beforeAll(async () => {
  await build()
  vi.stubEnv('HEADSCOPE_DATA', join(folder, 'data'))
  vi.stubEnv('HEADSCOPE_CACHE', join(folder, 'cache'))
  mkdirSync(onCommandLine)
  process.argv = ['electron', join(paths.shell, 'main.js'), '--no-sandbox', onCommandLine, 'no-such-folder']
  await import('../../electron/main.ts')
  await vi.waitFor(() => expect(standIn.windows).toHaveLength(1))
  page = runPreload(join(paths.shell, 'preload.cjs'), standIn.windows[0]!).headscope as DesktopApi
  page.onOpen((path) => opened.push(path))
  openedFirst = [...opened]
  page.onCommand((command) => commands.push(command))
  page.onEngine((state) => states.push(state))
}, 60_000)

afterAll(async () => {
  process.argv = argv
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
  rmSync(standIn.userData, { recursive: true })
})

/** Process id of the engine, from the process that serves us. */
const engines = () =>
  readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8')
    .trim()
    .split(/\s+/)
    .filter(
      (pid) => pid !== '' && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('electron/engine.ts'),
    )
    .map(Number)

describe('the window', () => {
  it('is one, sandboxed, without Node, on the app', () => {
    const window = standIn.windows[0]!
    expect(window.url).toBe(`${APP}/`)
    expect(window.options.webPreferences).toMatchObject({
      sandbox: true,
      contextIsolation: true,
      nodeIntegration: false,
      webviewTag: false,
    })
    expect(standIn.schemes).toMatchObject([{ scheme: 'app', privileges: { standard: true, secure: true } }])
  })

  it('goes nowhere else, opens no other window, and gets no permission but writing to the clipboard', () => {
    const { webContents } = standIn.windows[0]!
    expect(webContents.openHandler!({ url: `${APP}/` })).toEqual({ action: 'deny' })
    for (const [url, stays] of [
      [`${APP}/runs/1`, true],
      ['https://example.org/', false],
      ['app://headscope.example/', false],
      ['file:///etc/passwd', false],
    ] as const) {
      for (const name of ['will-navigate', 'will-redirect']) {
        const event = { url, preventDefault: vi.fn() }
        webContents.emit(name, event)
        expect(event.preventDefault.mock.calls.length, `${name} ${url}`).toBe(stays ? 0 : 1)
      }
    }
    for (const [permission, allowed] of [
      ['media', false],
      ['geolocation', false],
      ['clipboard-read', false],
      ['clipboard-sanitized-write', true],
    ] as const) {
      const answer = vi.fn()
      standIn.permissions.request!({}, permission, answer)
      expect(answer).toHaveBeenCalledWith(allowed)
      expect(standIn.permissions.check!({}, permission)).toBe(allowed)
    }
  })

  it('gives the page a small API and nothing of Electron', () => {
    expect(Object.keys(page).sort()).toEqual([
      'chooseCheckpoint',
      'onCommand',
      'onEngine',
      'onOpen',
      'pathOf',
      'platform',
      'showProgress',
    ])
    const heard: unknown[][] = []
    const stop = page.onCommand((...args) => heard.push(args))
    standIn.windows[0]!.webContents.send('headscope:command', 'palette')
    stop()
    standIn.windows[0]!.webContents.send('headscope:command', 'theme')
    expect(heard).toEqual([['palette']])
  })
})

describe('app://headscope', () => {
  it('serves the pages under their policy, and nothing outside of them', async () => {
    const answer = await windowRequest(`${APP}/some/screen`)
    expect(await answer.text()).toContain('<div id="')
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect((await windowRequest(`${APP}/..%2f..%2fpackage.json`)).status).toBe(403)
    expect((await windowRequest('app://elsewhere/')).status).toBe(404)
  })

  it('passes the API through with the token, which no page sees', async () => {
    const answer = await windowRequest(`${APP}/api/about`)
    const about = (await answer.json()) as About
    expect(answer.status).toBe(200)
    expect(about.store).toBe(join(folder, 'data', 'workspace.db'))
    expect(about.start?.model).toBe('induction-2l')
    expect([...answer.headers.keys()]).not.toContain('set-cookie')
    const failed = await getJson<{ error: { code: string } }>(
      '/api/models/open',
      post({ path: 'no-such-model' }),
    )
    expect(failed.error.code).toBe('not-found')
  })

  it('streams the events of a job', async () => {
    const { job } = await getJson<JobStarted>(
      '/api/jobs/run',
      post({ model: 'induction-2l', prompt: { ids: [0, 5, 6, 5] } }),
    )
    const answer = await windowRequest(`${APP}/api/jobs/${job}/events`)
    expect(answer.headers.get('content-type')).toMatch(/event-stream/)
    const events = (await answer.text())
      .split('\n\n')
      .filter((line) => line.startsWith('data: '))
      .map((line) => JSON.parse(line.slice(6)) as JobEvent)
    expect(events[0]?.type).toBe('progress')
    expect(events.at(-1)).toEqual({ type: 'done', result: { run: 1 } })
    const pattern = await windowRequest(`${APP}/api/runs/1/pattern?layer=1&head=3`)
    expect(pattern.headers.get('x-headscope-shape')).toBe('[4,4]')
    expect((await pattern.arrayBuffer()).byteLength).toBe(20)
  })

  it('can be seen by a browser through the stand-in', async () => {
    const { origin, close } = await windowOverHttp()
    expect(await (await fetch(`${origin}/api/jobs`)).json()).toHaveLength(1)
    close()
  })
})

const items = () => standIn.menu.flatMap((menu) => menu.submenu ?? [])

describe('menus and dialogs', () => {
  const press = (label: string) => items().find((item) => item.label === label)!.click!()

  it('every command has a shortcut of its own and reaches the page', () => {
    const labels = ['Command Palette…', 'Light or Dark', 'Back', 'Forward', 'Examples…', 'Keyboard Shortcuts']
    commands.length = 0
    for (const label of labels) press(label)
    expect(commands).toEqual(['palette', 'theme', 'back', 'forward', 'examples', 'shortcuts'])
    const keys = items().flatMap(({ accelerator }) => accelerator ?? [])
    expect(new Set(keys).size).toBe(keys.length)
    expect(keys).toContain('CmdOrCtrl+O')
  })

  it('a chosen folder reaches the page; a cancelled dialog does nothing', async () => {
    opened.length = 0
    press('Open Checkpoint…')
    await vi.waitFor(() => expect(standIn.dialogs).toHaveLength(1))
    standIn.chosen = { canceled: false, filePaths: ['/a/checkpoint'] }
    page.chooseCheckpoint()
    await vi.waitFor(() => expect(opened).toEqual(['/a/checkpoint']))
    expect(standIn.dialogs.at(-1)).toMatchObject({ properties: ['openDirectory'] })

    standIn.chosen = { canceled: false, filePaths: ['/a/model.gguf'] }
    press('Open Checkpoint File…')
    await vi.waitFor(() => expect(opened.at(-1)).toBe('/a/model.gguf'))
    expect(standIn.dialogs.at(-1)).toMatchObject({
      properties: ['openFile'],
      filters: [{ extensions: ['gguf', 'safetensors'] }],
    })
  })
})

describe('the desktop around the window', () => {
  it('has an about box with the versions that a report needs', () => {
    const versions = standIn.about!.credits!.split('\n')
    expect(versions).toContainEqual(expect.stringMatching(/^onnxruntime-node \d/))
    expect(versions).toContainEqual(`Node ${process.versions.node}`)
    const about = items().find((item) => item.label === 'About Headscope')
    about!.click!()
    expect(standIn.aboutShown).toBe(1)
  })

  it('keeps what was opened for the system’s list of recent files', () => {
    expect(standIn.recent).toContain('/a/checkpoint')
    expect(standIn.recent).toContain(onCommandLine)
  })

  it('shows how far the work is on its icon, and takes the bar away', () => {
    const { progress } = standIn.windows[0]!
    progress.length = 0
    for (const share of [0, 0.42, 1, null, 2, Number.NaN]) page.showProgress(share)
    expect(progress).toEqual([0, 0.42, 1, -1, -1, -1])
  })
})

describe('folders to open', () => {
  it('from the command line wait until the page listens', () => {
    expect(openedFirst).toEqual([onCommandLine])
  })

  it('from a second start wait while the page loads', () => {
    const window = standIn.windows[0]!
    window.webContents.emit('did-start-loading')
    opened.length = 0
    app.emit(
      'second-instance',
      {},
      ['electron', join(paths.shell, 'main.js'), 'from the command line'],
      folder,
    )
    expect(opened).toEqual([])
    const stop = page.onOpen(() => {})
    expect(opened).toEqual([onCommandLine])
    stop()
    expect(window.focused).toBeGreaterThan(0)
  })

  it('a file means its folder', () => {
    opened.length = 0
    const event = { preventDefault: vi.fn() }
    app.emit('open-file', event, join(paths.models, 'induction-2l', 'config.json'))
    expect(opened).toEqual([join(paths.models, 'induction-2l')])
    expect(event.preventDefault).toHaveBeenCalled()
  })
})

describe('the engine', () => {
  it.runIf(process.platform === 'linux')(
    'is started again when it dies, and the window says so',
    async () => {
      const [pid] = engines()
      states.length = 0
      process.kill(pid!, 'SIGKILL')
      await vi.waitFor(
        () => expect(states.map(({ state }) => state)).toEqual(['restarting', 'ready']),
        20_000,
      )
      expect(states[0]!.message).toMatch(/^The engine ended \(SIGKILL\).*starting again\.$/)
      expect((await getJson<About>('/api/about')).start?.model).toBe('induction-2l')
      expect(await getJson<unknown[]>('/api/jobs')).toEqual([])
      expect((await windowRequest(`${APP}/api/runs/1`)).status).toBe(200) // what was stored is there
      expect(engines()).toHaveLength(1)
      expect(engines()[0]).not.toBe(pid)
    },
    30_000,
  )
})

describe('leaving', () => {
  it('keeps the window’s place for the next time', () => {
    standIn.windows[0]!.maximize()
    standIn.windows[0]!.close()
    app.emit('activate')
    const again = standIn.windows[1]!
    expect(again.options).toMatchObject({ x: 10, y: 20, width: 1000, height: 700 })
    expect(again.maximized).toBe(true)
  })

  it('ends the engine before the app', async () => {
    const gone = new Promise((resolve) => app.once('quit', resolve))
    app.quit()
    await gone
    if (process.platform === 'linux') expect(engines()).toEqual([])
    expect(standIn.errors).toEqual([])
  }, 20_000)
})
