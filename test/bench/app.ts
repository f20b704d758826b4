/**
 * What the hand feels, measured in the real browser on the real engine: `node test/bench/app.ts` after a build. Out: JSON
 * with 95th percentiles in ms, and whether each is within its bound. Two random checkpoints are written for it: one of
 * 48 × 48 heads for the grid, one of 12 heads at 1,024 tokens for the pattern. About two minutes.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { projectPaths } from '../../electron/paths.ts'
import { startAppEngine } from '../e2e/app-engine.ts'
import { launchBrowser } from '../support/browser.ts'
import { writeRandomLlama } from './random-llama.ts'

const TOKENS = 1024
const SWITCHES = 200

const engine = await startAppEngine()
const browser = await launchBrowser({ args: ['--js-flags=--expose-gc', '--enable-precise-memory-info'] })
try {
  const wide = join(engine.folder, 'wide')
  const long = join(engine.folder, 'long')
  writeRandomLlama(wide, {
    layers: 48,
    heads: 48,
    kvHeads: 48,
    width: 192,
    mlp: 64,
    vocab: 128,
    positions: 64,
  })
  writeRandomLlama(long, {
    layers: 4,
    heads: 12,
    kvHeads: 12,
    width: 96,
    mlp: 64,
    vocab: 256,
    positions: 2048,
  })

  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  page.setDefaultTimeout(60_000)
  await page.goto(engine.url)
  await page.locator('output.read-out').waitFor() // the first start scans and runs
  const origin = new URL(engine.url).origin
  const runs = {
    wide: await job(page, 'run', { model: wide, prompt: { ids: ids(32, 128) } }),
    long: await job(page, 'run', { model: long, prompt: { ids: ids(TOKENS, 256) } }),
  }
  await job(page, 'scan', { model: wide, length: 8, batch: 2 })
  const at = (model: string, run: unknown, state: string) =>
    `${origin}/#${new URLSearchParams({ model, run: String((run as { run: number }).run) })}&${state}`

  const results = {
    ...(await opening(page, page.url())),
    head_switch_1024_p95_ms: within(
      await headSwitches(page, at(long, runs.long, 'tab=pattern&head=L0H0')),
      50,
    ),
    ...(await hovering(page)),
    ...(await memory(page)),
    ...(await grid(page, at(wide, runs.wide, 'tab=store&head=L0H0'))),
    ...(await tabs(page, 'tabs_1024_tokens', at(long, runs.long, 'tab=heads&head=L0H0'))),
    ...(await tabs(page, 'tabs_2304_heads', at(wide, runs.wide, 'tab=heads&head=L0H0'))),
    bundle_gzip_kb: within(bundle() / 1024, 1024),
  }
  process.stdout.write(`${JSON.stringify(results, null, 2)}\n`)
} finally {
  await browser.close()
  await engine.close()
}

// --- Internal helpers ---

interface Measured {
  readonly value: number
  readonly bound: number
  readonly ok: boolean
}

function within(value: number, bound: number): Measured {
  return { value: Math.round(value * 100) / 100, bound, ok: value <= bound }
}

function percentile(values: readonly number[], p = 0.95): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(p * sorted.length))] ?? Number.NaN
}

function ids(count: number, vocab: number): number[] {
  return Array.from({ length: count }, (_, i) => (i * 37 + (i >> 3)) % vocab)
}

/** Runs a job through the API, as the page would. */
function job(page: Page, kind: string, body: unknown): Promise<unknown> {
  return page.evaluate(
    async ([path, json]) => {
      const started = await fetch(path!, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: json!,
      })
      const { job: id } = (await started.json()) as { job: number }
      return new Promise((resolve, reject) => {
        const events = new EventSource(`/api/jobs/${id}/events`)
        events.onmessage = ({ data }) => {
          const event = JSON.parse(data as string) as {
            type: string
            result?: unknown
            error?: { message: string }
          }
          if (event.type === 'done') resolve(event.result)
          if (event.type === 'failed') reject(new Error(event.error?.message))
          if (event.type === 'done' || event.type === 'failed') events.close()
        }
      })
    },
    [`/api/jobs/${kind}`, JSON.stringify(body)] as const,
  )
}

