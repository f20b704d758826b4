/** The ready examples, in the real browser on the bundled checkpoint: each opens by its address and shows its result. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { violations } from '../support/axe.ts'
import { layoutFlaws } from '../support/layout.ts'
import { type AppPage, addressOf, eventually, openAppPage, openTab } from './app-page.ts'

let app: AppPage
let page: Page

beforeAll(async () => {
  app = await openAppPage({ viewport: { width: 1280, height: 720 } })
  page = app.page
  // A fifth of the texts that the corpus example reads: enough for a rate.
  await page.route('**/api/jobs/spans', (route) => {
    const body = route.request().postDataJSON() as { prompts: unknown[] }
    return route.continue({ postData: { ...body, prompts: body.prompts.slice(0, 20) } })
  })
  await page.goto(app.engine.url)
  await page.waitForFunction(() => location.hash.includes('head=') && location.hash.includes('run='))
}, 120_000)

afterAll(() => app?.close())

const address = () => addressOf(page)
const gallery = () => page.getByRole('dialog', { name: 'Examples' })
const region = (name: string | RegExp) => page.getByRole('region', { name })

/** What an example shows when it has done what it promises. */
const RESULTS: Readonly<Record<string, () => Promise<unknown>>> = {
  induction: async () => {
    // The model's answer after the locked token is the token that the head looks at.
    await region('Prediction').locator('.prob').first().waitFor()
    const key = page.getByRole('button', { name: new RegExp(`^token ${address().get('key')} `) })
    const said = region('Prediction').locator('.token-text')
    await eventually(() => said.allTextContents()).toContain(await key.locator('.token-text').textContent())
  },
  repeats: () => eventually(() => region('Places').locator('li').count()).toBeGreaterThan(5),
  'previous-token': () => eventually(() => address().get('head')).toMatch(/^L0H\d$/),
  ablation: () => eventually(() => region('Effects').textContent()).toMatch(/16\/16/),
  patching: () => eventually(() => region('Effects').textContent()).toMatch(/(\d+)\/\1(?!\d)/),
  paths: () =>
    eventually(() => region('Circuit').locator('li').allTextContents()).toContainEqual(
      expect.stringMatching(/L0H\d → L1H\d\.k.*−\d\.\d/),
    ),
  attribution: () =>
    region('Waterfall')
      .getByText(/parts sum to/)
      .waitFor(),
  copying: () => region('Weights').getByRole('application').first().waitFor(),
  'first-principles': () =>
    page.getByRole('group', { name: 'Steps of the head' }).getByRole('button').first().waitFor(),
  'phase-change': async () => {
    await eventually(() => region('Curves').locator('.series-onset').textContent()).toMatch(
      /best head passes 0\.5 between step960 and step1024 .*falls most from step9\d\d/,
    )
    await eventually(() => address().get('t.series-result')).toMatch(/^\d+$/)
  },
  corpus: () => region('Heads by rate').locator('li').first().waitFor(),
  relation: () => region('Heads by relation').locator('li').first().waitFor(),
}

describe.sequential('the examples', () => {
  it('are offered by the header, the palette, the first steps and the empty states', async () => {
    await page.getByRole('button', { name: 'Examples', exact: true }).click()
    await gallery().getByRole('link').nth(11).waitFor()
    expect(await layoutFlaws(page)).toEqual([])
    const pictures = await gallery()
      .getByRole('link')
      .evaluateAll((all) => all.map((card) => getComputedStyle(card.firstElementChild!).backgroundImage))
    expect(pictures.filter((picture) => !picture.startsWith('url('))).toEqual([])
    for (const [theme, rules] of [
      ['light', undefined],
      ['dark', ['color-contrast']], // a theme has nothing of its own but colours
    ] as const) {
      await page.evaluate((name) => {
        document.documentElement.dataset.theme = name
      }, theme)
      expect(await violations(page, rules)).toEqual([])
    }
    await page.keyboard.press('Escape')
    await gallery().waitFor({ state: 'hidden' })

    await page.keyboard.press('Control+k')
    await page.waitForFunction(() => document.activeElement?.getAttribute('role') === 'combobox')
    await page.keyboard.type('all examples')
    await page.getByRole('option', { name: /All examples/ }).waitFor()
    await page.keyboard.press('Enter')
    await gallery().waitFor()
    await page.keyboard.press('Escape')
    await gallery().waitFor({ state: 'hidden' })

    await openTab(page, 'Relation')
    await page.getByRole('button', { name: /^See an example: Green forest/ }).waitFor()

    await openTab(page, 'Heads')
    const steps = region('First steps')
    for (let i = 0; i < 4; i++) {
      await steps.getByRole('listitem').nth(i).getByRole('button').click()
      await eventually(() => steps.locator('.is-done').count()).toBeGreaterThan(i)
    }
    await steps.getByRole('button', { name: /more examples/ }).click()
    await gallery().waitFor()
  })

  it('open from a card in place, and Back leads to where one was', async () => {
    const before = address()
    await gallery()
      .getByRole('link', { name: /^Every repeat as an arc/ })
      .click()
    await eventually(() => address().get('tab')).toBe('induction')
    expect(address().get('run')).not.toBe(before.get('run'))
    expect(address().get('edits')).toBeNull()
    await page.goBack()
    await eventually(() => address().get('run')).toBe(before.get('run'))
    expect(address().get('edits')).toBe(before.get('edits'))
  })

  it.each(Object.keys(RESULTS))('%s opens by its address, and shows what it promises', async (name) => {
    await page.goto('about:blank')
    await page.goto(`${new URL(app.engine.url).origin}/#example=${name}`)
    await eventually(() => address().get('run')).toMatch(/\d/)
    expect(address().get('example')).toBeNull() // the address is now that of what is shown
    await RESULTS[name]!()
    expect(await layoutFlaws(page)).toEqual([])
    expect(app.problems).toEqual([])
  })

  it('has an address for each card, and a result is known of each', async () => {
    await page.getByRole('button', { name: 'Examples', exact: true }).click()
    const links = await gallery()
      .getByRole('link')
      .evaluateAll((all) => all.map((card) => card.getAttribute('href')!))
    expect(links).toEqual(Object.keys(RESULTS).map((name) => `#example=${name}`))
  })
})
