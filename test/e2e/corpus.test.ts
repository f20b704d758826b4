/** Many texts and two checkpoints, in the real browser on the bundled model: each tab does its main work once. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AppPage, addressOf, openAppPage, openTab } from './app-page.ts'

let app: AppPage
let page: Page

beforeAll(async () => {
  app = await openAppPage({ viewport: { width: 1440, height: 900 }, timeout: 25_000 })
  page = app.page
  await page.goto(app.engine.url)
  await page.locator('output.read-out').waitFor()
  await page.locator('.ranked-row').first().waitFor()
}, 120_000)

afterAll(() => app?.close())

/** Polls for as long as a busy machine may need. */
const eventually = <T>(get: () => T) => expect.poll(get, { timeout: 25_000 })

const address = () => addressOf(page)
const tab = (name: string) => openTab(page, name)
const region = (name: string | RegExp) => page.getByRole('region', { name })

/** A picture of the window, where a folder for them is given. */
async function picture(name: string): Promise<void> {
  const folder = process.env.HEADSCOPE_PICTURES
  if (!folder) return
  for (const [theme, next] of [
    ['light', 'Switch to dark'],
    ['dark', 'Switch to light'],
  ] as const) {
    await page.waitForTimeout(500)
    await page.screenshot({ path: `${folder}/${name}-${theme}.png` })
    await page.getByRole('button', { name: next }).click()
  }
}