/** From the navigation to a window that can be used: scores, grid and pattern are there; and the longest task until it rests. */
async function opening(page: Page, address: string): Promise<Record<string, Measured>> {
  const times: number[] = []
  const tasks: number[] = []
  for (let i = 0; i < 5; i++) {
    await page.goto('about:blank')
    const start = performance.now()
    await page.goto(address)
    await page.locator('.pattern-canvas canvas').waitFor()
    await page.locator('.ranked-row').first().waitFor()
    times.push(performance.now() - start)
    await page.waitForTimeout(600)
    tasks.push(
      await page.evaluate(
        () =>
          new Promise<number>((resolve) => {
            let longest = 0
            const observer = new PerformanceObserver((list) => {
              for (const { duration } of list.getEntries()) longest = Math.max(longest, duration)
            })
            observer.observe({ type: 'longtask', buffered: true })
            setTimeout(() => resolve(longest), 100)
          }),
      ),
    )
  }
  return {
    open_ms: within(percentile(times), 1500),
    open_longest_task_ms: within(percentile(tasks), 100),
  }
}

/**
 * Heads that were never asked for, far from each other: from the choice to painted pixels, everything between included.
 * Nothing is asked of the page meanwhile: looking for the head's region by role costs it 8 ms.
 */
async function headSwitches(page: Page, address: string): Promise<number> {
  await page.goto('about:blank')
  await page.goto(address)
  await page.locator('.pattern-canvas canvas').waitFor()
  await page.waitForTimeout(800)
  const heads = Array.from({ length: 48 }, (_, i) => `L${(5 * i + Math.floor(i / 12)) % 4}H${(7 * i) % 12}`)
  for (const head of heads.slice(1)) {
    await choose(page, head)
    await page.waitForTimeout(250)
  }
  const times = await page.evaluate(
    () => (globalThis as unknown as { __headscope: { headSwitch: number[] } }).__headscope.headSwitch,
  )
  if (times.length !== heads.length - 1)
    throw new Error(`${times.length} of ${heads.length - 1} heads were drawn.`)
  return percentile(times)
}

function choose(page: Page, name: string): Promise<void> {
  return page.evaluate((head) => {
    const hash = new URLSearchParams(location.hash.slice(1))
    hash.set('head', head)
    location.hash = hash.toString()
  }, name)
}

/** The pointer over the pattern: time in the handlers, and until the second frame after has begun. */
async function hovering(page: Page): Promise<Record<string, Measured>> {
  const measured = await page.evaluate(async () => {
    const target = document.querySelector('.pattern-window')!
    const box = target.getBoundingClientRect()
    const handlers: number[] = []
    const frames: number[] = []
    for (let i = 0; i < 120; i++) {
      const at = {
        clientX: box.left + ((i * 13) % 120) + 4,
        clientY: box.top + 200 + ((i * 29) % 180),
        bubbles: true,
      }
      const start = performance.now()
      target.dispatchEvent(new PointerEvent('pointermove', at))
      handlers.push(performance.now() - start)
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
      frames.push(performance.now() - start)
    }
    return { handlers, frames }
  })
  return {
    hover_handler_p95_ms: within(percentile(measured.handlers), 4),
    hover_two_frames_p95_ms: within(percentile(measured.frames), 2 * 16.7 + 4),
  }
}

