/** The app as a person uses it: the built pages in a real Chromium, on a real engine with the bundled checkpoints. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { projectPaths } from '../../electron/paths.ts'
import { type AppPage, addressOf, openAppPage, openTab } from './app-page.ts'

let app: AppPage
let page: Page

beforeAll(async () => {
  app = await openAppPage({ viewport: { width: 1440, height: 900 } })
  page = app.page
  page.on('dialog', (dialog) => {
    app.problems.push(`a dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  await page.goto(app.engine.url)
}, 120_000)

afterAll(() => app?.close())

const grid = () => page.getByRole('grid', { name: /Heads by layer/ })
const tile = (name: string) => grid().getByRole('gridcell', { name: new RegExp(`^${name} `) })
const selectedTile = () => grid().locator('[aria-selected=true]')
const address = () => addressOf(page)
const readOut = () => page.locator('output.read-out')
const activeTab = () => page.getByRole('tab', { selected: true })
const chart = () => page.getByRole('application')

/** Middle of a cell on the screen. */
async function cellAt(window: Locator, size: number, query: number, key: number) {
  const box = (await window.boundingBox())!
  return { x: box.x + ((key + 0.5) / size) * box.width, y: box.y + ((query + 0.5) / size) * box.height }
}

/** A weight as the API has it: float16, lower triangle. */
function weightFromApi(run: string, head: string, query: number, key: number): Promise<number> {
  const [layer, h] = head.slice(1).split('H')
  return page.evaluate(
    async ([path, index]) => {
      const bytes = await (await fetch(path)).arrayBuffer()
      const code = new DataView(bytes).getUint16(index * 2, true)
      const exponent = (code >> 10) & 31
      const fraction = code & 1023
      return exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15)
    },
    [`/api/runs/${run}/pattern?layer=${layer}&head=${h}`, (query * (query + 1)) / 2 + key] as [
      string,
      number,
    ],
  )
}