describe.sequential('many texts, and two checkpoints', () => {
  it('finds the heads that do induction in prose, with examples and a causal check', async () => {
    await tab('Corpus')
    await page.getByRole('spinbutton', { name: /read the first/ }).fill('40')
    await picture('corpus-empty')
    await page.getByRole('button', { name: 'Look for induction in 40 texts' }).click()
    const rates = region('Heads by rate').locator('li button')
    await rates.nth(15).waitFor()
    expect(await rates.count()).toBe(16)
    // A rate, its interval and its count, beside the score on random repeats.
    const best = (await rates.first().getAttribute('title'))!
    expect(best).toMatch(/^in these texts 0\.\d+ \[.*\], n = \d+\nrandom repeats 0\.\d+ \[/)
    expect(await rates.first().locator('.head-name').textContent()).toMatch(/^L1/)
    await rates.first().click()
    // The best head helps where the text repeats, beyond the controls.
    const causal = region('Causal check').locator('tbody tr').first().locator('td')
    expect(await causal.nth(2).textContent()).toMatch(/^\+0\.\d+/)
    await picture('corpus')
    const texts = await page.locator('.example-row').first().textContent()
    expect(texts!.length).toBeGreaterThan(10)
  })

  it('opens an example as the prompt, with its head and its edge', async () => {
    const before = address().get('run')
    await page.locator('.example-row').first().click()
    await eventually(() => address().get('tab')).toBe('pattern')
    await eventually(() => address().get('run')).not.toBe(before)
    await eventually(() => address().get('key')).toMatch(/^\d+$/)
    await page.locator('.pattern-canvas canvas').waitFor()
  })

  it('lists the strongest examples of a head, and searches the runs that were kept', async () => {
    await tab('Corpus')
    await page.getByRole('button', { name: 'strongest examples' }).click()
    await page.getByRole('button', { name: 'Find the strongest in 40 texts' }).click()
    await region('Heads by strongest edge').locator('li').nth(15).waitFor()
    await eventually(() =>
      region(/^Strongest examples of/)
        .locator('li')
        .count(),
    ).toBe(20)
    await picture('examples')
    await page.getByRole('button', { name: 'search', exact: true }).click()
    await page.getByRole('spinbutton', { name: /read the first/ }).fill('6')
    await page.getByRole('button', { name: 'Run 6 texts and keep the runs' }).click()
    await page.getByText(/[67] runs hold these texts; \d+ can be searched/).waitFor()
    await page.getByRole('button', { name: /^Search \d+ stored runs/ }).click()
    await region('Heads found').locator('li').first().waitFor()
    await eventually(() => page.locator('.example-row').count()).toBeGreaterThan(3)
    await picture('search')
    await page.locator('.example-row').first().click()
    await eventually(() => address().get('tab')).toBe('pattern')
  })

  it('takes a dropped file, and says what is wrong with one', async () => {
    await tab('Corpus')
    await page.getByRole('button', { name: 'induction', exact: true }).click()
    const file = page.getByLabel('File of texts')
    await file.setInputFiles({
      name: 'mine.jsonl',
      mimeType: 'text/plain',
      buffer: Buffer.from('{"text":"the cat and the cat"}\n{}\n'),
    })
    await eventually(() => region('Corpus').getByRole('alert').textContent()).toMatch(/Line 2 has neither/)
    await file.setInputFiles({
      name: 'mine.txt',
      mimeType: 'text/plain',
      buffer: Buffer.from('<b>the cat</b> and <b>the cat</b>\n'),
    })
    await page.getByRole('button', { name: 'Look for induction in 1 text' }).click()
    await region('Corpus')
      .getByText(/No rate: n = \d+, needs 20/)
      .waitFor()
    await page.getByRole('button', { name: 'bundled prose' }).click()
  })

  it('probes the shipped relation, and selects a head', async () => {
    await tab('Relation')
    await picture('relation-empty')
    await page.getByRole('button', { name: 'Probe the heads' }).click()
    const heads = region('Heads by relation').locator('li button')
    await heads.nth(15).waitFor()
    expect(await heads.count()).toBe(16)
    const name = (await heads.nth(2).locator('.head-name').textContent())!
    await heads.nth(2).click()
    await eventually(() => address().get('head')).toBe(name)
    await picture('relation')
    await page.getByRole('button', { name: 'own template' }).click()
    await page.getByRole('textbox', { name: /words of each slot/ }).fill('target: blue')
    await page.getByRole('button', { name: 'Probe the heads' }).click()
    await eventually(() => region('Relation').getByRole('alert').textContent()).toMatch(
      /no words for \{query\}/,
    )
  })

  it('compares two steps of a series, and one with itself', async () => {
    await tab('Compare')
    await picture('compare-empty')
    await page.getByRole('button', { name: 'Compare', exact: true }).click()
    const changed = region('Heads by change').locator('li button')
    await changed.nth(15).waitFor()
    expect(await region('Compare').getByText('The weights differ').count()).toBe(1)
    await page.locator('.compare-pattern canvas').waitFor()
    await eventually(() => page.locator('.compare-pattern .legend').textContent()).toMatch(
      /^−0\.\d+\+0\.\d+$/,
    )
    const kl = await page.locator('.kl-token').first().getAttribute('aria-label')
    expect(kl).toMatch(/^token 0 .*KL [\d.e-]+ nats/)
    await picture('compare')
    await region('Compare')
      .getByText(/texts · kept in the workspace as \d+/)
      .waitFor()
    const [report] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Report (HTML)' }).click(),
    ])
    expect(report.suggestedFilename()).toMatch(/\.html$/)
    const b = await page.getByRole('combobox', { name: 'B', exact: true }).inputValue()
    await page.getByRole('combobox', { name: 'A', exact: true }).fill(b)
    await page.getByRole('button', { name: 'Compare', exact: true }).click()
    await region('Compare').getByText('Identical weights').waitFor()
  })

  it('shows a stored analysis again without computing: by its address, and from the library', async () => {
    await tab('Relation')
    await eventually(() => address().get('tab')).toBe('relation')
    const posts: string[] = []
    page.on('request', (request) => {
      if (request.method() === 'POST' && request.url().includes('/api/jobs/')) posts.push(request.url())
    })
    await page.reload()
    await region('Heads by relation').locator('li button').nth(15).waitFor()
    await region('Relation')
      .getByText(/512 triples · kept in the workspace as \d+/)
      .waitFor()
    const library = page.getByRole('navigation', { name: 'Library' })
    await library.getByRole('button', { name: /induction in 40 texts/ }).click()
    await eventually(() => address().get('tab')).toBe('corpus')
    await region('Heads by rate').locator('li button').nth(15).waitFor()
    await library
      .getByRole('button', { name: /^\d+\s*step\d+ and .* texts/ })
      .last()
      .click()
    await region('Compare').getByText('The weights differ').waitFor()
    expect(posts).toEqual([])
  })

  it('compares one word in several texts, pieces of a name, and directions of the embedding', async () => {
    await tab('Words')
    await page.getByPlaceholder('king - man + woman').fill('" the" - " a"')
    await page.getByRole('button', { name: 'Nearest tokens' }).click()
    const nearest = region('Nearest tokens').locator('li')
    await nearest.nth(20).waitFor()
    expect(await nearest.first().textContent()).toMatch(/the/)
    await page.getByPlaceholder('king - man + woman').fill('zorblat')
    await page.getByRole('button', { name: 'Nearest tokens' }).click()
    await eventually(() => region('Words').getByRole('alert').textContent()).toMatch(/a direction needs one/)
    await page.getByRole('button', { name: 'one word, several texts' }).click()
    await region('Who wrote the difference').locator('li').nth(5).waitFor()
    expect(await page.locator('.token-pick.is-selected').allTextContents()).toEqual(['le', 'le', 'le'])
    await page.getByRole('button', { name: 'pieces of a name' }).click()
    for (const i of [15, 16])
      await page.getByRole('group', { name: 'Tokens of the prompt' }).locator('button').nth(i).click()
    await region('Pieces and controls along the layers').locator('canvas').waitFor()
    await eventually(() => address().get('t.pieces')).toBe('15.16')
    expect(app.problems).toEqual([])
  })
}, 300_000)
