/** A stack of edits saved as an experiment: brought back from the library, run on another checkpoint, deleted. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { launchBrowser } from '../support/browser.ts'
import { type AppEngine, startAppEngine } from './app-engine.ts'

let engine: AppEngine
let browser: Browser
let page: Page
const problems: string[] = []

beforeAll(async () => {
  ;[engine, browser] = await Promise.all([startAppEngine(), launchBrowser()])
  page = await browser.newPage({ viewport: { width: 1280, height: 720 } })
  page.setDefaultTimeout(30_000)
  page.on('pageerror', (error) => problems.push(error.message))
  await page.goto(engine.url)
  await page.locator('.ranked-row').first().waitFor()
  await page.waitForFunction(() => location.hash.includes('head='))
}, 120_000)

afterAll(async () => {
  await browser?.close()
  await engine?.close()
})

const eventually = <T>(get: () => T) => expect.poll(get, { timeout: 30_000 })
const address = () => new URLSearchParams(new URL(page.url()).hash.slice(1))
const stack = () => page.getByRole('region', { name: 'Active edits' })
const kept = () => page.locator('.library').getByText('without its best head, 1 edit')

describe.sequential('edits that are saved', () => {
  it('are kept by a name', async () => {
    await page.locator('.pane-title').first().click()
    await page.keyboard.press('a')
    await stack().getByRole('button', { name: 'Save…' }).click()
    await page.getByRole('textbox', { name: 'Name of the experiment' }).fill('without its best head')
    await page.keyboard.press('Enter')
    await kept().waitFor()
  })

  it('come back from the library, and act', async () => {
    const before = address().get('edits')
    await stack().getByRole('button', { name: 'Remove all' }).click()
    await stack().waitFor({ state: 'hidden' })
    await kept().click()
    await stack().waitFor()
    await eventually(() => address().get('edits')).toBe(before)
    await page.locator('.prob-ablated').first().waitFor()
  })

  it('act on another checkpoint of the series too', async () => {
    await page.getByRole('button', { name: '512', exact: true }).click()
    await eventually(() => address().get('model')).toMatch(/512/)
    await stack()
      .getByRole('button', { name: /: acts$/ })
      .waitFor()
    await page.locator('.prob-ablated').first().waitFor()
  })

  it('are deleted in the store', async () => {
    await page.getByRole('tab', { name: 'Store', exact: true }).click()
    const row = page
      .getByRole('region', { name: 'Sweeps' })
      .locator('tr', { hasText: 'without its best head' })
    await row.getByRole('button', { name: /^Delete/ }).click()
    await row.getByRole('button', { name: /^Delete/ }).click()
    await kept().waitFor({ state: 'detached' })
    expect(problems).toEqual([])
  })
})
