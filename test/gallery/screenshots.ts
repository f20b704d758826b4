/**
 * Pictures of the app, made by hand with `node test/gallery/screenshots.ts` after a build: the real engine on the bundled
 * model, in a real Chromium. Every view at two sizes, light and dark, into out/ (not kept), and the README's into readme/.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { type AppEngine, startAppEngine } from '../e2e/app-engine.ts'
import { launchBrowser } from '../support/browser.ts'

const HERE = import.meta.dirname
const SIZES = [
  { width: 1440, height: 900 },
  { width: 1280, height: 720 },
]
const PROMPT = 'The queen Zorblat spoke to the king Mimsy. The king Mimsy answered the queen Zor'

interface Scene {
  readonly name: string
  /** Added to the address of the model, its run and its strongest head. */
  readonly state: string
  /** What is there when the scene is ready. */
  readonly ready: string
  readonly act?: (page: Page) => Promise<void>
}

const SCENES: readonly Scene[] = [
  { name: 'heads', state: '', ready: '.thumbnail-sheet' },
  { name: 'locked', state: '&query=36&key=7', ready: '.pattern-canvas canvas' },
  { name: 'scores', state: '&tiles=scores&score=previous_token', ready: '.tile' },
  { name: 'pattern', state: '&tab=pattern&query=36&key=7', ready: '.pattern-canvas canvas' },
  { name: 'pattern-log', state: '&tab=pattern&scale=log&bos=hide', ready: '.pattern-canvas canvas' },
  { name: 'induction', state: '&tab=induction', ready: '.arc' },
  { name: 'ablated', state: '&ablate=zero&query=36&key=7', ready: '.prob-ablated' },
  {
    name: 'compare',
    state: `&tab=pattern&query=36&key=7&edits=${encodeURIComponent('[{"hook":"blocks.0.attn.hook_z","head":2,"op":"zero"}]')}`,
    ready: '.is-both figure:nth-child(3) canvas',
  },
  { name: 'text', state: '&tab=pattern&form=text&query=36', ready: '.word' },
  {
    name: 'weighted',
    state: '&tab=pattern&query=36&also=35&t.weighting=output',
    ready: '.pattern-canvas canvas',
  },
  { name: 'fading', state: '&query=7', ready: '.tile.is-faded' },
  { name: 'alike', state: '&t.order=alike&t.size=medium', ready: '.grid-heading' },
  { name: 'class', state: '&t.order=class&t.size=medium', ready: '.thumbnail-sheet' },
  { name: 'scatter', state: '&tiles=scatter', ready: '.scatter-box canvas' },
  { name: 'residual', state: '&tab=residual&query=36&t.border=2', ready: '.lens-cell' },
  {
    name: 'carried',
    state: `&tab=residual&query=36&t.border=1&t.carry=t1.36-o1.4&t.other=${encodeURIComponent('The king Mimsy spoke to the queen. The dog answered the queen Zor')}`,
    ready: '.lens-cell.is-carried',
  },
  { name: 'attribution', state: '&tab=attribution&query=36', ready: '.echart canvas' },
  { name: 'sources', state: '&tab=attribution&query=36&t.dla=source', ready: '.echart canvas' },
  {
    name: 'ablation',
    state: '&tab=ablation&query=36&t.at=locked',
    ready: '.sweep-view',
    act: async (page) => {
      await page.getByRole('button', { name: 'Ablate', exact: true }).click()
      await page.locator('.effect-line').nth(15).waitFor()
    },
  },
  {
    name: 'patching',
    state: `&tab=patching&query=36&t.at=locked&t.corrupt=${encodeURIComponent(PROMPT.replace('Zorblat', 'Zirblat'))}`,
    ready: '.aligned-column',
    act: async (page) => {
      await page.getByRole('button', { name: 'Patch', exact: true }).click()
      await page.locator('.effect-line').nth(20).waitFor()
      await page.locator('.effect-line').first().click()
      await page.getByRole('region', { name: 'The cell' }).locator('.prob-ablated').first().waitFor()
    },
  },
  {
    name: 'paths',
    state: `&tab=paths&t.corrupt=${encodeURIComponent(PROMPT.replace('Zorblat', 'Zirblat'))}`,
    ready: '.path-node',
    act: async (page) => {
      const rank = async () => {
        await page.getByRole('button', { name: /^Rank all/ }).click()
        await page.getByText(/^(\d+) of \1 measured$/).waitFor()
      }
      await rank()
      for (let i = 0; i < 2; i++) await page.getByRole('button', { name: 'Add strongest' }).click()
      await page.locator('.path-open .id-chip').first().click()
      await rank()
      for (let i = 0; i < 2; i++) await page.getByRole('button', { name: 'Add strongest' }).click()
    },
  },
  {
    name: 'series',
    state: '&tab=series',
    ready: '.series-view',
    act: async (page) => {
      const score = page.getByRole('button', { name: /^Score \d+ of/ })
      await page.waitForTimeout(400)
      if (await score.count()) await score.click()
      await score.waitFor({ state: 'hidden', timeout: 60_000 })
      await page
        .getByRole('button', { name: 'Cancel', exact: true })
        .waitFor({ state: 'hidden', timeout: 60_000 })
    },
  },
  { name: 'store', state: '&tab=store', ready: '.data-table' },
  {
    name: 'palette',
    state: '',
    ready: '.thumbnail-sheet',
    act: async (page) => {
      await page.keyboard.press('Control+k')
      await page.getByRole('option').first().waitFor()
    },
  },
  {
    name: 'open',
    state: '',
    ready: '.thumbnail-sheet',
    act: async (page) => {
      await page.getByRole('button', { name: 'Open checkpoint…' }).click()
      await page.getByRole('textbox', { name: 'Path of the checkpoint' }).fill('/no/such/checkpoint')
      await page.keyboard.press('Enter')
      await page.waitForTimeout(300)
    },
  },
  {
    name: 'prompt',
    state: '',
    ready: '.thumbnail-sheet',
    act: async (page) => {
      await page.getByRole('button', { name: 'Edit prompt' }).click()
      await page.locator('.id-chip').first().waitFor()
    },
  },
]

