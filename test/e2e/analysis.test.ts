/** Numbers of the analysis views: what is not there looks unlike 0, intervals are drawn, what is locked is in view, what cannot be undone asks. */
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { violations } from '../support/axe.ts'
import { type AppPage, addressOf, eventually, openAppPage, openState, startOn } from './app-page.ts'

const TEXT = 'The queen Zorblat spoke to the king Mimsy. The king Mimsy answered the queen Zor'

let app: AppPage
let page: Page
let start: string

beforeAll(async () => {
  app = await openAppPage({
    viewport: { width: 1280, height: 720 },
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  page = app.page
  start = await startOn(app, TEXT, 38)
}, 120_000)

afterAll(() => app?.close())

const at = (state: string) => openState(page, start, state)

describe.sequential('numbers of the analysis views', () => {
  it('a source that a query cannot see is not a source that brings 0', async () => {
    await at('tab=attribution&query=36&head=L1H7')
    const sources = page.getByRole('region', { name: 'Sources of L1H7' }).locator('.source-token i')
    await eventually(() => sources.count()).toBe(38)
    expect(await sources.nth(37).textContent()).toBe('–')
    expect(await sources.nth(37).getAttribute('title')).toContain('not visible')
    expect(await sources.nth(7).textContent()).toMatch(/^\+2\.\d\d$/)
    expect(await page.locator('.source-token .is-small').count()).toBeGreaterThan(30)
    const hint = await page.locator('.effect-line').first().getAttribute('title')
    expect(hint).toMatch(/n = 1 prompt.*no seed.*\nat position 36\ncheckpoint induction-2l \([0-9a-f]{12}\)$/)
  })

  it('the locked token is in view in the lanes, before a cell is chosen', async () => {
    await at('tab=residual&query=36')
    const column = page.locator('.lens th.is-locked')
    await column.waitFor()
    expect(await column.textContent()).toContain('36')
    const [seen, box] = await Promise.all([column.boundingBox(), page.locator('.lens-scroll').boundingBox()])
    expect(seen!.x + seen!.width).toBeLessThanOrEqual(box!.x + box!.width + 1)
  })

  it('lanes with an edit leave as a script that makes the edit', async () => {
    const edits = JSON.stringify([{ hook: 'blocks.0.attn.hook_z', head: 2, op: 'zero' }])
    await at(`tab=residual&query=36&edits=${encodeURIComponent(edits)}`)
    await page.getByRole('button', { name: 'Export this prompt with the edits' }).click()
    await page.getByRole('menuitem', { name: 'Copy as script' }).click()
    await page.locator('.figure-menu').getByText('Copied').waitFor()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toContain('"op":"zero"')
  })

  it('says why a whole row of gradients is 0', async () => {
    await at('tab=bench&query=36&head=L1H7&t.bench_side=gradients')
    await page.getByText(/Every β of this row is 0: the metric, read at token 37/).waitFor()
    await at('tab=bench&query=36&head=L1H7&t.bench_side=gradients&t.at=locked')
    const first = page
      .getByRole('region', { name: 'Routing gradients' })
      .locator('.effect-line .number')
      .first()
    await eventually(() => first.textContent()).toMatch(/^[+−]\d/)
    expect(await page.getByText(/Every β of this row is 0/).count()).toBe(0)
  })

  it('draws the interval of a mean difference, and says it under the pointer', async () => {
    await at('tab=relation')
    await page.getByRole('button', { name: 'Probe the heads' }).click()
    await page.locator('.relation-line .bar-whisker').first().waitFor({ state: 'attached' })
    expect(await page.locator('.relation-line .bar-whisker').count()).toBe(16)
    await page.locator('.effect-window').hover({ position: { x: 20, y: 10 } })
    await eventually(() => page.locator('.effect-foot output').textContent()).toMatch(
      /^L1H0 .*\[[+−]\S+, [+−]\S+\] of the mean; \d+ won, \d+ lost$/,
    )
  })

  it('takes the strongest examples out as a figure and as numbers', async () => {
    await at('tab=corpus&t.corpus=examples&head=L1H7')
    await page.getByRole('button', { name: 'pasted', exact: true }).click()
    await page
      .getByRole('textbox', { name: 'Pasted texts, one a line' })
      .fill(`${TEXT}\n${TEXT} and went home.`)
    await page.getByRole('button', { name: 'Find the strongest in 2 texts' }).click()
    await page
      .getByRole('region', { name: 'Strongest examples of L1H7' })
      .locator('.example-row')
      .first()
      .waitFor()
    const take = async (item: string) => {
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        page
          .getByRole('button', { name: 'Export the examples' })
          .click()
          .then(() => page.getByRole('menuitem', { name: item }).click()),
      ])
      return readFileSync((await file.path())!, 'utf8')
    }
    const rows = (await take('Numbers (CSV)')).trim().split('\n')
    expect(rows[0]!.trim()).toBe('head,window,query,query_token,key,key_token,weight')
    expect(rows.filter((row) => /^"?L1H7"?,/.test(row)).length).toBeGreaterThan(2)
    const svg = await take('Figure (SVG)')
    expect(svg).toContain('over 2 texts; the largest weights')
    expect(svg).toMatch(/checkpoint induction-2l \([0-9a-f]{12}\)/)
  })

  it('draws who reads whom as a network whose edges begin at random, with a list of the same', async () => {
    await at('tab=weights&head=L1H7&t.weights=network')
    await page.getByRole('button', { name: /^Read the weights/ }).click()
    const list = page.getByRole('region', { name: 'Strongest pairs' })
    await list.locator('.effect-line').first().waitFor()
    // The induction heads read the previous-token head through their keys.
    expect(await list.locator('.head-name').first().textContent()).toMatch(/^L0H2 → L1H\d$/)
    const shown = await list.locator('.number').allTextContents()
    expect(shown.every((text) => text.startsWith('+'))).toBe(true)
    expect(await page.locator('.network-edge').count()).toBe(shown.length)
    await page.getByText(`edges begin at random · ${shown.length} drawn of`).waitFor()
    expect(await list.locator('.effect-line').first().getAttribute('title')).toMatch(
      /^L0H2 → L1H\d: 0\.\d+, \+0\.\d+ over random\n/,
    )
    await list.locator('.effect-line').first().focus()
    await page.keyboard.press('Enter')
    const name = (await list.locator('.head-name').first().textContent())!.slice(-4)
    await eventually(() => addressOf(page).get('head')).toBe(name)
    expect(await page.locator('.network-edge.is-own').count()).toBeGreaterThan(0)
    expect(await violations(page)).toEqual([])
  })

  it('asks once more before a run is deleted, and every action is in view', async () => {
    await at('tab=store')
    const runs = page.getByRole('region', { name: 'Runs' })
    const remove = runs.getByRole('button', { name: /^Delete run/ })
    await remove.first().waitFor()
    const before = await runs.locator('tbody tr').count()
    for (const [name, button] of [
      ['Runs', /^Delete run/],
      ['Sweeps', /^Delete sweep/],
    ] as const) {
      const list = page.getByRole('region', { name })
      const action = await list.getByRole('button', { name: button }).first().boundingBox()
      const table = await list.boundingBox()
      expect(action!.x + action!.width, name).toBeLessThanOrEqual(table!.x + table!.width + 1)
    }
    await remove.first().click()
    await runs.getByRole('button', { name: /^Really delete run/ }).waitFor()
    await page.keyboard.press('Tab') // somewhere else: it was not meant
    expect(await runs.getByRole('button', { name: /^Really/ }).count()).toBe(0)
    await remove.first().click()
    await runs.getByRole('button', { name: /^Really delete run/ }).click()
    await eventually(() => runs.locator('tbody tr').count()).toBe(before - 1)
  })

  it('no page met a defect', () => {
    expect(app.problems).toEqual([])
  })
})
