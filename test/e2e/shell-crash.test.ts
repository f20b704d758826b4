/**
 * The engine is killed while it works, as a person lives it: the shell on its stand-in, the real engine process behind
 * it, the pages in a real browser. The window says so, the engine comes back, and nothing that was looked at is lost.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { build } from '../../electron/build.ts'
import { projectPaths } from '../../electron/paths.ts'
import { writeRandomLlama } from '../bench/random-llama.ts'
import { launchBrowser } from '../support/browser.ts'
import { app, showInBrowser, standIn } from '../support/electron-stand-in.ts'

vi.mock('electron', () => import('../support/electron-stand-in.ts'))

const TOKENS = 192
const paths = projectPaths()
const folder = mkdtempSync(join(tmpdir(), 'headscope-crash-'))
const slow = join(folder, 'slow')
const problems: string[] = []
let browser: Browser
let page: Page
let shown: { close(): void }
let origin: string

beforeAll(async () => {
  await build()
  vi.stubEnv('HEADSCOPE_DATA', join(folder, 'data'))
  vi.stubEnv('HEADSCOPE_CACHE', join(folder, 'cache'))
  // A pass of it takes long enough to be killed in.
  writeRandomLlama(slow, {
    layers: 8,
    heads: 12,
    kvHeads: 12,
    width: 384,
    mlp: 1024,
    vocab: 256,
    positions: 2048,
  })
  await import('../../electron/main.ts')
  await vi.waitFor(() => expect(standIn.windows).toHaveLength(1))
  browser = await launchBrowser()
  page = await browser.newPage({ viewport: { width: 1280, height: 720 } })
  page.setDefaultTimeout(30_000)
  page.on('pageerror', (error) => problems.push(error.message))
  shown = await showInBrowser(join(paths.shell, 'preload.cjs'), standIn.windows[0]!, page)
  await page.getByRole('button', { name: 'Open checkpoint…' }).waitFor()
  origin = new URL(page.url()).origin
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

const eventually = <T>(get: () => T) => expect.poll(get, { timeout: 30_000 })
const address = () => new URLSearchParams(new URL(page.url()).hash.slice(1))
const banner = () => page.getByRole('alert').filter({ hasText: 'The engine ended' })

/** The engine's process: the child of this one that runs engine.ts. */
function engine(): number {
  const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8')
  const found = children
    .trim()
    .split(/\s+/)
    .find((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('electron/engine.ts'))
  return Number(found)
}

/** Kills the engine, and sees the window say so and take it back. */
async function killEngine(): Promise<void> {
  const pid = engine()
  // The sentence may be there for a moment only: it is waited for before the engine is killed.
  const said = banner().waitFor()
  process.kill(pid, 'SIGKILL')
  await said
  await banner().waitFor({ state: 'hidden' })
  expect(engine()).not.toBe(pid)
}

async function open(state: Record<string, string>): Promise<void> {
  await page.goto('about:blank')
  await page.goto(`${origin}/#${new URLSearchParams(state)}`)
}

describe.runIf(process.platform === 'linux').sequential('an engine that is killed', () => {
  it('while a prompt runs: the window says so, keeps its state, and the prompt can be run again', async () => {
    await open({ model: slow, tab: 'pattern', head: 'L5H7', scale: 'log' })
    const text = page.getByRole('textbox', { name: 'Prompt ids' }) // open while nothing has been run
    await text.fill(Array.from({ length: 1500 }, (_, i) => (i * 37) % 256).join(' '))
    await page.keyboard.press('Control+Enter')
    await page.getByRole('progressbar', { name: 'Running the prompt' }).waitFor()
    await killEngine()
    const failed = page.getByRole('alert').filter({ hasText: 'Running the prompt' })
    await eventually(() => failed.textContent()).toMatch(/connection to the engine was lost.*start it again/)
    await failed.getByRole('button', { name: 'Dismiss' }).click()
    expect(Object.fromEntries(address())).toMatchObject({
      model: slow,
      tab: 'pattern',
      head: 'L5H7',
      scale: 'log',
    })
    expect(address().get('run')).toBeNull()
    // Nothing half done is in the workspace, and the same prompt runs.
    await text.fill(Array.from({ length: TOKENS }, (_, i) => (i * 37) % 256).join(' '))
    await page.keyboard.press('Control+Enter')
    await eventually(() => address().get('run')).toMatch(/^\d+$/)
    await page.getByRole('region', { name: 'Pattern of L5H7' }).waitFor()
    await page.locator('.pattern-canvas canvas').waitFor()
  }, 90_000)

  it('while a sweep runs: its cells are kept, the view comes back, and the sweep goes on where it was', async () => {
    await open({
      model: slow,
      run: address().get('run')!,
      tab: 'ablation',
      head: 'L5H7',
      query: '100',
      't.over': 'positions',
    })
    await page.getByRole('button', { name: 'Ablate', exact: true }).click()
    const effects = page.getByRole('region', { name: 'Effects' })
    const counted = async () => Number(/(\d+)\/(\d+)/.exec((await effects.textContent()) ?? '')?.[1] ?? 0)
    await eventually(counted).toBeGreaterThan(20)
    await killEngine()
    await eventually(() => effects.textContent()).toMatch(/connection to the engine was lost/)
    expect(Object.fromEntries(address())).toMatchObject({ tab: 'ablation', head: 'L5H7', query: '100' })
    const kept = await counted()
    expect(kept).toBeGreaterThan(0)
    const all = Number(/\d+\/(\d+)/.exec((await effects.textContent())!)![1])
    expect(all).toBe(8 * TOKENS)
    // A reload reads the same from the store.
    await page.reload()
    await effects.getByRole('button', { name: `Continue: ${all - kept} left` }).waitFor()
    await effects.getByRole('button', { name: /^Continue: / }).click()
    await eventually(counted).toBeGreaterThan(kept)
    expect(await effects.getByRole('button', { name: /^Continue: / }).count()).toBe(0)
    // Stopped by hand, it can be gone on with as well.
    await page.getByRole('button', { name: /^Cancel: Going on/ }).click()
    await effects.getByRole('button', { name: /^Continue: / }).waitFor()
    expect(problems).toEqual([])
  }, 90_000)
})