const README: readonly { file: string; scene: string; theme: 'light' | 'dark' }[] = [
  { file: 'heads.png', scene: 'locked', theme: 'light' },
  { file: 'induction.png', scene: 'induction', theme: 'light' },
  { file: 'paths.png', scene: 'paths', theme: 'light' },
]

for (const folder of ['out', 'readme']) mkdirSync(join(HERE, folder), { recursive: true })
const [engine, browser] = await Promise.all([startAppEngine(), launchBrowser()])
try {
  const page = await browser.newPage({ viewport: SIZES[0]! })
  await page.goto(engine.url)
  await page.locator('output.read-out').waitFor() // the first start scans and runs
  await page.getByRole('button', { name: 'Close the first steps' }).click()
  const start = await ownPrompt(page, engine)
  // `node test/gallery/screenshots.ts readme` makes the README's alone.
  const themes = process.argv[2] === 'readme' ? [] : (['light', 'dark'] as const)
  for (const theme of themes) {
    for (const size of SIZES) {
      await page.setViewportSize(size)
      for (const scene of SCENES) {
        await show(page, `${start}${scene.state}&theme=${theme}`, scene)
        await page.screenshot({ path: join(HERE, 'out', `${scene.name}-${size.width}-${theme}.png`) })
      }
    }
  }
  await page.setViewportSize({ width: 1280, height: 800 })
  for (const picture of README) {
    const scene = SCENES.find((s) => s.name === picture.scene)!
    await show(page, `${start}${scene.state}&theme=${picture.theme}`, scene)
    await page.screenshot({ path: join(HERE, 'readme', picture.file) })
  }
} finally {
  await browser.close()
  await engine.close()
}

// --- Internal helpers ---

/** Runs PROMPT as a person would, and gives the address of what then is shown. */
async function ownPrompt(page: Page, { url }: AppEngine): Promise<string> {
  await page.locator('.ranked-row').first().waitFor()
  await page.getByRole('button', { name: 'Edit prompt' }).click()
  await page.getByRole('textbox', { name: 'Prompt text' }).fill(PROMPT)
  const before = page.url()
  await page.keyboard.press('Control+Enter')
  await page.waitForFunction((old) => location.href !== old && location.hash.includes('run='), before)
  await page.locator('output.read-out').waitFor()
  await page.waitForTimeout(300) // the address follows a moment later
  return `${new URL(url).origin}/${new URL(page.url()).hash}`
}

async function show(page: Page, address: string, scene: Scene): Promise<void> {
  await page.mouse.move(1, 1)
  await page.goto('about:blank') // a change of the hash alone would keep open dialogs
  await page.goto(address)
  await page.locator(scene.ready).first().waitFor({ state: 'attached' })
  await page.locator('.ranked-row, .score-row').first().waitFor()
  await scene.act?.(page)
  await page.waitForTimeout(350)
}
