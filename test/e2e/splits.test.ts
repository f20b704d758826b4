/** Two heads, prompts and checkpoints beside each other, and a window at a large zoom, in a real browser. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { layoutFlaws } from '../support/layout.ts'
import { type AppPage, addressOf, eventually, openAppPage, openTab } from './app-page.ts'

const TEXT = 'The queen Zorblat spoke to the king Mimsy. The king Mimsy answered the queen Zor'
const OTHER = TEXT.replaceAll('Zor', 'Bex')
const LONGER = TEXT.replace('spoke', 'never spoke')

let app: AppPage
let page: Page

beforeAll(async () => {
  app = await openAppPage({ viewport: { width: 1280, height: 720 } })
  page = app.page
  await page.goto(app.engine.url)
  await page.locator('.ranked-row').first().waitFor()
}, 120_000)

afterAll(() => app?.close())

const address = () => addressOf(page)
const captions = () => page.locator('.is-both figcaption').allTextContents()
const tokens = () => page.locator('.strip-side').textContent()
const choose = (tab: string) => openTab(page, tab)
/** No field and no button has the focus: keys are for the window. */
const free = () => page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur())

async function run(text: string): Promise<void> {
  const before = address().get('run')
  await page.getByRole('button', { name: 'Edit prompt' }).click()
  await page.getByRole('textbox', { name: 'Prompt text' }).fill(text)
  await page.keyboard.press('Control+Enter')
  await eventually(() => address().get('run') ?? before).not.toBe(before)
}

describe.sequential('beside each other', () => {
  it('two prompts: each with its own tokens and name, and their difference position by position', async () => {
    await run(TEXT)
    await choose('Pattern')
    await page.getByRole('button', { name: 'Hold', exact: true }).click()
    await run(OTHER)
    await page.locator('.is-both figure').nth(2).waitFor()
    expect(await captions()).toEqual([
      expect.stringMatching(/^held L1H7 · “.*Zorblat/),
      expect.stringMatching(/^L1H7 · “.*Bexblat/),
      'difference, position by position',
    ])
    await page
      .locator('.is-both .pattern-window')
      .first()
      .hover({ position: { x: 40, y: 150 } })
    await eventually(() => page.locator('.is-both .band-query.is-hovered').count()).toBe(3)
    expect(await page.locator('.is-both .axis-query').count()).toBe(2)
  })

  it('two prompts of two lengths: one zoom, the same cells', async () => {
    await run(LONGER)
    await eventually(() => page.locator('.is-both figure').count()).toBe(2)
    const view = page.locator('.is-both .pattern-window')
    await view.first().hover({ position: { x: 60, y: 120 } })
    for (let i = 0; i < 4; i++) await page.mouse.wheel(0, -200)
    await eventually(() => page.locator('.is-both .minimap').count()).toBe(2)
    const firstLabel = (at: number) =>
      page.locator('.is-both figure').nth(at).locator('.axis-key .axis-label i').first().textContent()
    await page.mouse.move(2, 2)
    await eventually(() => firstLabel(0)).toBe(await firstLabel(1))
    expect(Number(await firstLabel(0))).toBeGreaterThan(0)
  })

  it('two checkpoints: the head follows, the zoom stays, also when values are measured first', async () => {
    await page.getByRole('button', { name: /^Let go/ }).click()
    await page.getByRole('button', { name: 'Hold', exact: true }).click()
    await page.getByRole('button', { name: '896', exact: true }).click()
    await eventually(captions).toEqual([
      'held L1H7 · induction-2l',
      'L1H7 · induction-2l · step 896',
      'difference',
    ])
    await page.getByRole('button', { name: 'Same head' }).click()
    await free()
    await page.keyboard.press('ArrowLeft')
    await eventually(captions).toContain('held L1H6 · induction-2l')
    // It is the same text: what was zoomed before still is.
    const zoomed = () => page.locator('.minimap button').first().textContent()
    await eventually(zoomed).toMatch(/[2-9]\.\d×/)
    const zoom = await zoomed()
    await page.getByRole('combobox', { name: 'What a cell says' }).click()
    await page.getByRole('option', { name: 'weight × |v|', exact: true }).click()
    await eventually(() => page.locator('.link-foot').textContent()).toContain('weight × |v|')
    await eventually(zoomed).toBe(zoom)
    await free()
    await page.keyboard.press(']')
    await eventually(captions).toContain('L1H6 · induction-2l · step 960')
    await eventually(zoomed).toBe(zoom)
  })

  it('the heads of both: one hover, a click on either chooses in both', async () => {
    await choose('Heads')
    const held = page.getByRole('grid', { name: /^Held heads/ })
    const own = page.getByRole('grid', { name: /^Heads by layer/ })
    await held.getByRole('gridcell', { name: /^L1H3 / }).hover()
    await eventually(() => page.locator('.tile-hover').count()).toBe(2)
    await held.getByRole('gridcell', { name: /^L1H3 / }).click()
    await eventually(() => own.locator('[aria-selected=true]').getAttribute('data-head')).toBe('L1H3')
    expect(await held.locator('[aria-selected=true]').getAttribute('data-head')).toBe('L1H3')
    expect(await layoutFlaws(page)).toEqual([])
    await page.reload()
    await page.getByRole('grid', { name: /^Held heads/ }).waitFor()
    await page.getByRole('button', { name: 'Let go of the held run' }).click()
    await eventually(() => page.getByRole('grid').count()).toBe(1)
  })

  it('two texts scroll together', async () => {
    await run(`${TEXT}. `.repeat(9))
    await choose('Pattern')
    await page.getByRole('button', { name: 'Hold', exact: true }).click()
    await page.getByRole('button', { name: 'Show L1H1' }).click()
    await page.getByRole('button', { name: 'Text', exact: true }).click()
    await page.locator('.text-words').nth(1).waitFor()
    await page.locator('.text-words').first().hover()
    await page.mouse.wheel(0, 60)
    const tops = () => page.locator('.text-words').evaluateAll((all) => all.map((one) => one.scrollTop))
    await eventually(async () => (await tops())[1]).toBe(60)
    expect((await tops())[0]).toBe(60)
  })
})

