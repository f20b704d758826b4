/** The app in a browser whose engine ends: the page says so and what to do, and goes on where it was once there is one again. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { launchBrowser } from '../support/browser.ts'
import { type AppEngine, startAppEngine } from './app-engine.ts'

let engine: AppEngine
let browser: Browser
let page: Page
const problems: string[] = []

beforeAll(async () => {
  ;[engine, browser] = await Promise.all([startAppEngine(), launchBrowser()])
  const context = await browser.newContext({ viewport: { width: 1280, height: 720 } })
  page = await context.newPage()
  page.setDefaultTimeout(30_000)
  page.on('pageerror', (error) => problems.push(error.message))
  await page.goto(engine.url)
  await page.locator('.ranked-row').first().waitFor()
  await page.waitForFunction(() => location.hash.includes('head=') && location.hash.includes('run='))
}, 120_000)

afterAll(async () => {
  await browser?.close()
  await engine?.close()
})

it('an engine that ends and comes back', async () => {
  const banner = page.locator('.banner')
  const { port } = new URL(engine.url)
  const { folder } = engine
  await engine.kill()
  await page.getByRole('tab', { name: 'Attribution', exact: true }).click()
  await banner.filter({ hasText: `headscope serve --port ${port}` }).waitFor()
  await page.waitForFunction(() => location.hash.includes('tab=attribution')) // written a moment later
  const before = page.url()
  if (process.env.HEADSCOPE_PICTURES)
    await page.screenshot({ path: `${process.env.HEADSCOPE_PICTURES}/engine-gone.png` })
  engine = await startAppEngine({ folder, port: Number(port) })
  // The new engine has a token of its own, which the page does not know yet.
  await banner.filter({ hasText: 'open the URL that it printed' }).waitFor()
  const other = await page.context().newPage()
  await other.goto(engine.url)
  await banner.waitFor({ state: 'hidden' })
  await page.getByRole('region', { name: 'Largest parts' }).locator('li').first().waitFor()
  expect(page.url()).toBe(before)
  expect(problems).toEqual([])
})
