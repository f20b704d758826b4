/** One head from first principles and a continuation, in a real browser on the bundled checkpoint. */
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AppPage, addressOf, eventually, openAppPage, openTab } from './app-page.ts'

let app: AppPage
let page: Page

beforeAll(async () => {
  app = await openAppPage({ viewport: { width: 1440, height: 900 } })
  page = app.page
  await page.goto(app.engine.url)
  await page.locator('.ranked-row').first().waitFor()
  await page.waitForFunction(() => location.hash.includes('head='))
}, 120_000)

afterAll(() => app?.close())

const address = () => addressOf(page)
const steps = () => page.getByRole('group', { name: 'Steps of the head' }).getByRole('button')

async function beside(panel: string): Promise<void> {
  await page.getByRole('combobox', { name: 'What is shown beside the step' }).click()
  await page.getByRole('option', { name: panel }).click()
}

describe.sequential('the bench', () => {
  it('shows every step of the head with its shape and formula', async () => {
    await openTab(page, 'First principles')
    await steps().first().waitFor()
    const shown = await steps().evaluateAll((all) =>
      all.map((step) => [
        step.querySelector('.bench-step-name')?.textContent,
        step.querySelector('.bench-shape')?.textContent,
      ]),
    )
    const length = Number(/query (\d+)/.exec(shown.find(([name]) => name === 'weights')![1]!)![1])
    expect(length).toBeGreaterThan(4)
    expect(shown).toEqual([
      ['residual', `pos ${length} × d_model 128`],
      ['normed', `pos ${length} × d_model 128`],
      ['query', `pos ${length} × d_head 16`],
      ['key', `pos ${length} × d_head 16`],
      ['value', `pos ${length} × d_head 16`],
      ['query that meets', `pos ${length} × d_head 16`],
      ['key that meets', `pos ${length} × d_head 16`],
      ['scores', `query ${length} × key ${length}`],
      ['masked scores', `query ${length} × key ${length}`],
      ['weights', `query ${length} × key ${length}`],
      ['weighted values', `pos ${length} × d_head 16`],
      ['output', `pos ${length} × d_model 128`],
      ['attention adds', `pos ${length} × d_model 128`],
      ['residual after', `pos ${length} × d_model 128`],
    ])
    await page.getByRole('button', { name: 'lecture layout' }).click()
    await steps().filter({ hasText: 'Q = W_Q H' }).getByText(`d_head 16 × pos ${length}`).waitFor()
    await page.getByRole('button', { name: 'rows are queries' }).click()
  })

  it('changes one score, and the prediction with it', async () => {
    const score = page.getByRole('textbox', { name: /^Score of/ })
    await score.fill('-30')
    await score.press('Enter')
    await eventually(() => address().get('t.bench_typed')).toMatch(/^\d+\.\d+=-30$/)
    const said = page.getByRole('region', { name: /^Prediction after token/ })
    await said.first().waitFor()
    const rows = await said
      .first()
      .locator('.prediction-list li')
      .evaluateAll((all) => all.map((row) => [...row.querySelectorAll('.prob')].map((p) => p.textContent)))
    expect(rows.length).toBeGreaterThan(1)
    expect(rows.some(([before, after]) => before !== after)).toBe(true)
    const [key] = /\d+(?==)/.exec(address().get('t.bench_typed')!)!
    const row = page.getByRole('region', { name: /^Weights of query/ }).locator('li', { hasText: key })
    await eventually(() => row.first().locator('.prob-number').nth(1).textContent()).toMatch(/^(0|.*e-\d+)$/)
    await page.getByRole('button', { name: 'As it is' }).click()
    await eventually(() => address().get('t.bench_typed')).toBeNull()
  })

  it('changes a number of any step, and says how far it reaches', async () => {
    await steps().filter({ hasText: 'weighted values' }).click()
    await page.getByRole('application', { name: /^weighted values/ }).click({ position: { x: 30, y: 30 } })
    const field = page.getByRole('textbox', { name: /^weighted values:/ })
    await field.fill('four')
    await page.getByText('a number, such as').waitFor()
    await field.fill('4')
    await field.press('Enter')
    await eventually(() => address().get('t.bench_typed')).toMatch(/^weighted_values:\d+\.\d+=4$/)
    const moved = page.getByRole('table', { name: 'How far each step moves' })
    await eventually(() => moved.getByRole('rowheader').allTextContents()).toEqual([
      'weighted values',
      'output',
      'attention adds',
      'residual after',
    ])
    await eventually(() => steps().filter({ hasText: 'as before' }).count()).toBe(10)
    await page.getByRole('button', { name: /^Take back weighted values/ }).click()
    await eventually(() => address().get('t.bench_typed')).toBeNull()
  })

  it('shows sources, sharpness, reach, gradients with the nudge, the basis check and the counts', async () => {
    await beside('Source contributions')
    await page.getByRole('region', { name: 'Source contributions' }).locator('tbody tr').first().waitFor()
    await beside('Sharpness')
    await page.getByRole('region', { name: 'Sharpness' }).getByText('rank of the pattern').waitFor()
    await beside('Reach')
    const reach = page.getByRole('region', { name: 'Reach of a score' })
    expect(await reach.locator('.facts dd').first().textContent()).toBe('0.5')
    await beside('Routing gradients')
    await page.getByText('ΔL exact').waitFor()
    await beside('Basis check')
    const error = page.getByRole('region', { name: 'Basis check' }).locator('.facts dd').first()
    expect(Number(await error.textContent())).toBeLessThan(1e-3)
    await beside('Parameters')
    await page.getByRole('cell', { name: '57,982,058,496' }).waitFor()
  })
})

describe.sequential('a continuation', () => {
  it('generates three tokens, cached as uncached, and becomes the prompt', async () => {
    await openTab(page, 'Generate')
    const before = address().get('run')
    const prompt = await page.locator('.generate-text .token-text').count()
    await page.getByRole('textbox', { name: 'tokens' }).fill('2')
    await page.getByRole('button', { name: 'Generate', exact: true }).click()
    await eventually(() => page.locator('.generate-text .is-new').count()).toBe(2)
    await page.getByRole('button', { name: 'One token' }).click()
    await eventually(() => page.locator('.generate-text .is-new').count()).toBe(3)
    await page.getByText('cached = uncached').waitFor()
    const greedy = await page.locator('.is-new').allTextContents()
    await page.getByRole('button', { name: 'Export the new tokens' }).click()
    const [csv] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: 'Numbers (CSV)' }).click(),
    ])
    expect(
      readFileSync(await csv.path(), 'utf8')
        .trim()
        .split('\n')
        .slice(-3),
    ).toEqual([0, 1, 2].map((i) => expect.stringMatching(new RegExp(`^${prompt + i},\\d+,.*,-`))))
    await page.getByRole('textbox', { name: 'tokens' }).fill('3')
    await page.getByRole('button', { name: 'Generate', exact: true }).click()
    await eventually(() => page.getByRole('button', { name: 'Stop' }).count()).toBe(0)
    expect(await page.locator('.is-new').allTextContents()).toEqual(greedy)
    await page.getByRole('textbox', { name: 'temperature' }).fill('40')
    await page.getByRole('button', { name: 'Generate', exact: true }).click()
    await eventually(() => page.locator('.is-new').allTextContents()).not.toEqual(greedy)
    await page.getByText('cached = uncached').waitFor()
    await page.getByRole('button', { name: 'Use as prompt' }).click()
    await eventually(() => address().get('run')).not.toBe(before)
    await eventually(() => page.locator('.generate-text .token-text').count()).toBe(prompt + 3)
    expect(app.problems).toEqual([])
  })
})
