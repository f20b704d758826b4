/** Steering from a file; a stack of edits saved as an experiment: brought back from the library, run on another checkpoint, deleted. */
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeSafetensors } from '../../core/checkpoint/index.ts'
import { type AppPage, addressOf, eventually, openAppPage, openTab } from './app-page.ts'

let app: AppPage
let page: Page

beforeAll(async () => {
  app = await openAppPage({ viewport: { width: 1280, height: 720 } })
  page = app.page
  await page.goto(app.engine.url)
  await page.locator('.ranked-row').first().waitFor()
  await page.waitForFunction(() => location.hash.includes('head='))
}, 120_000)

afterAll(() => app?.close())

const address = () => addressOf(page)
const stack = () => page.getByRole('region', { name: 'Active edits' })
const kept = () => page.locator('.library').getByText('without its best head, 1 edit')

describe.sequential('steering', () => {
  async function addFrom(file: string) {
    await page.getByRole('button', { name: 'Add edit…' }).last().click()
    await page.getByRole('combobox', { name: 'What to do' }).click()
    await page.getByRole('option', { name: 'add', exact: true }).click()
    await page.getByRole('combobox', { name: 'Where the values come from' }).click()
    await page.getByRole('option', { name: 'a vector in a file' }).click()
    await page.getByRole('textbox', { name: 'file' }).fill(file)
    await page.getByRole('textbox', { name: 'tensor' }).fill('v')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await stack().waitFor()
  }

  it('adds a vector of a file to the residual stream; one that holds NaN is a sentence', async () => {
    const vector = (name: string, data: Float32Array) => {
      const file = join(app.engine.folder, `${name}.safetensors`)
      writeSafetensors(file, [{ name: 'v', shape: [data.length], data }])
      return file
    }
    await addFrom(
      vector(
        'steer',
        Float32Array.from({ length: 128 }, (_, i) => Math.sin(i)),
      ),
    )
    await page.locator('.prob-ablated').first().waitFor()
    expect(JSON.parse(address().get('edits')!)).toMatchObject([{ op: 'add', from: { tensor: 'v' } }])
    await stack().getByRole('button', { name: 'Remove all' }).click()
    await addFrom(vector('broken', new Float32Array(128).fill(Number.NaN)))
    await page
      .getByText(/holds NaN/)
      .first()
      .waitFor()
    await stack().getByRole('button', { name: 'Remove all' }).click()
    await stack().waitFor({ state: 'hidden' })
  })
})

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
    await openTab(page, 'Store')
    const row = page
      .getByRole('region', { name: 'Sweeps' })
      .locator('tr', { hasText: 'without its best head' })
    await row.getByRole('button', { name: /^Delete/ }).click()
    await row.getByRole('button', { name: /^Really delete/ }).click()
    await kept().waitFor({ state: 'detached' })
    expect(app.problems).toEqual([])
  })
})
