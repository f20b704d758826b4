/** Path patching in the app: a circuit found by clicking, kept as an experiment, opened again, and taken out as text. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { violations } from '../support/axe.ts'
import { type AppPage, addressOf, eventually, openAppPage, openTab } from './app-page.ts'

const CLEAN = 'The queen Zorblat spoke to the king Mimsy. The king Mimsy answered the queen Zor'
const CORRUPT = CLEAN.replace('Zorblat', 'Zirblat')

let app: AppPage
let page: Page

beforeAll(async () => {
  app = await openAppPage({
    viewport: { width: 1280, height: 720 },
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  page = app.page
  await page.goto(app.engine.url)
  await page.locator('.ranked-row').first().waitFor()
  await page.getByRole('button', { name: 'Edit prompt' }).click()
  await page.getByRole('textbox', { name: 'Prompt text' }).fill(CLEAN)
  const run = address().get('run')
  await page.keyboard.press('Control+Enter')
  await page.waitForFunction(
    (before) => new URLSearchParams(location.hash.slice(1)).get('run') !== before,
    run,
  )
  await openTab(page, 'Paths')
}, 120_000)

afterAll(() => app?.close())

const address = () => addressOf(page)
const circuit = () => page.getByRole('region', { name: 'Circuit' })
const into = (place: string) => page.getByRole('region', { name: `What leads into ${place}`, exact: true })
const button = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' })
const number = (text: string | null) => Number(text!.replace('−', '-'))

async function rank(place: string, total: number) {
  await into(place)
    .getByRole('button', { name: `Rank all ${total}` })
    .click()
  await into(place).getByText(`${total} of ${total} measured`).waitFor()
}

describe.sequential('the path graph', () => {
  it('says what is missing, and refuses prompts that cannot be aligned', async () => {
    expect(
      await into('logits')
        .getByRole('button', { name: /^Rank all/ })
        .isDisabled(),
    ).toBe(true)
    await page.getByRole('textbox', { name: 'Corrupt prompt' }).fill('Zirblat')
    await page.getByText('patching needs equally many').waitFor()
    // The metric is what the corrupt prompt says against the clean one: nothing starts before both are known.
    let go = () => {}
    const held = new Promise<void>((resolve) => {
      go = resolve
    })
    await page.route('**/api/predict', async (route) => {
      await held
      await route.continue()
    })
    await page.getByRole('textbox', { name: 'Corrupt prompt' }).fill(CORRUPT)
    const start = into('logits').getByRole('button', { name: /^Rank all/ })
    await page.locator('.aligned-column.is-different').first().waitFor()
    await eventually(() => start.getAttribute('title')).toBe('The model is reading the corrupt prompt')
    expect(await start.isDisabled()).toBe(true)
    go()
    await eventually(() => start.isEnabled()).toBe(true)
    await page.unroute('**/api/predict')
  })

  it('ranks what leads into the logits, then grows downwards: L1 hears L0 through its keys', async () => {
    await rank('logits', 19)
    const first = into('logits').locator('.effect-line').first()
    expect(await first.textContent()).toMatch(/^L1H\d/)
    expect(number(await first.locator('.number').textContent())).toBeLessThan(-1)
    await button('Add strongest').click()
    const head = (await circuit().locator('.path-open .id-chip').textContent())!
    await button(`k of ${head}: look at what leads into it`).click()
    await rank(`${head} keys`, 10)
    const heard = into(`${head} keys`).locator('.effect-line').first()
    expect(await heard.textContent()).toMatch(/^L0H\d/)
    expect(number(await heard.locator('.number').textContent())).toBeLessThan(-1)
    await button('Add strongest').click()
    // Queries hear nothing of a token that stands far before them.
    await button(`q of ${head}: look at what leads into it`).click()
    await rank(`${head} queries`, 10)
    const queries = await into(`${head} queries`).locator('.effect-line .number').allTextContents()
    for (const shown of queries) expect(Math.abs(number(shown))).toBeLessThan(0.1)
  })

  it('draws the edges with their numbers, clear of the nodes', async () => {
    const numbers = page.locator('.path-number')
    await eventually(() => numbers.count()).toBe(2)
    const boxes = await page.locator('.path-node').evaluateAll((all) =>
      all.map((one) => {
        const { left, right, top, bottom } = one.getBoundingClientRect()
        return { left, right, top, bottom }
      }),
    )
    for (const box of await numbers.all()) {
      const at = (await box.boundingBox())!
      for (const { left, right, top, bottom } of boxes)
        expect(
          at.x + at.width <= left + 4 ||
            at.x >= right - 4 ||
            at.y + at.height <= top + 4 ||
            at.y >= bottom - 4,
        ).toBe(true)
    }
    expect(await page.locator('.path-edge.is-unknown').count()).toBe(0)
  })

  it('takes a sender by a click on its node, and measures the circuit as an experiment', async () => {
    const head = (await circuit().locator('.effect-line').first().textContent())!.slice(0, 4)
    await button(`v of ${head}: look at what leads into it`).click()
    await button(new RegExp(`^embedding: click adds its edge into ${head} values`)).click()
    await eventually(() => circuit().locator('.effect-line').count()).toBe(3)
    await eventually(() => page.locator('.path-edge.is-unknown').count()).toBe(1)
    await button('Measure 3 edges').click()
    await page.getByText(/saved as experiment \d+/).waitFor()
    expect(await page.locator('.path-edge.is-unknown').count()).toBe(0)
    expect(await page.locator('.path-number').count()).toBe(3)
  })

  it('has nothing that a screen reader or weak eyes would stumble over, in both themes', async () => {
    for (const [theme, rules] of [
      ['dark', undefined],
      ['light', ['color-contrast']], // a theme has nothing of its own but colours
    ] as const) {
      await page.evaluate((name) => {
        document.documentElement.dataset.theme = name
      }, theme)
      expect(await violations(page, rules)).toEqual([])
    }
  })

  it('another choice of MLPs is another measurement', async () => {
    await page.getByRole('group', { name: 'MLPs between' }).getByText('freeze').click()
    await page.getByText('another choice of MLPs').waitFor()
    expect(await page.locator('.path-edge.is-unknown').count()).toBe(3)
    await button('Measure 3 edges').click()
    await eventually(() => page.locator('.path-edge.is-unknown').count()).toBe(0)
    await page.getByRole('group', { name: 'MLPs between' }).getByText('recompute').click()
    await page.getByText(/saved as experiment \d+/).waitFor()
  })

  it('leaves as a command, a script, a figure and numbers', async () => {
    const out = async (item: string) => {
      await button('Export this circuit').click()
      await page.getByRole('menuitem', { name: item }).click()
    }
    await out('Copy as command')
    await page.getByText('Copied').waitFor()
    const command = await page.evaluate(() => navigator.clipboard.readText())
    expect(command).toMatch(
      /^headscope path induction-2l .*--edges L1H\d:logits,L0H\d:L1H\d\.k,embed:L1H\d\.v /,
    )
    await out('Copy as script')
    await eventually(() => page.evaluate(() => navigator.clipboard.readText())).toMatch(
      /await pathPatch\(model/,
    )
    const file = page.waitForEvent('download')
    await out('Figure (SVG)')
    expect((await file).suggestedFilename()).toMatch(/\.svg$/)
  })

  it('opens again from the library with its prompts, metric and edges', async () => {
    const before = await circuit().locator('.effect-line').allTextContents()
    await page.goto('about:blank')
    await page.goto(app.engine.url)
    await page.locator('.ranked-row').first().waitFor()
    await page
      .locator('.library')
      .getByTitle(/^paths, .* · 3 cells · /)
      .last()
      .click()
    await eventually(() => address().get('tab')).toBe('paths')
    await page.getByText(/saved as experiment \d+/).waitFor()
    await eventually(() => circuit().locator('.effect-line').allTextContents()).toEqual(before)
    // The run that it was made on is there already: no other one is made.
    expect(
      await page
        .locator('.library')
        .getByText(/^\d+ ids$/)
        .count(),
    ).toBe(0)
    await circuit()
      .getByRole('button', { name: /^Take .* out of the circuit$/ })
      .last()
      .click()
    await eventually(() => circuit().locator('.effect-line').count()).toBe(2)
    expect(app.problems).toEqual([])
  })
})
