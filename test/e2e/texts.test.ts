/** An encoder–decoder in the app: both texts are written, its three kinds of patterns, gradients and edits on them. */
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { FIXTURES } from '../support/golden.ts'
import { type AppPage, openAppPage } from './app-page.ts'

const MODEL = join(FIXTURES, 'encoder-decoder', 'bart-scaled')

let app: AppPage
let page: Page

beforeAll(async () => {
  app = await openAppPage({ viewport: { width: 1440, height: 900 } })
  page = app.page
  await page.goto(app.engine.url)
  await page.waitForFunction(() => location.hash.includes('run='))
}, 120_000)

afterAll(() => app?.close())

const cells = () => page.getByRole('application').first()
const probabilities = () =>
  page
    .locator('.sweep-side .prediction-list:not(.is-single) li')
    .evaluateAll((all) => all.map((row) => [...row.querySelectorAll('.prob')].map((one) => one.textContent)))

it('a model of one text has no such tab', async () => {
  expect(await page.getByRole('tab', { name: 'Encoder–decoder' }).count()).toBe(0)
})

it('both texts are written and run', async () => {
  await page.evaluate((model) => {
    location.hash = new URLSearchParams({ model, tab: 'texts', head: 'L1H1' }).toString()
  }, MODEL)
  await page.reload()
  await page.getByRole('textbox', { name: 'Prompt ids' }).fill('5, 9, 3, 7, 2, 8, 4')
  const own = page.getByRole('textbox', { name: "The decoder's own ids" })
  await own.fill('2, x')
  await page.getByRole('alert').filter({ hasText: 'x' }).waitFor()
  await own.fill('2, 4, 6, 3, 9')
  await page.getByRole('button', { name: /^Run/ }).click()
  await page.getByText('5 tokens of the decoder, 7 of the encoder').waitFor()
}, 60_000)

it.each([
  ['decoder → encoder', 'target 5 × source 7'],
  ['decoder', 'query 5 × key 5'],
  ['encoder', 'query 7 × key 7'],
])('%s: axes, weights and gradients', async (kind, axes) => {
  await page.getByRole('button', { name: kind, exact: true }).click()
  await page.getByText(axes).waitFor()
  expect(await cells().locator('.effect-number').count()).toBeGreaterThan(10)
  await page.getByRole('button', { name: 'gradient', exact: true }).click()
  await page.getByText(/^What raising a weight does/).waitFor()
  await page.getByRole('button', { name: 'weights', exact: true }).click()
})

it('a head is ablated, a pair knocked out, another text patched in', async () => {
  await page.getByRole('button', { name: 'decoder → encoder', exact: true }).click()
  await page.getByText('head zero').waitFor()
  const ablated = await probabilities()
  expect(ablated.some(([before, after]) => before !== after)).toBe(true)
  await page.getByRole('button', { name: 'knock out' }).click()
  await page.getByText('Click the pair').waitFor()
  await cells().focus()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.getByText('pair hidden').waitFor()
  await page.getByRole('region', { name: /^Weights of target 1/ }).waitFor()
  await page.getByRole('button', { name: 'patch', exact: true }).click()
  const other = page.getByRole('textbox', { name: 'Another text for the encoder' })
  await other.fill('1, 2, 3')
  await other.press('Enter')
  await page.getByText('It has 3 tokens, but the text that was read has 7').waitFor()
  await other.fill('1, 2, 3, 4, 5, 6, 7')
  await other.press('Enter')
  await page.getByText('patched', { exact: true }).waitFor()
  expect((await probabilities()).some(([before, after]) => before !== after)).toBe(true)
})

it('a head of the decoder is ablated from the inspector, and taken apart', async () => {
  await page.getByRole('button', { name: 'Ablate this head' }).click()
  await page.locator('.prob-ablated').first().waitFor()
  await page.getByRole('button', { name: 'Undo ablation' }).click()
  await page.evaluate(() => {
    const now = new URLSearchParams(location.hash.slice(1))
    now.set('tab', 'bench')
    location.hash = now.toString()
  })
  await page.getByRole('group', { name: 'Steps of the head' }).getByRole('button').first().waitFor()
  expect(app.problems).toEqual([])
})
