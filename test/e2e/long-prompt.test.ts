/** 2,048 tokens: one bright cell stays visible at every zoom, the map moves the window, and every view opens. */
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeRandomLlama } from '../bench/random-llama.ts'
import { settled } from '../support/settled.ts'
import { type AppPage, eventually, openAppPage, openTab } from './app-page.ts'

const TOKENS = 2048
let app: AppPage
let page: Page

beforeAll(async () => {
  app = await openAppPage({ viewport: { width: 1280, height: 720 }, timeout: 60_000 })
  page = app.page
  const folder = join(app.engine.folder, 'long')
  writeRandomLlama(folder, {
    layers: 2,
    heads: 4,
    kvHeads: 2,
    width: 32,
    mlp: 32,
    vocab: 97,
    positions: TOKENS,
  })
  await page.goto(app.engine.url)
  await page.locator('output.read-out').waitFor()
  const run = await page.evaluate(
    async ([model, count]) => {
      const ids = Array.from({ length: count }, (_, i) => (i * 37 + (i >> 4)) % 97)
      const started = await fetch('/api/jobs/run', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model, prompt: { ids } }),
      })
      const { job } = (await started.json()) as { job: number }
      return new Promise<number>((resolve, reject) => {
        const events = new EventSource(`/api/jobs/${job}/events`)
        events.onmessage = ({ data }) => {
          const event = JSON.parse(data as string) as { type: string; result?: { run: number } }
          if (event.type === 'progress') return
          events.close()
          if (event.type === 'done') resolve(event.result!.run)
          else reject(new Error(data as string))
        }
      })
    },
    [folder, TOKENS] as const,
  )
  const state = new URLSearchParams({ model: folder, run: String(run), head: 'L1H2', tab: 'pattern' })
  await page.goto('about:blank')
  await page.goto(`${new URL(app.engine.url).origin}/#${state}`)
  await page.locator('.pattern-canvas canvas').first().waitFor()
}, 180_000)

afterAll(() => app?.close())

/** Poll for as long as a busy machine may need. */
describe.sequential('a prompt of 2,048 tokens', () => {
  it('pools cells into pixels and loses none: the brightest of a block is what is drawn', async () => {
    const side = await page
      .locator('.pattern-canvas canvas')
      .first()
      .evaluate((c) => (c as HTMLCanvasElement).width)
    expect(side).toBeLessThan(TOKENS)
    // Every row of pixels of a causal softmax over few keys is lit at its beginning: the first token attends to itself.
    const first = await page
      .locator('.pattern-canvas canvas')
      .first()
      .evaluate((c) => [...(c as HTMLCanvasElement).getContext('2d')!.getImageData(0, 0, 1, 1).data])
    expect(first[3]).toBe(255)
    expect(first[2]).toBeGreaterThan(first[0]!) // blue: a weight of 1
    expect(first[0]).toBeLessThan(40)
  })

  it('zooms by keyboard, shows where it is on a map, and fits again', async () => {
    await page.getByRole('application').first().focus()
    for (let i = 0; i < 8; i++) await page.keyboard.press('+')
    await page.locator('.minimap').waitFor()
    const before = await page.locator('.minimap-map i').boundingBox()
    const map = (await page.locator('.minimap-map').boundingBox())!
    await page.mouse.click(map.x + 6, map.y + map.height - 6)
    await eventually(async () => (await page.locator('.minimap-map i').boundingBox())?.x).not.toBe(before?.x)
    await page.locator('.minimap').getByRole('button', { name: /Fit/ }).click()
    await page.locator('.minimap').waitFor({ state: 'hidden' })
  })

  it('brings a locked token into view, in the prompt and in the text, and is not moved by a walk over heads', async () => {
    const strip = page.getByRole('list', { name: /^Tokens;/ })
    const isInView = (name: string) =>
      page.getByRole('button', { name }).evaluate((chip) => {
        const outer = chip.closest('.tokens, .text-words')!.getBoundingClientRect()
        const inner = chip.getBoundingClientRect()
        return inner.top >= outer.top && inner.bottom <= outer.bottom
      })
    const lists = page.getByRole('region', { name: 'Where the query looks' })
    await page.getByRole('button', { name: 'Text', exact: true }).click()
    await lists.locator('.link-row').first().click() // a key of the last query, which is locked with it
    await eventually(() => isInView('token 2047 ')).toBe(true)
    await eventually(() => isInView('word 2047 ')).toBe(true)
    await strip.evaluate((list) => list.scrollTo(0, 0))
    await page.locator('.pane-title').first().click()
    await page.keyboard.press('ArrowRight')
    await eventually(() => page.url()).toContain('head=L1H3')
    expect(await strip.evaluate((list) => list.scrollTop)).toBe(0)
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Matrix' }).click()
  })

  it('opens every view', async () => {
    for (const tab of await page.getByRole('tab').allTextContents()) {
      await openTab(page, tab)
      await settled(page)
    }
    expect(app.problems).toEqual([])
  }, 120_000)

  it('shows the residual stream a page of positions at a time', async () => {
    await openTab(page, 'Residual')
    await page.getByText('positions 0–63 of 2048').waitFor()
    await page.getByRole('button', { name: 'Later positions' }).click()
    await page.getByText('positions 64–127 of 2048').waitFor()
    await eventually(() => page.locator('.lens thead th i').first().textContent()).toBe('64')
  })
})
