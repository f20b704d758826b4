/**
 * Text that wants to be more than text: a tokenizer whose tokens are markup, control characters, right-to-left words and
 * words of four hundred letters, in a folder whose name is markup. Every view shows it in a small window and does its
 * main work on it: it stays text, nothing runs, and nothing is pushed out of its place.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeRandomLlama } from '../bench/random-llama.ts'
import { layoutFlaws } from '../support/layout.ts'
import { settled } from '../support/settled.ts'
import { type AppPage, addressOf, eventually, openAppPage, openTab } from './app-page.ts'

const MARKUP = '<img src=x onerror="globalThis.ran=1">'
const WORDS = [
  '<s>',
  MARKUP,
  '<script>globalThis.ran=1</script>',
  '</button></li><h1>out</h1>',
  '{{constructor.constructor("globalThis.ran=1")()}}',
  '\u0000\u0007\u001b[31m',
  '\n\r\t',
  '\u202eright to left\u202d',
  'שלום',
  'العربية',
  'w'.repeat(400),
  'a\u0301\u0302\u0303\u0304\u0305\u0306\u0307'.repeat(8),
  '👩‍👩‍👧‍👦',
  '&lt;b&gt;&amp;',
  '%00%3Cb%3E',
  '"\'`',
  ...Array.from({ length: 64 }, (_, i) => `filler${i}`),
]
const SEPARATOR = '¦'
const PROMPT = [...WORDS.slice(1, 16), ...WORDS.slice(1, 12)].join(SEPARATOR)

let app: AppPage
let page: Page
let start: URLSearchParams
const flaws: string[] = []

beforeAll(async () => {
  app = await openAppPage({ viewport: { width: 1280, height: 720 } })
  page = app.page
  const folder = join(app.engine.folder, `${MARKUP.replaceAll('/', '')} ${'n'.repeat(120)}`)
  mkdirSync(folder)
  const size = { layers: 2, heads: 4, kvHeads: 4, width: 32, mlp: 64, vocab: WORDS.length, positions: 128 }
  writeRandomLlama(folder, size)
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer()))
  writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify({ bos_token: '<s>' }))
  page.on('dialog', (dialog) => {
    app.problems.push(`a dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  await page.goto(app.engine.url)
  await page.getByRole('gridcell').first().waitFor()
  await page.goto('about:blank')
  await page.goto(
    `${new URL(app.engine.url).origin}/#${new URLSearchParams({ model: folder, head: 'L1H2' })}`,
  )
  await page.getByRole('textbox', { name: 'Prompt text' }).fill(PROMPT)
  await page.keyboard.press('Control+Enter')
  await page.waitForFunction(() => /\brun=\d/.test(location.hash))
  start = address()
}, 120_000)

afterAll(() => app?.close())

const address = () => addressOf(page)
const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true })

/** A fresh page of the hostile prompt. */
async function at(state: Record<string, string>): Promise<void> {
  const hash = new URLSearchParams([...start, ...Object.entries(state)])
  await page.goto('about:blank')
  await page.goto(`${new URL(app.engine.url).origin}/#${hash}`)
  await page.getByRole('tab').first().waitFor()
}

/** Nothing ran, nothing became an element, and everything has its place. */
async function isText(where: string): Promise<void> {
  const found = await page.evaluate(() => ({
    ran: (globalThis as { ran?: number }).ran,
    elements: document.querySelectorAll('img, body script:not([src]), h1:not(.brand)').length,
  }))
  expect(found, where).toEqual({ ran: undefined, elements: 0 })
  for (const flaw of await layoutFlaws(page)) flaws.push(`${where}: ${flaw}`)
  const folder = process.env.HEADSCOPE_PICTURES
  if (folder) await page.screenshot({ path: join(folder, `hostile-${where.replaceAll(/\W/g, '-')}.png`) })
}

/** What each view is asked to do, and what is there when it has done it. */
const WORK: Readonly<Record<string, () => Promise<unknown>>> = {
  Pattern: async () => {
    for (const form of ['Text', 'Arcs', 'Matrix']) {
      await button(form).click()
      await settled(page)
      await isText(`Pattern as ${form}`)
    }
  },
  Ablation: async () => {
    await button('Ablate').click()
    await eventually(() => page.getByRole('region', { name: 'Effects' }).textContent()).toMatch(/8\/8/)
  },
  Patching: async () => {
    await page
      .getByRole('textbox', { name: 'Corrupt prompt' })
      .fill(PROMPT.replace(WORDS[8]!, WORDS[9]!).replace(WORDS[13]!, WORDS[14]!))
    await button('Patch').click()
    await eventually(() => page.getByRole('region', { name: 'Effects' }).textContent()).toMatch(
      /(\d+)\/\1(?!\d)/,
    )
  },
  Weights: async () => {
    await button(/^Read the weights/).click()
    await button('Find the strongest').click()
    await page.locator('.pair-line').first().waitFor()
  },
  Corpus: async () => {
    await page.getByLabel('File of texts').setInputFiles({
      name: `${MARKUP}.txt`,
      mimeType: 'text/plain',
      buffer: Buffer.from(
        `${WORDS.slice(1, 5).concat(WORDS.slice(7, 10), WORDS.slice(1, 5)).join(SEPARATOR)}\n`.repeat(4),
      ),
    })
    await button(/^Look for induction in/).click()
    await page.getByRole('region', { name: 'Heads by rate' }).locator('li').first().waitFor()
  },
  Compare: async () => {
    for (const side of ['A', 'B'])
      await page.getByRole('combobox', { name: side, exact: true }).fill(start.get('model')!)
    await button('Compare').click()
    await page.getByText('Identical weights').waitFor()
  },
  Store: async () => {
    await page
      .getByRole('textbox', { name: 'SQL query' })
      .fill(
        `select ids, text, '${MARKUP.replaceAll("'", "''")}' as "${MARKUP.replaceAll('"', '')}" from prompt`,
      )
    await page.keyboard.press('Control+Enter')
    await page.getByRole('region', { name: 'Result' }).locator('tbody tr').first().waitFor()
  },
  Generate: async () => {
    await page.getByRole('textbox', { name: 'tokens' }).fill('6')
    await button('Generate').click()
    await page.getByText('cached = uncached').waitFor()
  },
}

