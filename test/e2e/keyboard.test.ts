/**
 * The app without a mouse, in a window of 1280 × 720: every view is opened and does its main work by keys alone, what
 * has the focus is seen, and after each piece of work nothing is cut, covered or too faint, in the dark theme.
 */
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { violations } from '../support/axe.ts'
import { layoutFlaws } from '../support/layout.ts'
import { settled } from '../support/settled.ts'
import { type AppPage, addressOf, drawn, openAppPage } from './app-page.ts'

/** Short, because every token is a stop of the Tab key. */
const PROMPT = 'The queen saw the queen'

let app: AppPage
let page: Page

beforeAll(async () => {
  app = await openAppPage({ viewport: { width: 1280, height: 720 }, timeout: 20_000 })
  page = app.page
  await page.goto(app.engine.url)
  await page.getByRole('gridcell').first().waitFor()
  await page.waitForFunction(() => location.hash.includes('head=') && location.hash.includes('run='))
}, 120_000)

afterAll(() => app?.close())

const eventually = <T>(get: () => T) => expect.poll(get, { timeout: 20_000 })
const address = () => addressOf(page)
const press = (...keys: string[]) =>
  keys.reduce((done, key) => done.then(() => page.keyboard.press(key)), Promise.resolve())

/** What has the focus, as a screen reader would begin to say it. */
const focused = () =>
  page.evaluate(() => {
    const element = document.activeElement
    if (!element || element === document.body) return ''
    const label = (element as HTMLInputElement).labels?.[0]?.textContent
    const role = element.getAttribute('role') ?? element.tagName.toLowerCase()
    return `${role} ${element.getAttribute('aria-label') ?? label ?? element.textContent?.trim() ?? ''}`
  })

/** Presses Tab until something of this name, or of this CSS selector, has the focus. */
async function tabTo(wanted: RegExp | string, key = 'Tab'): Promise<void> {
  const seen: string[] = []
  for (let i = 0; i < 160; i++) {
    await page.keyboard.press(key)
    const now = await focused()
    const there =
      typeof wanted === 'string'
        ? await page.evaluate((css) => document.activeElement?.matches(css), wanted)
        : wanted.test(now)
    if (there) return
    seen.push(now.slice(0, 40))
  }
  throw new Error(`Tab never comes to ${wanted}; it came to ${[...new Set(seen)].join(' | ')}`)
}

const theme = (name: 'light' | 'dark') =>
  page.evaluate((next) => {
    document.documentElement.dataset.theme = next
  }, name)

/** Opens a view from the command palette; its name comes as one input, as from another keyboard or a voice. */
async function open(view: string): Promise<void> {
  await press('Control+k')
  await page.getByRole('combobox', { name: 'Command' }).waitFor()
  await page.waitForFunction(() => document.activeElement?.getAttribute('role') === 'combobox')
  await page.keyboard.insertText(`open ${view}`)
  await page.getByRole('option', { name: new RegExp(`Open ${view}`), selected: true }).waitFor()
  await press('Enter')
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  await page.getByRole('tab', { name: view, exact: true, selected: true }).waitFor()
  await drawn(page)
}

/** Focusable things of the page that look the same with the focus as without it. */
const faint = () =>
  page.evaluate(() => {
    const look = (element: Element) => {
      const out: string[] = []
      // The ring may be drawn on what holds the control.
      for (let one: Element | null = element, i = 0; one && i < 3; one = one.parentElement, i++) {
        const { outlineStyle, outlineWidth, outlineColor, boxShadow, borderColor, backgroundColor } =
          getComputedStyle(one)
        const outline = outlineStyle === 'none' ? '' : outlineWidth + outlineColor
        out.push(outline, boxShadow, borderColor, backgroundColor)
      }
      return out.join()
    }
    for (const animation of document.getAnimations()) animation.finish()
    const before = document.activeElement
    const names: string[] = []
    for (const element of document.querySelectorAll<HTMLElement>(
      'button, input, select, textarea, a[href], summary, [tabindex]',
    )) {
      if (element.tabIndex < 0 || element.matches(':disabled, [data-base-ui-focus-guard]')) continue
      if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue
      ;(document.activeElement as HTMLElement | null)?.blur()
      const without = look(element)
      element.focus({ preventScroll: true })
      for (const animation of document.getAnimations()) animation.finish()
      if (document.activeElement === element && look(element) === without)
        names.push(
          `${element.tagName} ${element.className} ${element.getAttribute('aria-label') ?? element.textContent}`.slice(
            0,
            80,
          ),
        )
    }
    ;(before as HTMLElement | null)?.focus()
    return [...new Set(names)]
  })

