/** Notes and the notebook in the real browser: written as typed, marked, pinned, put in order, exported as one inert file. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { violations } from '../support/axe.ts'
import { settled } from '../support/settled.ts'
import { type AppPage, openAppPage } from './app-page.ts'

const HOSTILE = 'so <img src=x onerror="window.hit=1"> & </pre><script>window.hit=2</script>'

let app: AppPage
let page: Page
const folder = mkdtempSync(join(tmpdir(), 'headscope-notebook-'))

beforeAll(async () => {
  app = await openAppPage({ viewport: { width: 1440, height: 900 }, acceptDownloads: true })
  page = app.page
  await page.goto(app.engine.url)
  await page.locator('output.read-out').waitFor()
  await page.locator('.ranked-row').first().waitFor()
  await page.waitForFunction(() => location.hash.includes('head='))
}, 120_000)

afterAll(async () => {
  await app?.close()
  rmSync(folder, { recursive: true, force: true })
})

const tab = async (name: string) => {
  await page.keyboard.press('Control+k')
  await page.waitForFunction(() => document.activeElement?.classList.contains('palette-input'))
  await page.keyboard.type(`open ${name}`)
  await page
    .getByRole('option', { name: `Open ${name}` })
    .first()
    .waitFor()
  await page.keyboard.press('Enter')
}
const exported = async (name: RegExp, item: string) => {
  await page.getByRole('button', { name }).click()
  await page.getByRole('menuitem', { name: item }).click()
}
const pin = async (name: RegExp) => {
  await exported(name, 'Pin to notebook')
  await page.locator('.figure-menu [role=status]', { hasText: 'Pinned' }).waitFor()
}
const titles = () => page.locator('.pinned h3').allTextContents()

describe.sequential('notes and notebook', () => {
  it('keep what is written about a head, mark it, and find it again', async () => {
    const note = () => page.getByRole('textbox', { name: /^Note on L1H7/ })
    await note().fill(HOSTILE)
    await page.locator('.note-state', { hasText: 'saved' }).filter({ hasNotText: 'not' }).waitFor()
    await page.locator('[data-head=L1H7] .tile-note').waitFor()
    await page.locator('.ranked-row', { hasText: 'L1H7' }).locator('.has-note').waitFor()
    await page.getByRole('searchbox', { name: 'Find or filter heads' }).fill('noted')
    await expect.poll(() => page.locator('.ranked-row').count()).toBe(1)
    await page.getByRole('searchbox', { name: 'Find or filter heads' }).fill('')
    await page.locator('[data-head=L1H3]').click()
    await expect.poll(() => page.getByRole('textbox', { name: 'Note on L1H3' }).inputValue()).toBe('')
    await page.reload()
    await page.locator('[data-head=L1H7]').click()
    await expect.poll(() => note().inputValue()).toBe(HOSTILE)
    expect(await page.evaluate(() => (window as unknown as { hit?: number }).hit)).toBeUndefined()
  })

  it('pin figures with their numbers, show them in order, and keep a note with each', async () => {
    await tab('Notebook')
    await page.getByText('Nothing is pinned yet').waitFor()
    await tab('Pattern')
    await pin(/Export the pattern/)
    await tab('Attribution')
    await page.locator('.echart canvas').waitFor()
    await pin(/Export the attribution/)
    await page.getByRole('navigation', { name: 'Library' }).getByText('Pinned figures').click()
    await expect
      .poll(titles)
      .toEqual(['induction-2l: pattern of L1H7', expect.stringContaining('induction-2l: logit of')])
    // The picture is drawn: a broken one has no size.
    await page.waitForFunction(() =>
      [...document.querySelectorAll<HTMLImageElement>('.pinned img')].every(
        (image) => image.complete && image.naturalWidth > 500,
      ),
    )
    await page.getByRole('textbox', { name: 'Note on induction-2l: pattern of L1H7' }).fill(HOSTILE)
    await page
      .locator('.pinned')
      .first()
      .locator('.note-state', { hasText: /^saved$/ })
      .waitFor()
    await page.getByRole('button', { name: 'Move induction-2l: pattern of L1H7 down' }).click()
    await expect.poll(async () => (await titles())[1]).toBe('induction-2l: pattern of L1H7')
    await page.reload()
    await expect.poll(async () => (await titles())[1]).toBe('induction-2l: pattern of L1H7')
    await expect
      .poll(() => page.getByRole('textbox', { name: 'Note on induction-2l: pattern of L1H7' }).inputValue())
      .toBe(HOSTILE)
  })

  it('can be read and moved by a screen reader, light and dark', async () => {
    await settled(page)
    expect(await violations(page)).toEqual([])
    await page.evaluate(() => {
      document.documentElement.dataset.theme = 'dark'
    })
    expect(await violations(page, ['color-contrast'])).toEqual([])
    await page.evaluate(() => {
      document.documentElement.dataset.theme = 'light'
    })
  })

  it('are removed, brought back to their place with their note, and opened where they were', async () => {
    await page.getByRole('button', { name: /^Remove induction-2l: logit/ }).click()
    await expect.poll(titles).toEqual(['induction-2l: pattern of L1H7'])
    await page.getByRole('button', { name: 'Bring it back' }).click()
    await expect.poll(async () => (await titles()).length).toBe(2)
    expect((await titles())[0]).toContain('logit of')
    await page.locator('.pinned').nth(1).getByRole('button', { name: 'Open', exact: true }).click()
    await page.getByRole('region', { name: 'Pattern of L1H7' }).waitFor()
  })

  it('leave as one HTML file in which text is text, and which loads nothing', async () => {
    await tab('Notebook')
    await page.locator('.pinned img').nth(1).waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export as one HTML file' }).click(),
    ])
    const file = join(folder, 'notebook.html')
    await download.saveAs(file)
    const reader = await app.browser.newPage()
    const asked: string[] = []
    reader.on('request', (request) => {
      if (!request.url().startsWith('data:')) asked.push(request.url())
    })
    const url = pathToFileURL(file).href
    await reader.goto(url)
    const found = await reader.evaluate(() => ({
      scripts: document.querySelectorAll('script, iframe, object, embed, link, form').length,
      handlers: [...document.querySelectorAll('*')].filter((element) =>
        [...element.attributes].some(({ name }) => name.startsWith('on')),
      ).length,
      images: [...document.images].map((image) => [image.src.slice(0, 26), image.naturalWidth > 500]),
      addresses: [...document.querySelectorAll('[href]')].map((element) =>
        element.getAttribute('href')!.replace(/^(#|data:[^;]*).*/, '$1'),
      ),
      note: document.querySelector('.note')?.textContent,
      text: document.body.textContent ?? '',
      hit: (window as unknown as { hit?: number }).hit,
    }))
    expect(found).toMatchObject({ scripts: 0, handlers: 0, note: HOSTILE })
    expect(found.hit).toBeUndefined()
    expect(found.images).toEqual([
      ['data:image/svg+xml;base64,', true],
      ['data:image/svg+xml;base64,', true],
    ])
    expect(new Set(found.addresses)).toEqual(new Set(['#', 'data:image/svg+xml', 'data:text/csv']))
    for (const part of [
      'checkpoint induction-2l (a3949c04905f)',
      'prompt “Dorothy lived',
      'headscope run induction-2l --ids 0,',
      'headscope dla induction-2l',
      'query_token',
    ])
      expect(found.text).toContain(part)
    expect(asked).toEqual([url])
    await reader.close()
  })

  it('give the figure as SVG, PNG at 300 dpi and CSV', async () => {
    await tab('Pattern')
    const save = async (item: string) => {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        exported(/Export the pattern/, item),
      ])
      const file = join(folder, download.suggestedFilename())
      await download.saveAs(file)
      expect(existsSync(file)).toBe(true)
      return readFileSync(file)
    }
    const svg = (await save('Figure (SVG)')).toString()
    expect(svg).toMatch(/<title>induction-2l: pattern of L1H7<\/title>/)
    expect(svg).toContain('checkpoint induction-2l (a3949c04905f) · run 1, 46 tokens')
    const png = await save('Figure (PNG, 300 dpi)')
    const width = Number(/<svg[^>]* width="(\d+)"/.exec(svg)![1])
    expect([png.readUInt32BE(16), png.toString('latin1', 37, 41), png.readUInt32BE(41)]).toEqual([
      Math.round((width * 300) / 96),
      'pHYs',
      11811,
    ])
    const csv = (await save('Numbers (CSV)')).toString().trim().split('\n')
    expect(csv[0]).toBe('query,query_token,key,key_token,weight')
    expect(csv).toHaveLength(1 + (46 * 47) / 2)
  })

  it('without a problem in the page', () => {
    expect(app.problems).toEqual([])
  })
})
