/** Comparisons of an encoder–decoder in the app: both texts of the corrupt prompt, cross heads in paths and on the bench. */
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { FIXTURES } from '../support/golden.ts'
import { type AppPage, openAppPage, openTab } from './app-page.ts'

/** The one with a tokenizer. */
const MODEL = join(FIXTURES, 'transformers', 't5-relative-bias')

let app: AppPage
let page: Page

beforeAll(async () => {
  app = await openAppPage({ viewport: { width: 1440, height: 900 } })
  page = app.page
  await page.goto(app.engine.url)
  await page.waitForFunction(() => location.hash.includes('run='))
  await page.evaluate((model) => {
    location.hash = new URLSearchParams({ model, tab: 'patching', head: 'L1H1' }).toString()
  }, MODEL)
  await page.reload()
  await page.getByRole('textbox', { name: 'Prompt text' }).fill('green dark')
  await page.getByRole('textbox', { name: "The decoder's own text" }).fill('by then after')
  await page.getByRole('button', { name: /^Run/ }).click()
}, 120_000)

afterAll(() => app?.close())

const tab = (name: string) => openTab(page, name)
const columns = (what: string) =>
  page.getByRole('list', { name: `Clean and corrupt ${what}, position by position` }).locator('li')

it('the corrupt prompt is two texts; what is not written is the clean one’s', async () => {
  await page.getByRole('textbox', { name: 'Corrupt source' }).fill('green rain after')
  await columns('source').nth(3).waitFor()
  expect(await columns('source').allInnerTexts()).toHaveLength(4)
  expect(await columns('source').locator('.is-different').count()).toBe(3) // dark, the end, and one more
  expect(await columns('decoder').count()).toBe(4)
  expect(await columns('decoder').locator('.is-different').count()).toBe(0)
})

it('a cell is patched between both, and opened as a run of its own', async () => {
  await page.getByRole('combobox', { name: 'Site' }).click()
  await page.getByRole('option', { name: 'attention to the source' }).click()
  await page.getByRole('button', { name: 'Patch', exact: true }).click()
  await page.getByText('8/8').waitFor()
  await page.locator('.effect-line').first().click()
  const cell = page.getByRole('region', { name: 'The cell' })
  await cell.locator('.prob-ablated').first().waitFor()
  const patched = await cell.locator('.prob-ablated').allInnerTexts()
  await cell.getByRole('button', { name: 'Open this run' }).click()
  await page.getByRole('button', { name: 'Remove all' }).waitFor()
  // The run beside is the corrupt prompt, and with the edit it says what the cell said.
  const side = page.locator('.prediction').first()
  await side.locator('.prob-ablated').first().waitFor()
  const said = await side.locator('.prob-ablated').allInnerTexts()
  expect(said.slice(0, 3)).toEqual(patched.slice(0, 3))
  await page.getByRole('button', { name: 'Remove all' }).click()
})

it('a stored prompt of the library brings both texts back', async () => {
  const library = page.getByRole('navigation', { name: 'Library' })
  await library.getByRole('button', { name: /^green dark → by then after/ }).click()
  await page.getByRole('banner').getByText('green dark').waitFor()
  await page.getByRole('button', { name: 'Edit prompt' }).click()
  const editor = page.getByRole('form', { name: 'Prompt editor' })
  expect(await editor.getByRole('textbox', { name: 'Prompt text' }).inputValue()).toBe('green dark')
  const own = editor.getByRole('textbox', { name: "The decoder's own text" })
  expect(await own.inputValue()).toBe('by then after')
  await editor.getByRole('button', { name: 'Close' }).click()
})

it('a stored comparison brings the corrupt prompt’s two texts back', async () => {
  await page.getByRole('navigation', { name: 'Library' }).getByRole('button', { name: /patch/ }).click()
  await columns('source').nth(3).waitFor()
  expect(await columns('source').locator('.is-different').count()).toBe(3)
  await page.getByText('8/8').waitFor()
})

it('in the graph of paths the source sends to the keys of a head over it', async () => {
  await tab('Paths')
  await page.getByRole('textbox', { name: 'Corrupt source' }).fill('dark dark')
  await page.getByRole('button', { name: 'k of L1H2.cross: look at what leads into it' }).click()
  await page.getByRole('button', { name: 'Rank all 1' }).click()
  await page.getByText('1 of 1 measured').waitFor()
  await page.getByRole('button', { name: 'Add strongest' }).click()
  await page.getByRole('region', { name: 'Circuit' }).getByText('source → L1H2.cross.k').waitFor()
  // Its queries hear what the decoder wrote, heads of the same block included; the source does not.
  await page.getByRole('button', { name: 'q of L1H2.cross: look at what leads into it' }).click()
  await page.getByRole('button', { name: /^Rank all 14/ }).click()
  await page.getByText('14 of 14 measured').waitFor()
  // One source for both: there is nothing that it could say.
  await page.getByRole('textbox', { name: 'Corrupt source' }).fill('')
  await page.getByRole('textbox', { name: 'Corrupt prompt' }).fill('by no after')
  await page.getByRole('button', { name: 'k of L1H2.cross: look at what leads into it' }).click()
  await page.getByText('made from the source alone').waitFor()
  expect(await page.getByRole('button', { name: 'Rank all 0' }).isDisabled()).toBe(true)
})

it('the residual stream and its card say whose they are', async () => {
  await tab('Residual')
  await page.getByText('residual stream of the decoder').waitFor()
  await page.locator('.lens-cell').first().click()
  await page.getByRole('region', { name: 'The cell' }).getByText('decoder', { exact: true }).waitFor()
})

it('the bench takes a head over the source apart, and runs what is typed', async () => {
  await tab('First principles')
  await page.getByRole('group', { name: 'Attention' }).getByText('source').click()
  await page.locator('.bench-step', { hasText: 'memory' }).click()
  await page.getByRole('application', { name: /^memory, 3 × / }).waitFor()
  expect(await page.getByRole('button', { name: 'No mask' }).count()).toBe(0)
  await page.locator('.bench-step', { hasText: 'weights' }).first().click()
  await page.getByRole('application', { name: /^weights, 4 × 3/ }).waitFor()
  const sources = page.getByRole('region', { name: 'Source contributions' }).locator('tbody tr')
  expect(await sources.count()).toBe(3)
  await page.getByRole('textbox', { name: /^Score of / }).fill('40')
  await page.getByRole('button', { name: 'Set', exact: true }).click()
  const row = page.getByRole('region', { name: /^Weights of query / })
  await row.locator('.prob-ablated', { hasText: '1' }).first().waitFor()
  await page.getByRole('button', { name: 'As it is' }).click()
})

it('a mean over typed texts becomes an active edit', async () => {
  await tab('Ablation')
  await page.getByRole('combobox', { name: 'What stands in its place' }).click()
  await page.getByRole('option', { name: 'mean over texts' }).click()
  await page.getByRole('textbox', { name: /^Texts of the mean/ }).fill('by no\nby then after')
  await page.getByRole('button', { name: 'Ablate', exact: true }).click()
  await page.getByText('8/8').waitFor()
  await page.locator('.effect-line').first().click()
  await page.getByRole('button', { name: 'Make it an active edit' }).click()
  await page
    .getByText(/set mean of 2 texts/)
    .first()
    .waitFor()
  await page.locator('.prob-ablated').first().waitFor()
  expect(await page.getByRole('alert').filter({ hasText: /./ }).allInnerTexts()).toEqual([])
  expect(app.problems).toEqual([])
})
