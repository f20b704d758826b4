/**
 * The small pictures on the cards of the examples, made by hand with `node test/gallery/examples.ts` after a build: each
 * example is opened by its address in a real Chromium, and its main figure photographed, light and dark.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { startAppEngine } from '../e2e/app-engine.ts'
import { launchBrowser } from '../support/browser.ts'

const FOLDER = join(import.meta.dirname, '..', '..', 'renderer', 'views', 'examples', 'pictures')
/** Twice the size of a card's picture. */
const SIZE = { width: 528, height: 204 }

/** What of each example is on its picture. */
const FIGURES: Readonly<Record<string, string>> = {
  induction: '.pattern-canvas',
  repeats: 'svg.arcs',
  'previous-token': '.pattern-canvas',
  ablation: '.effect-box',
  patching: '.effect-box',
  paths: '.path-graph',
  attribution: '.echart:has(canvas)',
  copying: '.effect-box',
  'first-principles': '.bench-strip',
  'phase-change': '.series-chart:has(canvas)',
  corpus: '[aria-label="Heads by rate"]:has(li)',
  relation: '.effect-box',
}

/** What is worth seeing is at the end of the prompt. */
const LOW = ['induction', 'paths', 'phase-change']

mkdirSync(FOLDER, { recursive: true })
const wanted = process.argv.slice(2)
const [engine, browser] = await Promise.all([startAppEngine(), launchBrowser()])
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, deviceScaleFactor: 2 })
  page.setDefaultTimeout(60_000)
  await page.goto(engine.url)
  await page.locator('.ranked-row').first().waitFor()
  await page.evaluate(() => localStorage.setItem('headscope.first-steps', 'done'))
  const origin = new URL(engine.url).origin
  for (const [name, figure] of Object.entries(FIGURES)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue
    await page.goto('about:blank')
    await page.goto(`${origin}/#example=${name}`)
    await page.locator(figure).first().waitFor()
    await page.waitForTimeout(2000) // its work has begun
    await page.getByRole('progressbar').first().waitFor({ state: 'detached' })
    for (const theme of ['light', 'dark']) {
      await page.evaluate((next) => {
        document.documentElement.dataset.theme = next
      }, theme)
      if (await page.getByRole('button', { name: `Switch to ${theme}` }).count())
        await page.getByRole('button', { name: `Switch to ${theme}` }).click()
      await page.mouse.move(1, 1)
      await page.waitForTimeout(900)
      const shot = await page.locator(figure).first().screenshot()
      writeFileSync(join(FOLDER, `${name}-${theme}.webp`), await small(page, shot, LOW.includes(name)))
    }
    process.stdout.write(`${name}\n`)
  }
} finally {
  await browser.close()
  await engine.close()
}

/** The left part of a picture, from above or from below, that has the card's shape, at the card's size, as WebP. */
async function small(page: Page, shot: Buffer, low: boolean): Promise<Buffer> {
  const data = await page.evaluate(
    async ([picture, { width, height }, below]) => {
      const image = new Image()
      image.src = `data:image/png;base64,${picture}`
      await image.decode()
      const canvas = Object.assign(document.createElement('canvas'), { width, height })
      const context = canvas.getContext('2d')!
      context.imageSmoothingQuality = 'high'
      const wide = Math.min(image.width, image.height * (width / height))
      const high = wide * (height / width)
      context.drawImage(image, 0, below ? image.height - high : 0, wide, high, 0, 0, width, height)
      return canvas.toDataURL('image/webp', 0.82)
    },
    [shot.toString('base64'), SIZE, low] as const,
  )
  return Buffer.from(data.slice(data.indexOf(',') + 1), 'base64')
}
