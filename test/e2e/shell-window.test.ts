/** The desktop's window as a person sees it: the shell on its stand-in, the built preload and pages in a real browser. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import type { DesktopApi } from '../../core/api/desktop.ts'
import { build } from '../../electron/build.ts'
import { projectPaths } from '../../electron/paths.ts'
import { launchBrowser } from '../support/browser.ts'
import { app, showInBrowser, standIn } from '../support/electron-stand-in.ts'

vi.mock('electron', () => import('../support/electron-stand-in.ts'))

const paths = projectPaths()
const folder = mkdtempSync(join(tmpdir(), 'headscope-shell-window-'))
const complaints: string[] = []
let browser: Browser
let page: Page
let shown: { close(): void }

beforeAll(async () => {
  await build()
  vi.stubEnv('HEADSCOPE_DATA', join(folder, 'data'))
  vi.stubEnv('HEADSCOPE_CACHE', join(folder, 'cache'))
  await import('../../electron/main.ts')
  await vi.waitFor(() => expect(standIn.windows).toHaveLength(1))
  browser = await launchBrowser()
  page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    if (/content security policy/i.test(message.text())) complaints.push(message.text())
  })
  shown = await showInBrowser(join(paths.shell, 'preload.cjs'), standIn.windows[0]!, page)
}, 120_000)

afterAll(async () => {
  await browser?.close()
  shown?.close()
  const gone = new Promise((resolve) => app.once('quit', resolve))
  app.quit()
  await gone
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
  rmSync(standIn.userData, { recursive: true })
}, 30_000)

it('scores the bundled model and shows its strongest head, without a token in the page', async () => {
  await page.getByText('L1H7').first().waitFor({ timeout: 30_000 })
  expect(await page.title()).toContain('Headscope')
  expect(await page.evaluate('document.cookie + JSON.stringify({ ...localStorage })')).not.toMatch(/token/i)
  expect(complaints).toEqual([])
}, 60_000)

it('the page has the small desktop API, and hears what the person chooses in the system’s dialog', async () => {
  const keys = await page.evaluate('Object.keys(window.headscope).sort()')
  expect(keys).toEqual([
    'chooseCheckpoint',
    'onCommand',
    'onEngine',
    'onOpen',
    'pathOf',
    'platform',
    'showProgress',
  ])
  standIn.chosen = { canceled: false, filePaths: [join(paths.models, 'prose-4l')] }
  const heard = await page.evaluate(
    () =>
      new Promise<string>((resolve) => {
        const { headscope } = window as never as { headscope: DesktopApi }
        headscope.onOpen(resolve)
        headscope.chooseCheckpoint()
      }),
  )
  expect(heard).toBe(join(paths.models, 'prose-4l'))
  await page.waitForURL(/model=prose-4l/)
}, 30_000)

it('opens a checkpoint that is dropped on the window, and says what is wrong with another', async () => {
  /** A drop as the system makes it; where the file is, only the shell knows. */
  const drop = (name: string, path: string) =>
    page.evaluate(
      ([file, where]) => {
        Object.assign(globalThis, { droppedPaths: { [file]: where } })
        const dataTransfer = new DataTransfer()
        dataTransfer.items.add(new File(['{}'], file))
        for (const type of ['dragover', 'drop'])
          document.body.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }))
      },
      [name, path] as const,
    )
  await drop('config.json', join(paths.models, 'induction-2l', 'config.json'))
  await page.waitForURL(/model=[^&]*induction-2l/)
  await drop('nothing', join(folder, 'nothing'))
  await page
    .getByRole('alert')
    .filter({ hasText: join(folder, 'nothing') })
    .waitFor()
  await drop('mail.gguf', '')
  await page.getByRole('alert').filter({ hasText: '“mail.gguf” is in no folder' }).waitFor()
}, 30_000)

it('has shown the progress of its work on the icon, and taken the bar away', async () => {
  const { progress } = standIn.windows[0]!
  await vi.waitFor(() => expect(progress.at(-1)).toBe(-1), 20_000)
  expect(progress.some((share) => share > 0 && share < 1)).toBe(true)
}, 30_000)

it('a script from elsewhere does not run in the page', async () => {
  const ran = await page.evaluate(async () => {
    const script = document.createElement('script')
    script.textContent = 'window.injected = true'
    document.head.append(script)
    const image = document.createElement('img')
    image.setAttribute('onerror', 'window.injected = true')
    image.src = 'data:image/png;base64,'
    document.body.append(image)
    await new Promise((resolve) => setTimeout(resolve, 200))
    return (window as never as { injected?: boolean }).injected ?? false
  })
  expect(ran).toBe(false)
})
