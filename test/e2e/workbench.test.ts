/** The workbench: palette, keys, edits with undo, comparison, sweeps, and what a screen reader finds on every tab. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { violations } from '../support/axe.ts'
import { settled } from '../support/settled.ts'
import { type AppPage, addressOf, eventually, openAppPage, openState, openTab } from './app-page.ts'

let app: AppPage
let page: Page
let start: string

beforeAll(async () => {
  app = await openAppPage({ viewport: { width: 1440, height: 900 } })
  page = app.page
  await page.goto(app.engine.url)
  await page.locator('output.read-out').waitFor()
  await page.locator('.ranked-row').first().waitFor()
  await page.waitForFunction(() => location.hash.includes('head='))
  start = page.url()
}, 120_000)

afterAll(() => app?.close())

const address = () => addressOf(page)
const edits = () => page.getByRole('region', { name: 'Active edits' })

const at = (state: string) => openState(page, start, state)

describe.sequential('the workbench', () => {
  /** Opens the palette and waits until it takes what is typed. */
  const palette = async () => {
    await page.keyboard.press('Control+k')
    await page.waitForFunction(() => document.activeElement?.classList.contains('palette-input'))
  }

  it('does anything from the palette, by keyboard', async () => {
    await at('')
    await palette()
    await page.keyboard.type('open pattern')
    await page.getByRole('option', { name: /Open Pattern/ }).waitFor()
    await page.keyboard.press('Enter')
    await eventually(() => address().get('tab')).toBe('pattern')
    await palette()
    await page.keyboard.type('L0H3')
    await page.getByRole('option', { name: /Go to L0H3/ }).waitFor()
    await page.keyboard.press('Enter')
    await eventually(() => address().get('head')).toBe('L0H3')
    await palette()
    await page.keyboard.type('zzzz')
    await page.getByText('Nothing is called that.').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await page.keyboard.press('1')
    await eventually(() => address().get('tab')).toBeNull()
  })

  it('keeps a stack of edits that can be switched, named, moved and undone', async () => {
    await at('&head=L1H3')
    await page.keyboard.press('a')
    await edits().waitFor()
    await page.locator('.prob-ablated').first().waitFor()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('a')
    await eventually(() => edits().locator('.edit-chip').allTextContents()).toEqual([
      expect.stringContaining('zero L1H3'),
      expect.stringContaining('zero L1H4'),
    ])
    await edits().getByRole('button', { name: 'zero L1H3: acts' }).click()
    expect(JSON.parse(address().get('edits') ?? '[]')).toHaveLength(2)
    await edits().getByRole('button', { name: 'More about zero L1H4' }).click()
    await page.getByRole('textbox', { name: 'Name of this edit' }).fill('the other one')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: '← Earlier' }).click()
    await eventually(() => JSON.parse(address().get('edits') ?? '[]') as unknown).toEqual([
      { hook: 'blocks.1.attn.hook_z', head: 4, op: 'zero', name: 'the other one' },
      { hook: 'blocks.1.attn.hook_z', head: 3, op: 'zero', off: true },
    ])
    await page.keyboard.press('Escape')
    await page.locator('.pane-title').first().click()
    for (let i = 0; i < 5; i++) await page.keyboard.press('Control+z')
    await edits().waitFor({ state: 'hidden' })
    await page.keyboard.press('Control+Shift+z')
    await eventually(() => edits().locator('.edit-chip').count()).toBe(1)
    await edits().getByRole('button', { name: 'Remove all' }).click()
    await edits().waitFor({ state: 'hidden' })
  })

  it('shows the pattern before and after an edit, and their difference, signed', async () => {
    const zero = encodeURIComponent('[{"hook":"blocks.0.attn.hook_z","head":2,"op":"zero"}]')
    await at(`&tab=pattern&head=L1H7&query=36&key=14&edits=${zero}`)
    await page.locator('.is-both figure').nth(2).waitFor()
    const [before, after, difference] = await page.locator('.is-both .read-out strong').allTextContents()
    const number = (text: string) => Number(text.replace('−', '-'))
    expect(number(before!)).toBeGreaterThan(0.2)
    expect(number(after!)).toBeLessThan(0.01)
    expect(number(difference!)).toBeCloseTo(number(after!) - number(before!), 2)
    expect(await page.locator('.is-both .legend').last().textContent()).toMatch(/^−0\.\d+\+0\.\d+$/)
    // The edited run is in the store, and found again there; the library does not list what was only looked at.
    const edited = () =>
      page.evaluate(async () => {
        const { runs } = (await (await fetch('/api/library')).json()) as { runs: { edits: number }[] }
        return runs.filter((run) => run.edits === 1).length
      })
    const stored = await edited()
    expect(stored).toBeGreaterThan(0)
    await page.reload()
    await page.locator('.is-both figure').nth(2).waitFor()
    expect(await edited()).toBe(stored)
    expect(await page.locator('.library .count', { hasText: '1 edit' }).count()).toBe(0)
  })

  it('knocks out the locked edge by a key, and the row then shares what it had', async () => {
    await at('&tab=pattern&head=L1H7&query=36&key=14&compare=after')
    await page.locator('.pattern-canvas canvas').waitFor()
    await page.locator('.pane-title').first().click()
    await page.keyboard.press('x')
    await eventually(() => edits().textContent()).toContain('cut L1H7 36→14')
    await eventually(() => page.locator('.read-out strong').first().textContent()).toBe('0')
    await page.getByRole('button', { name: 'Remove all' }).click()
  })

  it('holds a head beside the next one, with one crosshair', async () => {
    await at('&tab=pattern&head=L1H7')
    await page.getByRole('button', { name: 'Hold' }).click()
    await page.getByRole('button', { name: 'Show L1H1' }).click()
    await page.locator('.is-both figure').nth(2).waitFor()
    const first = page.locator('.is-both .pattern-window').first()
    await first.hover({ position: { x: 40, y: 150 } })
    await eventually(() => page.locator('.is-both .band-query.is-hovered').count()).toBe(3)
    await page.getByRole('button', { name: 'Let go of L1H7' }).click()
    await page.locator('.is-both').waitFor({ state: 'hidden' })
  })

  it('locks a cell and lets go of it in one place: nothing moves; a click beside it leaves the arrows to the heads', async () => {
    for (const tab of ['heads', 'pattern']) {
      await at(`&tab=${tab}&head=L1H7`)
      const canvas = page.locator('.pattern-canvas canvas').first()
      await canvas.waitFor()
      await page.getByRole('region', { name: 'First steps' }).waitFor() // it comes last, and takes a line
      const box = (await canvas.boundingBox())!
      const cell = { x: (14.5 / 46) * box.width, y: (36.5 / 46) * box.height }
      await page.mouse.click(box.x + cell.x, box.y + cell.y)
      await eventually(() => [address().get('query'), address().get('key')].join()).toBe('36,14')
      await page.getByRole('button', { name: 'Token 36…' }).waitFor()
      expect(await canvas.boundingBox()).toEqual(box)
      await page.mouse.click(box.x + cell.x, box.y + cell.y)
      await eventually(() => address().get('query')).toBeNull()
      await page.locator('.pane-title').first().click() // focuses the panel around it
      await page.keyboard.press('ArrowLeft')
      await eventually(() => address().get('head')).toBe('L1H6')
    }
  })

  it('keeps the head that is walked to, and the names of layers and heads, in view of a grid that scrolls', async () => {
    await page.goto('about:blank')
    await page.goto(`${new URL(start).origin}/#model=prose-4l&head=L0H0&t.size=large`)
    const grid = page.getByRole('grid')
    await grid.getByRole('gridcell').nth(23).waitFor()
    await page.locator('[data-head=L0H0]').focus()
    for (const key of ['ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowRight'])
      await page.keyboard.press(key)
    const seen = (css: string) =>
      page.locator(css).evaluate((inner) => {
        const [box, view] = [inner, inner.closest('.grid-scroll')!].map((e) => e.getBoundingClientRect())
        return box!.left >= view!.left - 1 && box!.right <= view!.right + 1
      })
    await eventually(() => seen('[data-head=L0H5]')).toBe(true)
    expect(await page.locator('.grid-scroll').evaluate((e) => e.scrollLeft)).toBeGreaterThan(0)
    expect(await seen('.grid-row:text-is("L0")')).toBe(true)
    expect(await seen('.grid-column:text-is("H5")')).toBe(true)
  })

  it('says of an address what is not there: a head, a score', async () => {
    await page.goto('about:blank')
    await page.goto(start.replace(/head=\w+/, 'head=L7H7&tab=pattern'))
    await page.getByText('induction-2l has 2 layers of 8 heads, counted from 0.').waitFor()
    await page.getByText('induction-2l has no head L7H7.').waitFor()
    expect(await page.getByRole('button', { name: /^Ablate this head/ }).isDisabled()).toBe(true)
    await page.getByRole('button', { name: 'Show L1H2' }).click()
    await page.getByRole('region', { name: 'Pattern of L1H2' }).waitFor()
    await at('&score=courage')
    await page.getByText('This checkpoint was not scored by courage').waitFor()
    expect(await page.locator('.ranked-row').count()).toBe(0)
  })

  it('warns of a prompt that is longer than the model was made for, and a problem can be put away', async () => {
    await at('')
    await page.keyboard.press('e')
    await page.getByRole('textbox', { name: 'Prompt text' }).fill('again '.repeat(300))
    const warning = page.getByText(/^\d+ tokens, made for 256/)
    await eventually(() => warning.getAttribute('title')).toMatch(/more than the 256 positions/)
    await page.keyboard.press('Escape')
    await warning.waitFor({ state: 'hidden' })
    await page.evaluate(() => {
      const dataTransfer = new DataTransfer()
      dataTransfer.items.add(new File(['x'], 'model.safetensors'))
      document.body.dispatchEvent(new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer }))
    })
    const problem = page.getByRole('alert').filter({ hasText: 'A browser does not say where' })
    await problem.getByRole('button', { name: 'Dismiss' }).click()
    await problem.waitFor({ state: 'hidden' })
  })

  it('says what a repeat is worth, and what is left of it without the head', async () => {
    await at('&tab=induction&head=L1H7')
    const line = page.locator('.repeat-line')
    const numbers = async () =>
      [...(await line.textContent())!.matchAll(/\d+\.\d\d/g)].map(([n]) => Number(n))
    await line.waitFor()
    const [first, again] = await numbers()
    expect(first!).toBeGreaterThan(again! + 1)
    await page.keyboard.press('a')
    await eventually(async () => (await numbers()).length).toBe(3)
    expect((await numbers())[2]!).toBeGreaterThan(again!)
    await page.keyboard.press('Control+z')
  })

  it('reads the pattern as text and as arcs', async () => {
    await at('&tab=pattern&head=L1H7&form=text')
    await page.getByRole('button', { name: /^word 36 / }).hover()
    await eventually(() =>
      page.getByRole('button', { name: /^word 14 / }).evaluate((e) => (e as HTMLElement).title),
    ).toMatch(/36 → 14: 0\.\d/)
    await page.getByRole('button', { name: 'Arcs' }).click()
    await page.locator('.arc').nth(20).waitFor({ state: 'attached' })
  })

  it('ablates every head and lists the strongest', async () => {
    await at('&tab=ablation&head=L1H7')
    await page.getByRole('button', { name: 'Ablate', exact: true }).click()
    await page.locator('.effect-line').nth(15).waitFor()
    await eventually(() => page.locator('.sweep-main').textContent()).toMatch(/16\/16/)
    const shown = await page.locator('.effect-number').allTextContents()
    expect(shown).toHaveLength(32) // total effect, and direct effect beside it
    expect(await page.locator('.effect-pair figcaption').allTextContents()).toEqual([
      'total effect',
      'direct effect',
    ])
    expect(shown.every((text) => /^[+−]\d|^0$/.test(text))).toBe(true)
    await eventually(() => address().get('t.ablation')).toMatch(/^\d+$/)
    await page.reload() // stored as an experiment: the address brings it back
    await page.locator('.effect-line').nth(15).waitFor()
    expect(await page.locator('.effect-number').allTextContents()).toEqual(shown)
  })

  it('patches clean into corrupt, cell by cell, and opens one cell as a run', async () => {
    const corrupt = encodeURIComponent(
      'Dorothy lived in the midst of the good Kansas prairies. Dorothy lived in the midst of the great Kansas prairies',
    )
    await at(`&tab=patching&t.corrupt=${corrupt}`)
    await eventually(() => page.locator('.aligned-column.is-different').count()).toBe(1)
    await page.getByRole('button', { name: 'Patch', exact: true }).click()
    await page.locator('.effect-line').nth(20).waitFor()
    await eventually(() => page.locator('.sweep-main').textContent()).toMatch(/92\/92/)
    const first = page.locator('.effect-line').first()
    expect(await first.textContent()).toMatch(/^L0 · 14 .*\+1\.00$/) // before anything ran, only the changed token matters
    await first.click()
    await page.getByRole('region', { name: 'The cell' }).locator('.prob-ablated').first().waitFor()
    await page.getByRole('button', { name: 'Open this run' }).click()
    await eventually(() => edits().textContent()).toContain('L0 resid_pre at 14')
    await page.getByRole('button', { name: 'Remove all' }).click()
  })

  it('says why two prompts cannot be patched', async () => {
    await at('&tab=patching&t.corrupt=hello')
    await eventually(() => page.locator('.sweep-problem').textContent()).toMatch(/46 tokens and corrupt \d/)
    expect(await page.getByRole('button', { name: 'Patch', exact: true }).isDisabled()).toBe(true)
  })

  it('shows what the model would say at every border, and who wrote it', async () => {
    await at('&tab=residual&query=36&t.border=2')
    const cells = page.locator('.lens-cell')
    await cells.nth(137).waitFor({ state: 'attached' }) // 3 borders × 46 positions
    expect(await cells.count()).toBe(138)
    // The last border is the model's own prediction.
    const said = await page
      .getByRole('region', { name: 'Prediction' })
      .locator('.token-text')
      .nth(2)
      .textContent()
    expect(
      await page.getByRole('region', { name: 'The cell' }).locator('.token-text').first().textContent(),
    ).toBe(said)
    await page.getByRole('region', { name: 'Who wrote it' }).locator('.number').first().waitFor()
    const shares = await page
      .getByRole('region', { name: 'Who wrote it' })
      .locator('.number')
      .allTextContents()
    const sum = shares.reduce((total, text) => total + Number(text.replace('−', '-')), 0)
    expect(sum).toBeCloseTo(1, 1)
  })

  it('takes a logit apart, and the parts sum to it', async () => {
    await at('&tab=attribution')
    const title = page.getByRole('region', { name: 'Waterfall' }).locator('.pane-title').first()
    await eventually(() => title.textContent()).toMatch(/parts sum to/)
    const [, sum, logit] = /sum to (-?[\d.]+); the model says (-?[\d.]+)/.exec((await title.textContent())!)!
    expect(Number(sum)).toBeCloseTo(Number(logit), 2)
    expect(await page.getByRole('region', { name: 'Largest parts' }).locator('li').count()).toBeGreaterThan(
      16,
    )
  })

  it('moves through the training, and would score its steps', async () => {
    await at('&tab=series')
    await page.getByRole('button', { name: /^Score \d+ of 13 steps/, disabled: false }).waitFor()
    await page.getByRole('slider', { name: 'Checkpoint' }).fill('3')
    await eventually(() => address().get('model')).toMatch(/step640$/)
    await eventually(() => page.locator('.step-slider output').textContent()).toBe('step640')
    await page.getByRole('region', { name: /^Pattern of/ }).waitFor()
  })

  it('reads the weights: the induction head reads the previous-token head through its keys', async () => {
    await at('&tab=weights&head=L1H7')
    await page.getByRole('button', { name: /^Read the weights/ }).click()
    await page.locator('.effect-number').first().waitFor()
    const shown = await page.locator('.effect-number').allTextContents()
    expect(shown).toHaveLength(8) // layer 0 below it; its own layer has no such pair
    const values = shown.map((text) => Number(text.replace('−', '-')))
    expect(values.indexOf(Math.max(...values))).toBe(2) // L0H2, by its score
    await page.getByRole('button', { name: 'Find the strongest' }).click()
    await page.locator('.pair-line').nth(10).waitFor()
  })

  it('orders heads by class, pins them, and finds pinned ones', async () => {
    await at('&head=L1H7&t.order=class')
    await page.locator('.grid-heading').first().waitFor()
    expect(await page.locator('.grid-heading').first().textContent()).toMatch(/^induction · \d$/)
    await page.locator('.pane-title').first().click()
    await page.keyboard.press('p')
    await page.locator('.tile-pin').waitFor()
    await page.getByRole('searchbox').fill('pinned')
    await eventually(() => page.getByRole('gridcell').count()).toBe(1)
    await page.getByRole('searchbox').fill('')
    await page.getByRole('button', { name: 'Scatter' }).click()
    await page.locator('.scatter-box canvas').waitFor()
    await page.getByRole('combobox', { name: 'Score that colours the heads' }).click()
    await page.getByRole('option', { name: 'first-token sink' }).click()
    await eventually(() => address().get('t.hue')).toBe('first_token_sink')
    await page
      .getByLabel(/^\d+ heads by induction and previous token, coloured by first-token sink/)
      .waitFor()
  })

  it('leads through the first steps, each ticking itself', async () => {
    await at('')
    const steps = page.getByRole('region', { name: 'First steps' })
    await steps.waitFor()
    for (let i = 0; i < 4; i++) {
      await steps.getByRole('listitem').nth(i).getByRole('button').click()
      await eventually(() => steps.locator('.is-done').count()).toBeGreaterThan(i)
    }
    await page.getByRole('region', { name: 'Prediction' }).locator('.prob-ablated').first().waitFor()
    await page.getByRole('button', { name: 'Close the first steps' }).click()
    await page.reload()
    await page.locator('.score-row').first().waitFor()
    expect(await steps.count()).toBe(0)
  })

  it('lets the model go on, and makes what it said the prompt', async () => {
    await at('')
    await openTab(page, 'Generate')
    expect(await page.getByRole('checkbox', { name: 'chat template' }).count()).toBe(0) // this checkpoint has none
    await page.getByRole('textbox', { name: 'tokens' }).fill('5')
    await page.getByRole('button', { name: 'Generate', exact: true }).click()
    const said = page.getByRole('region', { name: 'New tokens' }).locator('.use-token')
    await eventually(() => said.count()).toBe(5)
    await said.nth(2).click()
    await eventually(() => page.locator('.strip-side').textContent()).toContain('49 tokens')
  })

  it('asks the store, and deletes a run', async () => {
    await at('&tab=store')
    const runs = page.getByRole('region', { name: 'Runs' })
    await runs
      .getByRole('button', { name: /^Delete run/ })
      .first()
      .waitFor()
    const before = await runs.locator('tbody tr').count()
    await page.getByRole('button', { name: /^Ask/ }).click()
    // Every head of the scored checkpoint, at least.
    await eventually(() =>
      page.getByRole('region', { name: 'Result' }).locator('tbody tr').count(),
    ).toBeGreaterThanOrEqual(16)
    await page.getByRole('textbox', { name: 'SQL query' }).fill('delete from run')
    await page.keyboard.press('Control+Enter')
    await eventually(() =>
      page.getByRole('region', { name: 'SQL' }).getByRole('alert').textContent(),
    ).toMatch(/\w/)
    await runs
      .getByRole('button', { name: /^Delete run/ })
      .first()
      .click()
    await runs.getByRole('button', { name: /^Really delete run/ }).click()
    await eventually(() => runs.locator('tbody tr').count()).toBe(before - 1)
  })

  // A theme has nothing of its own but colours: keyboard.test.ts looks at names, roles and order, in the dark.
  it('has contrast on every tab in the light, and a palette that axe finds no fault with', async () => {
    const found: string[] = []
    const look = async (where: string, rules?: readonly string[]) => {
      for (const line of await violations(page, rules)) found.push(`${where}: ${line}`)
    }
    await at('&theme=light')
    for (const tab of await page.getByRole('tab').allTextContents()) {
      await openTab(page, tab)
      await settled(page)
      await look(tab, ['color-contrast'])
    }
    await page.keyboard.press('Control+k')
    await page.getByRole('option').first().waitFor()
    await look('palette')
    await page.keyboard.press('Escape')
    expect(found).toEqual([])
    expect(app.problems).toEqual([])
  }, 240_000)
})
