/**
 * When a window has come to rest: nothing is asked of the engine any more, and what came is drawn. In: a page. Out: a
 * promise; rejects after half a minute. Costs four frames where nothing is under way, so that tests need no fixed waits.
 * Streams of a job's events are not waited for: whoever starts a job waits for what it shows.
 */
import type { Page, Request } from 'playwright-core'

const MOST_MS = 30_000
const open = new WeakMap<Page, Set<Request>>()

/** Begins to count what a page asks for; called once, before what is waited for. */
export function countRequests(page: Page): void {
  const asked = new Set<Request>()
  open.set(page, asked)
  page.on('request', (request) => {
    if (request.resourceType() !== 'eventsource') asked.add(request)
  })
  const over = (request: Request) => void asked.delete(request)
  page.on('requestfinished', over)
  page.on('requestfailed', over)
  // Who changes something may not read the answer: then it never counts as finished.
  page.on('response', (response) => {
    if (response.request().method() !== 'GET') over(response.request())
  })
}

/** Waits until nothing is under way, and nothing begins with what is drawn then. */
export async function settled(page: Page): Promise<void> {
  const asked = open.get(page)
  if (!asked) throw new Error('countRequests(page) comes before settled(page).')
  const end = Date.now() + MOST_MS
  for (let quiet = 0; quiet < 2; ) {
    const waiting = await page.evaluate(async () => {
      for (let i = 0; i < 2; i++) await new Promise((resolve) => requestAnimationFrame(resolve))
      for (const animation of document.getAnimations())
        if (animation.effect?.getComputedTiming().iterations !== Number.POSITIVE_INFINITY) animation.finish()
      return document.querySelectorAll(
        '[role=tabpanel][aria-busy=true], [role=tabpanel]:not([hidden]) .spinner',
      ).length
    })
    quiet = waiting === 0 && asked.size === 0 ? quiet + 1 : 0
    if (Date.now() > end)
      throw new Error(
        `The page does not come to rest: ${waiting} parts wait, ${[...asked].map((request) => request.url()).join(', ')}`,
      )
  }
}
