/** Modes of the pattern, the residual stream of two prompts, and the frame, in a real browser on the bundled checkpoint. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { settled } from '../support/settled.ts'
import { type AppPage, addressOf, eventually, openAppPage, openState, startOn } from './app-page.ts'

const TEXT = 'The queen Zorblat spoke to the king Mimsy. The king Mimsy answered the queen Zor'
const OTHER = 'The king Mimsy spoke to the queen. The dog answered the queen Zor'

let app: AppPage
let page: Page
let start: string

beforeAll(async () => {
  app = await openAppPage({ viewport: { width: 1280, height: 720 } })
  page = app.page
  start = await startOn(app, TEXT, 38)
}, 120_000)

afterAll(() => app?.close())

const address = () => addressOf(page)

const at = (state: string) => openState(page, start, state)

describe.sequential('the pattern', () => {
  const readOut = () => page.locator('output.read-out').first().textContent()

  it('is weighted by values: the sink has weight, and little to move', async () => {
    await at('tab=pattern&head=L1H7&query=20&key=0')
    await eventually(readOut).toMatch(/query 20.*key 0.*0\.\d\d/)
    const weight = Number((await readOut())!.match(/(0\.\d+)\s*$/)![1])
    expect(weight).toBeGreaterThan(0.5)
    await page.getByRole('combobox', { name: 'What a cell says' }).click()
    await page.getByRole('option', { name: 'weight × |v W_O|' }).click()
    await eventually(readOut).toMatch(/weight × \|v W_O\|$/)
    const legend = await page.locator('.link-foot .legend').getAttribute('title')
    expect(legend).toMatch(/Kobayashi/)
    // The largest cell is no longer of the first key: what the head moves is elsewhere.
    const row = page.getByRole('region', { name: 'Where the query looks' }).locator('.link-row')
    await page.locator('.token').nth(36).click()
    await eventually(() => row.first().locator('.index').textContent()).toBe('7')
    await page.reload()
    await eventually(() => page.locator('.link-foot').textContent()).toContain('weight × |v W_O|')
  })

  it('keeps the fewest keys of each row that hold a share of it', async () => {
    await at('tab=pattern&head=L1H7&query=36&t.mass=70')
    const row = page.getByRole('region', { name: 'Where the query looks' }).locator('.link-row')
    await eventually(() => row.count()).toBe(1)
    await page.locator('.link-foot').getByText('left out').waitFor()
    await page.getByRole('combobox', { name: 'Keys of each row' }).click()
    await page.getByRole('option', { name: 'all keys' }).click()
    await eventually(() => row.count()).toBeGreaterThan(5)
  })

  it('averages several queries that are shift-clicked, in every form', async () => {
    await at('tab=pattern&head=L1H7')
    await page.locator('.pattern-canvas canvas').waitFor()
    await page.locator('.token').nth(36).click()
    await eventually(() => address().get('query')).toBe('36')
    await page
      .locator('.token')
      .nth(35)
      .click({ modifiers: ['Shift'] })
    await page.getByText('mean of queries 35, 36 looks at').waitFor()
    await eventually(() => address().get('also')).toBe('35')
    expect(await page.locator('.token.is-query').count()).toBe(2)
    await page.getByRole('button', { name: 'Text', exact: true }).click()
    await eventually(() => page.locator('.word.is-query').count()).toBe(2)
    await page.getByRole('button', { name: 'Arcs', exact: true }).click()
    await page.getByText('edges of queries 36, 35').waitFor()
  })

  it('prints numbers where cells are large, and shows where it is', async () => {
    await at('tab=pattern&head=L1H7&query=36&key=7')
    const cells = page.getByRole('application')
    await cells.focus()
    expect(await page.locator('.cell-numbers').count()).toBe(0)
    for (let i = 0; i < 4; i++) await page.keyboard.press('+')
    await page.locator('.cell-numbers').waitFor()
    await page.locator('.minimap').waitFor()
    await page.keyboard.press('0')
    await page.locator('.minimap').waitFor({ state: 'detached' })
  })
})

describe.sequential('the heads', () => {
  it('fade where they do not look at the locked token, and are filtered by class', async () => {
    await at('query=7')
    const care = page.locator('.care')
    await eventually(() => care.textContent()).toMatch(/^8 look at 7 ‘or’/)
    expect(await page.locator('.tile.is-faded').count()).toBe(8)
    await care.click()
    await eventually(() => page.locator('.tile.is-faded').count()).toBe(0)
    await page.getByRole('searchbox').fill('class induction')
    await eventually(() => page.locator('.ranked-row').count()).toBe(7)
    await page.getByRole('searchbox').fill('class verbs')
    await page.getByText(/No class is called “verbs”/).waitFor()
  })
})

describe.sequential('the residual stream', () => {
  const grid = (name: string) => page.getByRole('region', { name, exact: true })

  it('a cell is dragged into another prompt, and back by button and keyboard', async () => {
    await at('tab=residual&query=36&t.border=1')
    await page.getByRole('textbox', { name: 'Other prompt' }).fill(OTHER)
    await grid('The other prompt').locator('.lens-cell').first().waitFor()
    const from = grid('This prompt').locator('[data-cell="1.36"]')
    const said = await from.textContent()
    await from.dragTo(grid('The other prompt').locator('[data-cell="1.4"]'))
    const made = grid('With the carried cell')
    await eventually(() => made.locator('[data-cell="1.4"]').textContent()).toBe(said)
    expect(await made.locator('.is-outside').count()).toBeGreaterThan(20)
    expect(await made.locator('[data-cell="2.4"].is-outside').count()).toBe(0)
    await eventually(() => made.textContent()).toMatch(/\d+ cells say another token/)
    await eventually(() => address().get('t.carry')).toBe('t1.36-o1.4')
    await page.reload()
    await eventually(() => made.locator('[data-cell="1.4"]').textContent()).toBe(said)
    await page.getByRole('button', { name: 'Carry it…' }).click()
    await page
      .getByRole('status')
      .getByText(/carrying L1 · 36/)
      .waitFor()
    await grid('The other prompt').locator('[data-cell="2.6"]').press('Enter')
    await eventually(() => address().get('t.carry')).toBe('t1.36-o2.6')
    await made.getByRole('button', { name: 'Remove' }).click()
    await made.waitFor({ state: 'detached' })
  })

  it('who wrote the difference between two cells, and lengths through the layers', async () => {
    await at('tab=residual&query=36&t.border=2')
    await grid('This prompt')
      .locator('[data-cell="2.34"]')
      .click({ modifiers: ['Shift'] })
    await page.getByRole('combobox', { name: 'Since which cell' }).getByText('end · 34').waitFor()
    await page.getByText(/shares sum to 1\.00/).waitFor()
    await eventually(() => grid('Norms and cosines').locator('tbody tr').count()).toBe(3)
  })

  it('shows the run with the edits, and what they change', async () => {
    const edits = JSON.stringify([{ hook: 'blocks.0.attn.hook_z', head: 2, op: 'zero' }])
    await at(`tab=residual&query=36&t.border=2&edits=${encodeURIComponent(edits)}`)
    const edited = grid('This prompt with the edits')
    await eventually(() => edited.locator('.is-changed').count()).toBeGreaterThan(10)
    const word = await edited.locator('[data-cell="2.36"]').textContent()
    await page.getByRole('button', { name: 'as it is' }).click()
    await eventually(() => grid('This prompt').locator('[data-cell="2.36"]').textContent()).not.toBe(word)
  })
})

describe.sequential('the frame', () => {
  it('keeps its tabs in one row; the others are in a menu', async () => {
    await at('')
    const tops = await page
      .getByRole('tab')
      .evaluateAll((tabs) => [...new Set(tabs.map((tab) => Math.round(tab.getBoundingClientRect().top)))])
    expect(tops).toHaveLength(1)
    await page.getByRole('button', { name: 'All views' }).click()
    await page.getByRole('menuitem', { name: 'Generate' }).click()
    await eventually(() => address().get('tab')).toBe('generate')
    await page.getByRole('tab', { name: 'Generate' }).waitFor()
    const tab = await page.getByRole('tab', { name: 'Generate' }).boundingBox()
    const row = await page.locator('.tab-list').boundingBox()
    expect(tab!.x + tab!.width).toBeLessThanOrEqual(row!.x + row!.width + 1)
  })

  it('runs that are made to be looked at do not pile up', async () => {
    const stored = () =>
      page.evaluate(async () => {
        const reply = await fetch('/api/library')
        const { runs } = (await reply.json()) as { runs: { edits: number }[] }
        return runs.filter(({ edits }) => edits > 0).length
      })
    await at('tab=pattern')
    for (let head = 0; head < 8; head++) {
      await page.evaluate(
        (edits) => {
          const hash = new URLSearchParams(location.hash.slice(1))
          hash.set('edits', edits)
          location.hash = hash.toString()
        },
        JSON.stringify([{ hook: 'blocks.0.attn.hook_z', head, op: 'zero' }]),
      )
      await page.getByRole('region', { name: 'Active edits' }).getByText(`zero L0H${head}`).waitFor()
      await page.locator('.is-both figure').nth(2).locator('canvas').waitFor()
      await settled(page)
    }
    await eventually(stored).toBeLessThanOrEqual(6)
    const library = page.getByRole('navigation', { name: 'Library' })
    expect(await library.getByText(/^1 edit$/).count()).toBe(0)
  })

  it('says what a token is made of, reads special tokens as text, and what opening costs', async () => {
    await at('query=30')
    await page.getByRole('button', { name: 'Token 30…' }).click()
    const card = page.getByRole('dialog', { name: 'Token 30' })
    await eventually(() => card.locator('tbody tr').last().textContent()).toContain('answered')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Edit prompt' }).click()
    await page.getByRole('textbox', { name: 'Prompt text' }).fill('a <|endoftext|> b')
    await eventually(() => page.locator('.id-chip.is-special').count()).toBe(2)
    await page.getByRole('checkbox', { name: 'specials as plain text' }).click()
    await eventually(() => page.locator('.id-chip.is-special').count()).toBe(1)
    await page.getByRole('button', { name: 'Close', exact: true }).click()
    await page.getByRole('button', { name: 'Open checkpoint…' }).click()
    await page.getByRole('textbox', { name: 'Path of the checkpoint' }).fill('induction-2l')
    await page.getByText('Opens in place: nothing is written.').waitFor()
    await page.keyboard.press('Escape')
  })

  it('no page met a defect', () => {
    expect(app.problems).toEqual([])
  })
})
