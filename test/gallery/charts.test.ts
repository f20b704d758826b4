/**
 * Each chart, drawn from fixed data in the real browser, against its stored picture in charts/. Tolerant: both are seen at
 * a quarter of their size, so that another rasteriser passes and another chart does not; the browser has its own fonts
 * alone, the same on every machine. With UPDATE=1 the pictures are written anew.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import react from '@vitejs/plugin-react'
import type { Browser, Page } from 'playwright-core'
import { build } from 'vite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { launchBrowser } from '../support/browser.ts'

const CHARTS = [
  'pattern',
  'difference',
  'arcs',
  'text',
  'effects',
  'waterfall',
  'scatter',
  'series',
  'repeats',
  'bars',
  'borders',
  'circuit',
  'circuit-source',
  'lens',
  'divergence',
  'score-bars',
  'minimap',
  'estimates',
  'reach',
  'spectra',
  'rollout',
  'directions',
  'compound',
  'contexts',
  'texts',
]
const STORED = join(import.meta.dirname, 'charts')
/** Mean difference of a channel (of 255) that is still the same picture. */
const MOST = 4

let browser: Browser
let page: Page
let server: Server
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headscope-gallery-'))
  const built = build({
    root: import.meta.dirname,
    configFile: false,
    base: './',
    logLevel: 'error',
    plugins: [react()],
    build: { outDir: folder, emptyOutDir: true, target: 'es2023', chunkSizeWarningLimit: 4000 },
  })
  ;[browser] = await Promise.all([launchBrowser({ packaged: true }), built])
  server = createServer((request, response) => {
    const path = join(
      folder,
      decodeURIComponent((request.url ?? '/').split('?')[0]!).replace(/\/$/, '/index.html'),
    )
    if (!path.startsWith(folder) || !existsSync(path)) return void response.writeHead(404).end()
    const type = path.endsWith('.js') ? 'text/javascript' : path.endsWith('.css') ? 'text/css' : 'text/html'
    return void response.writeHead(200, { 'content-type': type }).end(readFileSync(path))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  page = await browser.newPage({ viewport: { width: 1400, height: 4200 } })
  page.setDefaultTimeout(30_000)
  mkdirSync(STORED, { recursive: true })
}, 120_000)

afterAll(async () => {
  await browser?.close()
  server?.close()
  rmSync(folder, { recursive: true, force: true })
})

describe.each(['light', 'dark'])('the charts, %s', (theme) => {
  beforeAll(async () => {
    await page.goto('about:blank')
    // One figure that throws takes the whole page with it: then no picture is waited for.
    const thrown = page.waitForEvent('pageerror', { timeout: 0 }).then((error) => Promise.reject(error))
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/#theme=${theme}`)
    await Promise.race([page.locator('[data-chart=series] canvas').waitFor(), thrown])
    await page.waitForTimeout(400)
  })

  it.each(CHARTS)('%s', async (chart) => {
    const shot = await page.locator(`[data-chart=${chart}]`).screenshot()
    const file = join(STORED, `${chart}-${theme}.png`)
    if (process.env.UPDATE) writeFileSync(file, shot)
    expect(existsSync(file), `${file} is missing: run with UPDATE=1`).toBe(true)
    const distance = await difference(shot, readFileSync(file))
    expect(distance, `${chart} looks different (mean difference ${distance.toFixed(2)} of 255)`).toBeLessThan(
      MOST,
    )
  })

  it('two different charts are far apart: the comparison can fail', async () => {
    const [a, b] = [`effects-${theme}.png`, `series-${theme}.png`].map((name) =>
      readFileSync(join(STORED, name)),
    )
    expect(await difference(a!, b!)).toBeGreaterThan(2 * MOST)
  })
})

/** Mean difference of the channels of two pictures, both drawn at a quarter of the first one's size. */
function difference(a: Buffer, b: Buffer): Promise<number> {
  return page.evaluate(
    async (pictures) => {
      const images = await Promise.all(
        pictures.map(async (data) => {
          const image = new Image()
          image.src = `data:image/png;base64,${data}`
          await image.decode()
          return image
        }),
      )
      const [width, height] = [Math.ceil(images[0]!.width / 4), Math.ceil(images[0]!.height / 4)]
      const [x, y] = images.map((image) => {
        const canvas = document.createElement('canvas')
        canvas.width = width
        canvas.height = height
        const context = canvas.getContext('2d')!
        context.imageSmoothingQuality = 'high'
        context.drawImage(image, 0, 0, width, height)
        return context.getImageData(0, 0, width, height).data
      })
      let sum = 0
      for (let i = 0; i < x!.length; i++) sum += Math.abs(x![i]! - y![i]!)
      return sum / (x!.length * 0.75) // alpha never differs
    },
    [a, b].map((buffer) => buffer.toString('base64')),
  )
}
