/** The app in a browser whose engine ends: the page says so and what to do, and goes on where it was once there is one again. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startAppEngine } from './app-engine.ts'
import { type AppPage, openAppPage, openTab } from './app-page.ts'

let app: AppPage
let page: Page

beforeAll(async () => {
  app = await openAppPage({ viewport: { width: 1280, height: 720 } })
  page = app.page
  await page.goto(app.engine.url)
  await page.locator('.ranked-row').first().waitFor()
  await page.waitForFunction(() => location.hash.includes('head=') && location.hash.includes('run='))
}, 120_000)

afterAll(() => app?.close())

it('an engine that ends and comes back', async () => {
  const banner = page.locator('.banner')
  const { port } = new URL(app.engine.url)
  const { folder } = app.engine
  await app.engine.kill()
  await openTab(page, 'Attribution')
  await banner.filter({ hasText: `headscope serve --port ${port}` }).waitFor()
  await page.waitForFunction(() => location.hash.includes('tab=attribution')) // written a moment later
  const before = page.url()
  if (process.env.HEADSCOPE_PICTURES)
    await page.screenshot({ path: `${process.env.HEADSCOPE_PICTURES}/engine-gone.png` })
  app.engine = await startAppEngine({ folder, port: Number(port) })
  // The new engine has a token of its own, which the page does not know yet.
  await banner.filter({ hasText: 'open the URL that it printed' }).waitFor()
  const other = await page.context().newPage()
  await other.goto(app.engine.url)
  await banner.waitFor({ state: 'hidden' })
  await page.getByRole('region', { name: 'Largest parts' }).locator('li').first().waitFor()
  expect(page.url()).toBe(before)
  expect(app.problems).toEqual([])
})