describe.sequential('a prompt that is run again', () => {
  it('keeps special tokens as plain text: in the editor, on another step, from the library', async () => {
    const text = 'A<|endoftext|>B A<|endoftext|>B'
    await page.getByRole('button', { name: 'Edit prompt' }).click()
    await page.getByRole('textbox', { name: 'Prompt text' }).fill(text)
    await page.getByRole('checkbox', { name: 'specials as plain text' }).click()
    await page.getByRole('textbox', { name: 'Prompt text' }).press('Control+Enter')
    await eventually(tokens).toMatch(/^Edit prompt23 tokens/)
    await page.getByRole('button', { name: 'Edit prompt' }).click()
    const plain = page.getByRole('checkbox', { name: 'specials as plain text' })
    await eventually(() => plain.getAttribute('aria-checked')).toBe('true')
    await page.getByRole('button', { name: 'Close', exact: true }).click()
    await page.getByRole('button', { name: '1024', exact: true }).click()
    await eventually(() => address().get('model')).toContain('step1024')
    await eventually(tokens).toMatch(/^Edit prompt23 tokens/)
    await page.locator('.library').getByRole('button', { name: OTHER, exact: true }).click()
    await eventually(tokens).not.toMatch(/^Edit prompt23 tokens/)
    await page.locator('.library').getByRole('button', { name: text, exact: true }).click()
    await eventually(tokens).toMatch(/^Edit prompt23 tokens/)
  })
})

describe.sequential('a large zoom', () => {
  it.each([
    [960, 600],
    [3840, 2160],
  ])('%i × %i: nothing is cut, covered or lost', async (width, height) => {
    const context = await app.browser.newContext({ viewport: { width, height } })
    const small = await context.newPage()
    try {
      await small.goto(app.engine.url)
      await small.locator('.ranked-row').first().waitFor()
      for (const tab of ['Heads', 'Pattern', 'Induction', 'Residual', 'Series', 'Store']) {
        await openTab(small, tab)
        await small.waitForTimeout(400)
        expect(await layoutFlaws(small), `${tab} at ${width}`).toEqual([])
      }
      await openTab(small, 'Pattern')
      const cells = await small.locator('.pattern-window').first().boundingBox()
      expect(cells!.width).toBeGreaterThan(180)
    } finally {
      await context.close()
    }
  })

  it('has had no error', () => {
    expect(app.problems).toEqual([])
  })
})
