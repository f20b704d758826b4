/** Results of sweeps say what they are of: another checkpoint's are not drawn, another prompt's are named; cells say their value. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AppPage, addressOf, eventually, openAppPage, openState, startOn } from './app-page.ts'

const CLEAN = 'The queen Zorblat spoke to the king Mimsy. The king Mimsy answered the queen Zor'
const CORRUPT = CLEAN.replace('Zorblat', 'Zarblat')

let app: AppPage
let page: Page
let start: string

beforeAll(async () => {
  app = await openAppPage({ viewport: { width: 1280, height: 720 } })
  page = app.page
  start = await startOn(app, CLEAN, 38)
}, 120_000)

afterAll(() => app?.close())

const address = () => addressOf(page)
const at = (state: string) => openState(page, start, state)
const library = () => page.getByRole('navigation', { name: 'Library' })
const effects = () => page.locator('.effect-number').allTextContents()

describe.sequential('a sweep', () => {
  it('is not shown as that of another step of the series, and is opened where it belongs', async () => {
    await at('tab=ablation&head=L1H7')
    await page.getByRole('button', { name: 'Ablate', exact: true }).click()
    await eventually(() => page.locator('.sweep-main').textContent()).toMatch(/16\/16/)
    const shown = await effects()
    await library().getByRole('button', { name: '1024', exact: true }).click()
    await page.getByText('What was open is of induction-2l, not of this checkpoint.').waitFor()
    expect(await effects()).toEqual([])
    await page.getByRole('button', { name: 'Open it on induction-2l' }).click()
    await eventually(effects).toEqual(shown)
    await eventually(() => address().get('model')).toBe('induction-2l')
    expect(await page.locator('.elsewhere').count()).toBe(0)
    // The last step has the weights of the finished model: what holds for one holds for the other.
    await library().getByRole('button', { name: '6000', exact: true }).click()
    await eventually(() => address().get('model')).toBe('induction-2l/checkpoints/step6000')
    await eventually(effects).toEqual(shown)
    await library()
      .getByRole('button', { name: /^induction-2l *13 steps/ })
      .click()
    await eventually(() => address().get('model')).toBe('induction-2l')
    await eventually(effects).toEqual(shown)
  })

  it('names its prompt while another one is shown', async () => {
    await library()
      .getByRole('button', { name: /^Dorothy/ })
      .first()
      .click()
    const line = page.locator('.elsewhere')
    await eventually(() => line.textContent()).toContain('Of another prompt:')
    expect(await line.textContent()).toContain('·answered')
    await line.getByRole('button', { name: 'Open it' }).click()
    await line.waitFor({ state: 'detached' })
    await page.locator('.strip-side').getByText('38 tokens').waitFor()
  })

  it('says the value of the cell under the pointer, and what it is', async () => {
    await at(`tab=patching&t.corrupt=${encodeURIComponent(CORRUPT)}`)
    await eventually(() => page.locator('.aligned-column.is-different').count()).toBe(1)
    await page.getByRole('button', { name: 'Patch', exact: true }).click()
    await eventually(() => page.locator('.sweep-main').textContent()).toMatch(/76\/76/)
    const grid = page.locator('.effect-window')
    const box = (await grid.boundingBox())!
    // Before anything ran, only the changed token matters: it brings the whole answer back.
    await grid.hover({ position: { x: (7.5 * box.width) / 38, y: box.height - 4 } })
    const says = page.locator('.effect-foot output')
    await eventually(() => says.textContent()).toMatch(/^L0 · 7 ar \+1\.00 metric [\d.]+$/)
    const hint = await page.locator('.effect-line').first().getAttribute('title')
    expect(hint).toMatch(/\(patched − corrupt\) \/ \(clean − corrupt\)/)
    expect(hint).toMatch(/n = 1 run a cell.*no seed.*\n.*\ncheckpoint induction-2l \([0-9a-f]{12}\)$/)
    // The corrupt prompt that is written now is another one.
    await page.getByRole('textbox', { name: 'Corrupt prompt' }).fill(CLEAN.replace('Zorblat', 'Zerblat'))
    await eventually(() => page.locator('.elsewhere').textContent()).toContain('Of another corrupt prompt:')
  })

  it('a token of another vocabulary is not measured under its old name', async () => {
    await at(`tab=ablation&t.answer=${encodeURIComponent('99 ·Paris')}`)
    // Under this id the open checkpoint has another token: what it says itself stands there.
    await page.getByRole('button', { name: 'answer: b', exact: true }).waitFor()
    await at(`tab=ablation&t.answer=${encodeURIComponent('263 ·the')}`)
    await page.getByRole('button', { name: 'answer: ·the', exact: true }).waitFor()
    await at(`tab=ablation&t.answer=${encodeURIComponent('99999 ·the')}`)
    await page.getByRole('button', { name: 'answer: b', exact: true }).waitFor()
  })

  it('no page met a defect', () => {
    expect(app.problems).toEqual([])
  })
})