describe.sequential('hostile text', () => {
  it('stays text in every view, also after its main work, and leaves everything in its place', async () => {
    await at({ query: '12', key: '3' })
    const tabs = await page.getByRole('tab').allTextContents()
    expect(tabs.length).toBeGreaterThanOrEqual(15)
    expect(Object.keys(WORK).filter((tab) => !tabs.includes(tab))).toEqual([])
    for (const tab of tabs) {
      await openTab(page, tab)
      await settled(page)
      await isText(tab)
      const work = WORK[tab]
      if (!work) continue
      await work()
      await isText(`${tab} at work`)
    }
    expect(flaws).toEqual([])
    expect(app.problems).toEqual([])
  }, 180_000)

  it('is shown as what it is: markup as letters, control characters by name, long words cut', async () => {
    await at({})
    await page.locator('.tokens .token-text').first().waitFor()
    const shown = await page.locator('.tokens .token-text').allTextContents()
    expect(shown).toContain(MARKUP.replaceAll(' ', '·'))
    expect([...shown.join('')].filter((sign) => sign < ' ' || '\u202d\u202e'.includes(sign))).toEqual([])
    const width = Math.max(
      ...(await page
        .getByRole('button', { name: /^token \d/ })
        .evaluateAll((all) => all.map((element) => element.getBoundingClientRect().width))),
    )
    expect(width).toBeLessThan(600)
  })

  it('stays text in the tooltip of a token, the palette, the key map and the prompt editor', async () => {
    await page.getByRole('button', { name: /^token 1 / }).hover()
    await settled(page)
    await isText('hint')
    await page.keyboard.press('Control+k')
    await page.getByRole('option').first().waitFor()
    await page.keyboard.type('img')
    await page
      .getByRole('option', { name: /<img src=x/ })
      .first()
      .waitFor()
    await isText('palette')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await button('Edit prompt').click()
    await page.getByRole('textbox', { name: 'Prompt text' }).waitFor()
    await settled(page)
    await isText('prompt editor')
  })

  it('stays text in the title of the window, in an edit and its name', async () => {
    await at({ edits: JSON.stringify([{ hook: 'blocks.1.attn.hook_z', head: 2, op: 'zero', name: MARKUP }]) })
    await page.getByRole('region', { name: 'Active edits' }).getByText(MARKUP).first().waitFor()
    await isText('edit')
    await button(`More about ${MARKUP}`).click()
    await page.getByRole('textbox', { name: 'Name of this edit' }).waitFor()
    await isText('edit card')
    expect(await page.title()).toContain('<img src=x')
    expect(flaws).toEqual([])
  })

  it('leaves the app as text: figure and table', async () => {
    await at({ tab: 'pattern' })
    await page.locator('.pattern-canvas canvas').first().waitFor()
    for (const item of [/SVG/, /CSV/]) {
      await page
        .getByRole('button', { name: /^Export/ })
        .first()
        .click()
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('menuitem', { name: item }).first().click(),
      ])
      const text = readFileSync(await download.path(), 'utf8')
      expect(text.length).toBeGreaterThan(1000)
      if (!download.suggestedFilename().endsWith('.svg')) continue
      const parsed = await page.evaluate((svg) => {
        const tree = new DOMParser().parseFromString(svg, 'image/svg+xml')
        return {
          broken: tree.querySelector('parsererror')?.textContent ?? null,
          foreign: tree.querySelectorAll('img, script, foreignObject, h1, button').length,
          texts: tree.querySelectorAll('text').length,
        }
      }, text)
      expect(parsed).toMatchObject({ broken: null, foreign: 0 })
      expect(parsed.texts).toBeGreaterThan(5)
    }
  })
})

/** Words are split at a sign that none of them holds, and each is one token. */
function tokenizer(): unknown {
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: [
      {
        id: 0,
        content: '<s>',
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
        special: true,
      },
    ],
    normalizer: null,
    pre_tokenizer: { type: 'Split', pattern: { String: SEPARATOR }, behavior: 'Removed', invert: false },
    post_processor: null,
    decoder: null,
    model: {
      type: 'WordLevel',
      vocab: Object.fromEntries(WORDS.map((word, id) => [word, id])),
      unk_token: '<s>',
    },
  }
}