/** Live bytes of the page before and after walking over heads, each time after a collection. */
async function memory(page: Page): Promise<Record<string, Measured>> {
  const heap = () =>
    page.evaluate(() => {
      const { gc } = globalThis as unknown as { gc?: () => void }
      gc?.()
      return (performance as unknown as { memory: { usedJSHeapSize: number } }).memory.usedJSHeapSize
    })
  const walk = async (count: number) => {
    for (let i = 0; i < count; i++) {
      await choose(page, `L${i % 4}H${(i * 5) % 12}`)
      await page.waitForTimeout(25)
    }
    await page.waitForTimeout(500)
  }
  await walk(60) // fills the caches, which have their own limits
  const before = await heap()
  await walk(SWITCHES)
  const after = await heap()
  return { [`memory_after_${SWITCHES}_switches_mb`]: within((after - before) / 2 ** 20, 8) }
}

/** 2,304 thumbnails: from the choice of the view to the first painted frame, and the frames while scrolling. */
async function grid(page: Page, address: string): Promise<Record<string, Measured>> {
  const paints: number[] = []
  for (let i = 0; i < 5; i++) {
    await page.goto('about:blank')
    await page.goto(address)
    await page.locator('.data-table').first().waitFor()
    await page.waitForTimeout(300)
    paints.push(
      await page.evaluate(
        () =>
          new Promise<number>((resolve) => {
            const start = performance.now()
            const look = () => {
              const canvas = document.querySelector<HTMLCanvasElement>('.thumbnail-sheet')
              if (canvas && canvas.width > 1 && canvas.isConnected) {
                const channel = new MessageChannel()
                channel.port1.onmessage = () => resolve(performance.now() - start)
                requestAnimationFrame(() => channel.port2.postMessage(null))
              } else requestAnimationFrame(look)
            }
            document.querySelector<HTMLElement>('[role=tab]')?.click()
            look()
          }),
      ),
    )
  }
  await page.getByRole('button', { name: 'L', exact: true }).click()
  await page.waitForTimeout(600)
  const scroll = await page.evaluate(async () => {
    const host = document.querySelector('.grid-scroll')!
    const tasks: number[] = []
    const observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) tasks.push(entry.duration)
    })
    observer.observe({ type: 'longtask' })
    const frames: number[] = []
    let last = await new Promise<number>(requestAnimationFrame)
    for (let i = 0; i < 150; i++) {
      host.scrollTop = (i * 24) % Math.max(1, host.scrollHeight - host.clientHeight)
      const now = await new Promise<number>(requestAnimationFrame)
      frames.push(now - last)
      last = now
    }
    observer.disconnect()
    return { frames, longest: Math.max(0, ...tasks) }
  })
  return {
    grid_2304_first_paint_p95_ms: within(percentile(paints), 300),
    grid_scroll_frame_p95_ms: within(percentile(scroll.frames), 20),
    grid_scroll_longest_task_ms: within(scroll.longest, 100),
  }
}

/** Every view opened twice: the longest task of each time, the worst of them, and where it was. */
async function tabs(
  page: Page,
  name: string,
  address: string,
): Promise<Record<string, Measured & { readonly where: string }>> {
  await page.goto('about:blank')
  await page.goto(address)
  await page.getByRole('gridcell').first().waitFor()
  await page.waitForTimeout(2000)
  const measured = await page.evaluate(async () => {
    const tasks: number[] = []
    const observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) tasks.push(entry.duration)
    })
    observer.observe({ type: 'longtask' })
    const found: [string, number][] = []
    for (const round of ['first', 'again'])
      for (const tab of document.querySelectorAll<HTMLElement>('[role=tab]')) {
        tasks.length = 0
        tab.click()
        await new Promise((resolve) => setTimeout(resolve, 700))
        found.push([`${tab.textContent}, ${round}`, Math.max(0, ...tasks)])
      }
    observer.disconnect()
    return found
  })
  const [where, longest] = measured.sort((a, b) => b[1] - a[1])[0]!
  return { [`${name}_longest_task_ms`]: { ...within(longest, 100), where } }
}

/** Scripts and styles as they travel. */
function bundle(): number {
  const folder = join(projectPaths().renderer, 'assets')
  return readdirSync(folder).reduce((sum, file) => sum + gzipSync(readFileSync(join(folder, file))).length, 0)
}
