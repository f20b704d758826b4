/**
 * The app in a real browser, for one file of tests: an engine of its own and a page that is not opened yet. In: what the
 * browser gives the page. Out: both, and what the page complains of; `close` ends them.
 */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { expect } from 'vitest'
import { launchBrowser } from '../support/browser.ts'
import { countRequests } from '../support/settled.ts'
import { type AppEngine, startAppEngine } from './app-engine.ts'

export interface AppPage {
  /** Another one takes its place where a test ends it. */
  engine: AppEngine
  readonly browser: Browser
  readonly page: Page
  /** Errors that nothing in the page caught. */
  readonly problems: string[]
  close(): Promise<void>
}

/** `timeout`: how long the page waits for anything, in ms. */
export async function openAppPage({
  timeout = 30_000,
  ...options
}: BrowserContextOptions & { readonly timeout?: number }): Promise<AppPage> {
  const [engine, browser] = await Promise.all([startAppEngine(), launchBrowser()])
  const page = await (await browser.newContext(options)).newPage()
  const problems: string[] = []
  page.setDefaultTimeout(timeout)
  countRequests(page)
  page.on('pageerror', (error) => problems.push(error.message))
  const app: AppPage = {
    engine,
    browser,
    page,
    problems,
    async close() {
      await browser.close()
      await app.engine.close()
    },
  }
  return app
}

/** Polls for as long as a busy machine may need. */
export function eventually<T>(get: () => T): ReturnType<typeof expect.poll<T>> {
  return expect.poll(get, { timeout: 30_000 })
}

/** Opens a view by its tab, and waits until it is drawn: that is a moment after its tab is marked. */
export async function openTab(page: Page, name: string): Promise<void> {
  await page.getByRole('tab', { name, exact: true }).click()
  await drawn(page)
}

/** Waits until the view whose tab is marked is drawn. */
export function drawn(page: Page): Promise<void> {
  return page.locator('[role=tabpanel][aria-busy=false]').waitFor()
}

/** What the page's address says, by name. */
export function addressOf(page: Page): URLSearchParams {
  return new URLSearchParams(new URL(page.url()).hash.slice(1))
}

/** The bundled checkpoint on a prompt of so many tokens. Out: the address of its run and strongest head. */
export async function startOn({ page, engine }: AppPage, text: string, tokens: number): Promise<string> {
  await page.goto(engine.url)
  await page.locator('.ranked-row').first().waitFor()
  await page.getByRole('button', { name: 'Edit prompt' }).click()
  await page.getByRole('textbox', { name: 'Prompt text' }).fill(text)
  await page.keyboard.press('Control+Enter')
  await page.locator('.strip-side').getByText(`${tokens} tokens`).waitFor()
  await page.waitForFunction(() => location.hash.includes('head='))
  return page.url()
}

/** A fresh page at a state of the address `start`: a change of the hash alone would keep what is open. */
export async function openState(page: Page, start: string, state: string): Promise<void> {
  await page.goto('about:blank')
  const url = new URL(start)
  const hash = new URLSearchParams(url.hash.slice(1))
  for (const [name, value] of new URLSearchParams(state)) hash.set(name, value)
  url.hash = hash.toString()
  await page.goto(url.href)
  await page.locator('.score-row').first().waitFor()
}
