/** scan with all scores, spans and compare as scripts use them: the real launcher, one document, the right exit code. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CommandLine, commandLine, ROOT } from '../support/command-line.ts'

let folder: string
let headscope: CommandLine

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headscope-cli-heads-'))
  headscope = commandLine(folder)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The one document of a command that succeeded without a word on stderr. */
// biome-ignore lint/suspicious/noExplicitAny: documents are looked at field by field
async function json(...args: string[]): Promise<any> {
  const ended = await headscope(...args, '--json')
  expect(ended.stderr).toBe('')
  expect(ended.code).toBe(0)
  return JSON.parse(ended.stdout)
}

const CONSTRUCTED = join(ROOT, 'test', 'fixtures', 'constructed', 'induction-exact')

describe('scan --scores all', () => {
  it('gives every score or the reason why there is none', async () => {
    const found = await json(
      'scan',
      CONSTRUCTED,
      '--scores',
      'all',
      '--length',
      '20',
      '--batch',
      '5',
      '--no-store',
    )
    const names = Object.keys(found.definitions)
    expect(names.slice(0, 4)).toEqual(['induction', 'previous_token', 'duplicate_token', 'first_token_sink'])
    expect(names).toEqual(expect.arrayContaining(['copying', 'ngram_induction', 'successor', 'icl']))
    const [, , induction, zeros] = found.heads
    expect(induction.copying.value).toBeCloseTo(1, 4)
    expect(zeros.copying).toMatchObject({ value: null, why: expect.any(String) })
    expect(found.model_scores.icl).toMatchObject({ value: null, why: expect.any(String) })
  })

  it('refuses a score that does not exist, naming those that do', async () => {
    const { code, stderr } = await headscope('scan', CONSTRUCTED, '--scores', 'inductoin', '--no-store')
    expect(code).toBe(1)
    expect(stderr).toMatch(/no score "inductoin"; the scores are induction, previous_token/)
  })
})

describe('spans', () => {
  it('lists places and heads, with two scores each', async () => {
    const ids = JSON.parse(readFileSync(join(ROOT, 'test', 'fixtures', 'constructed', 'expect.json'), 'utf8'))
      .sequences[0].ids
    const found = await json('spans', CONSTRUCTED, '--ids', ids.join(','), '--batch', '5')
    expect(found.items).toHaveLength(30)
    const { query, target, token, heads } = found.items[0]
    expect(query - target).toBe(29)
    expect(token).toBe(found.windows[0].tokens[target])
    expect(heads).toHaveLength(4)
    expect(heads[2]).toMatchObject({ layer: 1, head: 0, hit: true, weight: expect.closeTo(1, 3) })
    expect(found.heads[2]).toMatchObject({ layer: 1, head: 0, rate: { value: 1, n: 30 } })
    expect(found.heads[2].random_repeat).toMatchObject({ value: null, why: expect.any(String) })
    expect(found).toMatchObject({
      seed: 1,
      model: { family: 'gpt2' },
      definitions: { rate: expect.any(String) },
    })
  })

  it('checks by ablation when asked', async () => {
    const prompts = join(folder, 'prompts.txt')
    writeFileSync(prompts, readFileSync(join(ROOT, 'models', 'prose-sample.txt'), 'utf8').slice(0, 4000))
    const found = await json('spans', 'induction-2l', '--prompts', prompts, '--check', '--batch', '5')
    expect(found.causal).toHaveLength(3)
    expect(found.causal[0].effect.value).toBeGreaterThan(0)
    const shown = await headscope('spans', 'induction-2l', '--prompts', prompts, '--batch', '5')
    expect(shown.stdout).toMatch(/L1H\d+ +0\.\d\d \[/)
  })

  it('without a prompt is wrong usage', async () => {
    expect((await headscope('spans', 'induction-2l')).code).toBe(2)
  })
})

describe('compare', () => {
  const text = [
    '--text',
    'The queen Zorblat spoke to the king. The king',
    '--text',
    '<script>alert(1)</script>',
  ]

  it('two steps of a series: deltas, distances, predictions, and a report', async () => {
    const report = join(folder, 'report.html')
    const found = await json(
      ...['compare', 'induction-2l/checkpoints/step832', 'induction-2l'],
      ...[...text, '--batch', '8', '--weights', 'ov', '--report', report],
    )
    expect(found.identical).toBe(false)
    expect(found.models).toHaveLength(2)
    expect(found.heads).toHaveLength(16)
    expect(found.heads[0].deltas.induction).toMatchObject({ n: 8, clear: expect.any(Boolean) })
    expect(found.heads[0].pattern_distance).toBeGreaterThan(0)
    expect(found.prediction.kl).toBeGreaterThan(0.5)
    expect(found.weights[0].ov.cosine).toBeLessThan(1)
    const html = readFileSync(report, 'utf8')
    expect(html).not.toMatch(/<script|https?:/i)
    expect(html).toMatch(/data:image\/png/)
  })

  it('a model and itself are identical', async () => {
    const found = await json('compare', 'induction-2l', 'induction-2l', ...text, '--batch', '5')
    expect(found).toMatchObject({ identical: true, moved: [], prediction: { kl: 0, top1_agreement: 1 } })
  })

  it('several: one comparison each', async () => {
    const found = await json(
      ...['compare', 'induction-2l', 'induction-2l/checkpoints/step896', 'prose-4l'],
      ...[...text, '--batch', '5'],
    )
    expect(found.comparisons).toHaveLength(2)
    expect(found.comparisons[1]).toMatchObject({ same_shape: false, heads: [] })
    expect(found.comparisons[1].matches).toHaveLength(16)
  })

  it('raw matrices are refused; one model is wrong usage', async () => {
    const raw = await headscope('compare', 'induction-2l', 'induction-2l', ...text, '--weights', 'W_Q')
    expect(raw).toMatchObject({ code: 1, stdout: '' })
    expect(raw.stderr).toMatch(/basis/)
    expect((await headscope('compare', 'induction-2l', ...text)).code).toBe(2)
  })
})