/** The main work of every view, by keys. */
const WORK: Readonly<Record<string, () => Promise<unknown>>> = {
  Heads: async () => {
    await tabTo(/^gridcell L\dH\d/)
    const before = address().get('head')
    await press('ArrowDown', 'ArrowLeft')
    await eventually(() => address().get('head')).not.toBe(before)
    await tabTo(/^(button|searchbox|input).*(filter|L1H3)/i, 'Shift+Tab')
    await page.keyboard.type('induction > .5')
    await eventually(() => address().get('filter')).toBe('induction > .5')
    await press('Control+a', 'Delete')
  },
  Pattern: async () => {
    await tabTo(/^application /)
    // Where nothing is locked, the first arrow locks the last cell; the others move from there.
    await press('Escape')
    await eventually(() => address().get('query')).toBeNull()
    await press('ArrowUp')
    await eventually(() => address().get('query')).toMatch(/\d/)
    const last = Number(address().get('query'))
    await press('ArrowUp', 'ArrowUp', 'ArrowLeft')
    await eventually(() => [address().get('query'), address().get('key')]).toEqual([
      String(last - 2),
      String(last - 3),
    ])
    await tabTo(/^button (Export|Figure)/i, 'Shift+Tab')
    await press('Enter')
    await page.getByRole('menuitem').first().waitFor()
    await press('ArrowDown')
    expect(await focused()).toMatch(/^menuitem/)
    await press('Escape')
    await page.getByRole('menu').waitFor({ state: 'hidden' })
  },
  Induction: async () => {
    const places = page.getByRole('region', { name: 'Places' })
    await places.locator('li').first().waitFor()
    await press('Escape')
    await tabTo(/^button (hit|miss)/)
    await press('Enter')
    await eventually(() => address().get('key')).toMatch(/\d/)
  },
  Rollout: async () => {
    await tabTo(/^input.*leave the first position out/)
    await press('Space')
    await eventually(() => address().get('t.summary-first')).toBe('without')
    await page.getByRole('region', { name: 'Input tokens' }).locator('li').nth(2).waitFor()
    await tabTo(/^button 2/)
    await press('Enter')
    await eventually(() => address().get('query')).toBe('2')
  },
  Residual: async () => {
    await tabTo('[data-cell]')
    await press('ArrowDown')
    await page.getByRole('region', { name: 'The cell' }).waitFor()
  },
  Attribution: async () => {
    await page.getByRole('region', { name: 'Largest parts' }).locator('li').first().waitFor()
    await tabTo(/^(button|combobox) .*(depth|size|order|part|layer|head)/i)
    await press('Enter')
  },
  Ablation: async () => {
    await tabTo(/^button Ablate$/)
    await press('Enter')
    await eventually(() => page.getByRole('region', { name: 'Effects' }).textContent()).toMatch(/16\/16/)
    await tabTo(/^button .*L\dH\d.*[+−]/)
    await press('Enter')
    await page.getByRole('region', { name: 'The part' }).waitFor()
  },
  Patching: async () => {
    await tabTo(/^input Corrupt prompt/)
    await page.keyboard.type(PROMPT.replace('saw', 'is'))
    await page.getByRole('button', { name: 'Patch', exact: true, disabled: false }).waitFor()
    await tabTo(/^button Patch$/)
    await press('Enter')
    await eventually(() => page.getByRole('region', { name: 'Effects' }).textContent()).toMatch(
      /(\d+)\/\1(?!\d)/,
    )
    await tabTo(/^button .*L\d.*[+−]/)
    await press('Enter')
    await page.getByRole('region', { name: 'The cell' }).waitFor()
  },
  Paths: async () => {
    await tabTo(/^input Corrupt prompt/)
    await press('Control+a')
    await page.keyboard.type(PROMPT.replace('saw', 'is'))
    const into = page.getByRole('region', { name: /^What leads into/ })
    const rank = async () => {
      await into.getByRole('button', { name: /^Rank all/, disabled: false }).waitFor()
      await tabTo(/^button Rank all/)
      await press('Enter')
      await into.getByText(/(\d+) of \1 measured/).waitFor()
      await tabTo(/^button Add strongest/)
      await press('Enter')
    }
    await rank()
    const circuit = page.getByRole('region', { name: 'Circuit' })
    await circuit.getByText(/→ logits/).waitFor()
    // The graph is walked, too: one of its heads is looked at.
    await tabTo(/^button k of L1H\d: look at what leads into it/, 'Shift+Tab')
    await press('Enter')
    await into.getByText(/^Into L1H\d keys/).waitFor()
    await rank()
    await circuit.getByText(/→ L1H\d\.k/).waitFor()
    await tabTo(/^button Measure 2 edges/, 'Shift+Tab')
    await press('Enter')
    await page.getByText(/saved as experiment \d+/).waitFor()
    await tabTo(/^button Take .* out of the circuit/)
    await press('Enter')
    await eventually(() => circuit.locator('li').count()).toBe(1)
  },
  Weights: async () => {
    await tabTo(/^button Read the weights/)
    await press('Enter')
    await page.getByRole('button', { name: 'Find the strongest' }).waitFor()
    await tabTo(/^button Find the strongest/)
    await press('Enter')
    await page.locator('.pair-line').first().waitFor()
  },
  Words: async () => {
    await tabTo(/^input.*direction/)
    await page.keyboard.type('" the" - " a"')
    await press('Enter')
    await page.getByRole('region', { name: 'Nearest tokens' }).locator('li').nth(5).waitFor()
    await tabTo(/^button 2/)
    await press('Enter')
    await eventually(() => address().get('t.direction')).toMatch(/^#\d+$/)
  },
  Series: async () => {
    await tabTo(/^input Checkpoint/)
    await press('ArrowLeft')
    await eventually(() => address().get('model')).toMatch(/step\d+$/)
    await press('End')
    await eventually(() => address().get('model')).toMatch(/step6000$|induction-2l$/)
  },
  Compare: async () => {
    await tabTo(/^button this prompt/)
    await press('Enter')
    await tabTo(/^button Compare$/, 'Shift+Tab')
    await press('Enter')
    await page.getByRole('region', { name: 'Heads by change' }).locator('li button').first().waitFor()
    await tabTo(/^button .*L\dH\d/)
    await press('Enter')
  },
  Corpus: async () => {
    await tabTo(/^input.*read the first/)
    await press('Control+a')
    await page.keyboard.type('8')
    await tabTo(/^button Look for induction in 8/)
    await press('Enter')
    await page.getByRole('region', { name: 'Heads by rate' }).locator('li').first().waitFor()
  },
  Relation: async () => {
    await tabTo(/^button Probe the heads/)
    await press('Enter')
    await page.getByRole('region', { name: 'Heads by relation' }).locator('li button').first().waitFor()
  },
  Store: async () => {
    await tabTo(/^textarea SQL query/)
    await press('Control+a')
    await page.keyboard.type('select count(*) as runs from run')
    await press('Control+Enter')
    await page.getByRole('region', { name: 'Result' }).locator('tbody tr').first().waitFor()
  },
  'First principles': async () => {
    const steps = page.getByRole('group', { name: 'Steps of the head' })
    await steps.getByRole('button').first().waitFor()
    await tabTo(/^input.*Score of/)
    await press('Control+a')
    await page.keyboard.type('-30')
    await press('Enter')
    await eventually(() => address().get('t.bench_typed')).toMatch(/=-30$/)
    await tabTo(/^button weights/)
    await press('ArrowLeft')
    expect(await focused()).toMatch(/^button masked scores/)
  },
  Generate: async () => {
    await tabTo(/^input.*tokens/)
    await press('Control+a')
    await page.keyboard.type('3')
    await tabTo(/^button Generate$/)
    await press('Enter')
    await page.getByText('cached = uncached').waitFor()
  },
  Notebook: async () => {
    await page.getByText('Nothing is pinned yet').waitFor()
    for (const view of ['Pattern', 'Attribution']) {
      await open(view)
      await tabTo(/^button Export/)
      await press('Enter')
      await page.getByRole('menuitem').first().waitFor()
      await eventually(focused).toMatch(/^menuitem/)
      await page.keyboard.type('Pin') // a menu goes to what begins so
      await eventually(focused).toBe('menuitem Pin to notebook')
      await press('Enter')
      await page.locator('.figure-menu [role=status]', { hasText: 'Pinned' }).waitFor()
    }
    await open('Notebook')
    const titles = () => page.locator('.pinned h3').allTextContents()
    await eventually(async () => (await titles()).length).toBe(2)
    const [first, second] = await titles()
    await tabTo(`[aria-label="Note on ${first}"]`)
    await page.keyboard.type('looks back')
    await page.locator('.note-state', { hasText: /^saved$/ }).waitFor()
    // What is moved, taken out and brought back keeps the focus: the next key is for the same figure.
    await tabTo(`[aria-label="Move ${first} down"]`, 'Shift+Tab')
    await press('Enter')
    await eventually(titles).toEqual([second, first])
    expect(await focused()).toBe(`button Move ${first} up`)
    await press('Enter')
    await eventually(titles).toEqual([first, second])
    expect(await focused()).toBe(`button Move ${first} down`)
    await tabTo(`[aria-label="Remove ${first}"]`)
    await press('Enter')
    await eventually(titles).toEqual([second])
    expect(await focused()).toBe('button Bring it back')
    await press('Enter')
    await eventually(titles).toEqual([first, second])
    expect(await focused()).toBe(`button Remove ${first}`)
  },
}

describe.sequential('without a mouse', () => {
  it('the prompt is written and run, and Tab comes to every part of the window in reading order', async () => {
    await press('e')
    await page.getByRole('textbox', { name: 'Prompt text' }).waitFor()
    await press('Control+a')
    await page.keyboard.type(PROMPT)
    const before = address().get('run')
    await press('Control+Enter')
    await eventually(() => address().get('run')).not.toBe(before)
    await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur())
    const parts: string[] = []
    let tokens = 0
    for (let i = 0; i < 250 && parts.filter((part) => part === 'header').length < 2; i++) {
      await press('Tab')
      const [part, name] = await page.evaluate(() => {
        const element = document.activeElement
        const around = ['main', 'nav', 'aside', 'footer', 'header'].find((one) => element?.closest(one))
        return [around ?? '', element?.getAttribute('aria-label') ?? '']
      })
      if (part !== '' && parts.at(-1) !== part) parts.push(part!)
      if (/^token \d/.test(name!) && !parts.includes('header')) tokens = 0
      else if (/^token \d/.test(name!)) tokens++
    }
    const begin = parts.indexOf('header') // Tab goes on from where the editor was
    expect(parts.slice(begin, begin + 4)).toEqual(['header', 'nav', 'main', 'aside'])
    expect(tokens).toBe(1) // a prompt of two thousand tokens is one stop, too
  })

  it('the tokens are walked with the arrow keys, looked at, and locked', async () => {
    await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur())
    await tabTo(/^button token 0/)
    await press('End', 'ArrowLeft')
    const place = Number(/token (\d+)/.exec(await focused())![1])
    await page.locator('.token.is-query').waitFor() // seen as under the pointer
    await press('Enter')
    await eventually(() => address().get('query')).toBe(String(place))
  })

  it('the views are walked with the arrow keys', async () => {
    await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur())
    await tabTo(/^tab /)
    const tabs = await page.getByRole('tab').allTextContents()
    for (const tab of tabs.slice(1, 5)) {
      await press('ArrowRight')
      await press('Enter')
      await page.getByRole('tab', { name: tab, exact: true, selected: true }).waitFor()
    }
  })

  it.each(Object.keys(WORK))('%s does its main work, is seen, and stays in its place', async (view) => {
    if (await page.locator('[data-base-ui-portal]').count()) await page.reload() // hints of the last round
    await page.getByRole('tab').first().waitFor()
    await open(view)
    await settled(page)
    await WORK[view]!()
    await settled(page)
    const folder = process.env.HEADSCOPE_PICTURES
    if (folder) await page.screenshot({ path: join(folder, `keys-${view}.png`) })
    expect(await layoutFlaws(page)).toEqual([])
    await theme('dark')
    expect(await violations(page)).toEqual([])
    await theme('light')
    expect(await faint()).toEqual([])
    expect(app.problems).toEqual([])
  })

  it('the checks can fail: what is cut, covered, written over or without a ring is found', async () => {
    await page.evaluate(() => {
      const broken = document.createElement('div')
      broken.id = 'broken'
      broken.innerHTML = `
        <button style="position: fixed; left: 1270px; top: 300px; width: 60px">sticks out</button>
        <p style="position: fixed; left: 300px; top: 300px; margin: 0">one line</p>
        <p style="position: fixed; left: 310px; top: 304px; margin: 0">over another</p>
        <button style="position: fixed; left: 600px; top: 500px; width: 60px; height: 20px">covered</button>
        <i style="position: fixed; left: 590px; top: 490px; width: 90px; height: 40px; background: red"></i>
        <div style="position: fixed; left: 300px; top: 400px; width: 40px; overflow: hidden; white-space: nowrap">is cut in the middle</div>
        <button id="no-ring" style="position: fixed; left: 700px; top: 600px; outline: none; border-color: red">no ring</button>`
      document.body.append(broken)
    })
    const flaws = (await layoutFlaws(page)).join('\n')
    for (const found of [
      /sticks out.*is cut/,
      /one line.*over another|over another.*one line/,
      /covered.*is covered/,
      /in the middle.*is cut/,
    ])
      expect(flaws).toMatch(found)
    expect((await faint()).join()).toContain('no ring')
    await page.evaluate(() => document.getElementById('broken')!.remove())
  })

  it('every view is there', async () => {
    const tabs = await page.getByRole('tab').allTextContents()
    expect(Object.keys(WORK).toSorted()).toEqual(tabs.toSorted())
  })
})