describe.sequential('the app', () => {
  it('starts on the bundled checkpoint: scored heads, and the strongest induction head on a prompt with a repeat', async () => {
    await page.locator('output.read-out').waitFor()
    await page.getByRole('region', { name: 'Heads ranked by induction' }).locator('li').first().waitFor()
    await expect.poll(() => selectedTile().count()).toBe(1)
    expect(await grid().getByRole('gridcell').count()).toBe(16)
    const first = page.getByRole('region', { name: 'Heads ranked by induction' }).locator('li').first()
    expect(await first.locator('.head-name').textContent()).toBe(
      await selectedTile().getAttribute('data-head'),
    )
    expect(Number(await first.locator('.number').textContent())).toBeGreaterThan(0.9)
    expect(await selectedTile().getAttribute('aria-label')).toMatch(/^L1H\d induction 0\.9\d$/)
    expect(await page.locator('.repeat').count()).toBeGreaterThan(5)
  })

  it('walks the heads by keyboard and opens one', async () => {
    await tile('L0H0').click()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowUp')
    await expect.poll(() => address().get('head')).toBe('L1H1')
    expect(await page.evaluate(() => document.activeElement?.getAttribute('data-head'))).toBe('L1H1')
    await page.keyboard.press('Enter')
    await expect.poll(() => activeTab().textContent()).toBe('Pattern')
    await page.getByRole('region', { name: 'Pattern of L1H1' }).waitFor()
  })

  it('reads the query, the key and the weight of the cell under the pointer', async () => {
    const size = Number((await readOut().textContent())!.split(' ')[0])
    const run = address().get('run')!
    for (const [query, key] of [
      [size - 1, 0],
      [size - 2, Math.floor(size / 2) - 2],
      [7, 3],
    ] as const) {
      const { x, y } = await cellAt(chart(), size, query, key)
      await page.mouse.move(x, y)
      const weight = await weightFromApi(run, 'L1H1', query, key)
      const tokens = await Promise.all(
        [query, key].map((i) => page.locator('.tokens li').nth(i).locator('.token-text').textContent()),
      )
      await expect.poll(() => readOut().textContent()).toMatch(/^query/)
      const text = (await readOut().textContent())!
      expect(text).toContain(`query ${query} ${tokens[0]}`)
      expect(text).toContain(`key ${key} ${tokens[1]}`)
      const shown = Number(/ (\S+)$/.exec(text)![1])
      expect(Math.abs(shown - weight)).toBeLessThanOrEqual(Math.max(0.005, weight * 0.05))
    }
    const { x, y } = await cellAt(chart(), size, 3, 7) // above the diagonal: nothing is there
    await page.mouse.move(x, y)
    await expect.poll(() => readOut().textContent()).toMatch(/hover a cell/)
  })

  it('keeps its whole state in the address', async () => {
    const size = Number((await readOut().textContent())!.split(' ')[0])
    const { x, y } = await cellAt(chart(), size, 9, 4)
    await page.mouse.click(x, y)
    await page.getByRole('button', { name: 'Log' }).click()
    await expect.poll(() => address().get('scale')).toBe('log')
    await page.mouse.move(2, 2)
    const before = { url: page.url(), text: await readOut().textContent() }
    expect(address().get('query')).toBe('9')
    expect(address().get('key')).toBe('4')
    await page.reload()
    await page.getByRole('region', { name: 'Pattern of L1H1' }).waitFor()
    await expect.poll(() => readOut().textContent()).toBe(before.text)
    expect(page.url()).toBe(before.url)
    expect(await activeTab().textContent()).toBe('Pattern')
    expect(await page.getByRole('button', { name: 'Log' }).getAttribute('aria-pressed')).toBe('true')
    await page.goBack()
    await expect.poll(() => address().get('scale')).toBeNull()
    await page.goForward()
    await expect.poll(() => address().get('scale')).toBe('log')
  })

  it('zeroes a head and shows both predictions', async () => {
    await page.getByRole('button', { name: 'Ablate this head' }).click()
    await page.getByRole('region', { name: 'Prediction' }).locator('.prob-ablated').first().waitFor()
    expect(await page.getByRole('region', { name: 'Prediction' }).textContent()).toMatch(
      /loss \d\.\d+ → \d\.\d+/,
    )
    await page.getByRole('button', { name: 'Undo ablation' }).click()
  })

  it('gives the pattern away as numbers and as a figure', async () => {
    for (const [item, ending, holds] of [
      ['Numbers (CSV)', '.csv', /^query,query_token,key,key_token,weight\n0,/],
      ['Figure (SVG)', '.svg', /<image [^>]*href="data:image\/png;base64,[\s\S]*endoftext/],
    ] as const) {
      await page.getByRole('button', { name: 'Export the pattern' }).click()
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('menuitem', { name: item }).click(),
      ])
      expect(download.suggestedFilename()).toBe(`induction-2l-pattern-of-L1H1${ending}`)
      expect(readFileSync(await download.path(), 'utf8')).toMatch(holds)
    }
  })

  it('finds the repeats of the prompt', async () => {
    await openTab(page, 'Induction')
    await page.locator('.arc').first().waitFor({ state: 'attached' })
    const rows = page.getByRole('region', { name: 'Places' }).locator('li')
    await expect.poll(() => rows.count()).toBeGreaterThan(5)
    await expect
      .poll(() => page.getByRole('region', { name: 'Places' }).textContent())
      .toMatch(/\d+ of \d+ places hit/)
    await page.locator('.echart canvas').waitFor() // the chart library comes with the first chart
  })

  it('shows tokens that are HTML as text', async () => {
    const hostile = '<img src=x onerror=alert(1)> <b>bold</b>'
    await page.getByRole('button', { name: 'Edit prompt' }).click()
    await page.getByRole('textbox', { name: 'Prompt text' }).fill(hostile)
    await page.locator('.id-chip').nth(5).waitFor()
    const run = address().get('run')
    await page.keyboard.press('Control+Enter')
    await expect.poll(() => address().get('run'), { timeout: 20_000 }).not.toBe(run)
    expect(await page.locator('img, .tokens b b').count()).toBe(0)
    const shown = await page.locator('.tokens .token-text').allTextContents()
    expect(shown.slice(1).join('').replaceAll('·', ' ')).toBe(hostile)
    expect(app.problems).toEqual([])
  })

  it('says what is wrong with a prompt where it is typed', async () => {
    await page.getByRole('button', { name: 'Edit prompt' }).click()
    await page.getByRole('button', { name: 'Ids', exact: true }).click()
    await page.getByRole('textbox', { name: 'Prompt ids' }).fill('0, 5, 99999')
    await expect
      .poll(() => page.getByRole('alert').allTextContents())
      .toContainEqual(expect.stringMatching(/99999 is out of range/))
    await page.getByRole('button', { name: 'Close', exact: true }).click()
  })

  it('opens a checkpoint by its path, and says what is wrong with another', async () => {
    await page.getByRole('button', { name: 'Open checkpoint…' }).click()
    const dialog = page.getByRole('dialog')
    const path = dialog.getByRole('textbox', { name: 'Path of the checkpoint' })
    await path.fill('/no/such/checkpoint')
    await page.keyboard.press('Enter')
    await expect.poll(() => dialog.getByRole('alert').textContent()).toMatch(/\/no\/such\/checkpoint/)
    await path.fill(join(projectPaths().models, 'prose-4l'))
    expect(await dialog.getByRole('alert').textContent()).toBe('')
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'hidden' })
    await openTab(page, 'Heads')
    await expect.poll(() => grid().getByRole('row').count()).toBe(4)
    await expect
      .poll(() => tile('L0H0').getAttribute('aria-label'), { timeout: 50_000 })
      .toMatch(/^L0H0 induction (0\.\d\d|<0\.01)$/)
    expect(app.problems).toEqual([])
  })
})
