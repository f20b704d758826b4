/** scan with all scores, spans and compare as scripts use them: the real launcher, one document, the right exit code. */
import { cpSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStore } from '../../core/index.ts'
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

describe('scan of a series', () => {
  it('keeps the series as the app does, and goes on without a broken member', async () => {
    const series = join(folder, 'series')
    const from = join(ROOT, 'models', 'induction-2l', 'checkpoints')
    for (const step of ['step896', 'step960', 'step1280'])
      cpSync(join(from, step), join(series, step), { recursive: true })
    truncateSync(join(series, 'step960', 'model.safetensors'), 20_000)
    const store = join(folder, 'series.db')
    const args = ['scan', series, '--scores', 'induction', '--length', '16', '--batch', '5', '--store', store]
    const { code, stdout } = await headscope(...args, '--json')
    expect(code).toBe(0)
    const found = JSON.parse(stdout)
    expect(found.models.map(({ at }: { at: string }) => at)).toEqual(['step896', 'step1280'])
    expect(found.onsets).toMatchObject([{ score: 'induction', at: 'step1280', after: 'step896' }])
    expect(found.loss_drop).toMatchObject({ from: 'step896', to: 'step1280' })
    expect(found.broken).toMatchObject([{ at: 'step960', error: expect.stringContaining('cut short') }])
    expect(found.warnings).toEqual([expect.stringContaining('step960 is left out')])
    const kept = openStore(store, { readonly: true })
    expect(kept.experiment(found.experiment)).toMatchObject({
      kind: 'series',
      name: 'series of 2 steps',
      plan: { request: { model: series, scores: ['induction'], length: 16, batch: 5 } },
    })
    kept.close()
    const table = join(folder, 'series.csv')
    await json('export', `experiment:${found.experiment}`, '--store', store, '--out', table)
    expect(readFileSync(table, 'utf8')).toContain('step1280')
  })

  it('of no series knows no threshold', async () => {
    const { code, stderr } = await headscope('scan', CONSTRUCTED, '--threshold', '0.4', '--no-store')
    expect(code).toBe(2)
    expect(stderr).toContain('--threshold is of a series')
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
    // The vocabulary is small, so the random repeats are as long as it allows.
    expect(found.heads[2].random_repeat).toMatchObject({ value: expect.closeTo(1, 4), n: 5 })
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

describe('corpus, relation, rollout and flow', () => {
  const texts = ['--text', 'The king said no. The king said yes.', '--text', 'A cat, a dog, a <b>cow</b>.']

  it('corpus: strongest edges of a kind of token, runs once, and a table of what is kept', async () => {
    const store = join(folder, 'corpus.db')
    const args = ['corpus', 'induction-2l', ...texts, '--key', 'punctuation', '--keep', '2', '--runs']
    const found = await json(...args, '--store', store)
    expect(found.heads).toHaveLength(16)
    for (const { edges } of found.heads)
      for (const { key_token, window, key, weight } of edges) {
        expect(key_token).toMatch(/^[.,<>/·]+$|^\W+$/)
        expect(found.windows[window].tokens[key]).toBe(key_token)
        expect(weight).toBeGreaterThan(0)
      }
    expect(found.runs).toEqual([1, 2])
    expect((await json(...args, '--store', store)).runs).toEqual([1, 2])
    const { rows } = await json('sql', store, 'select text from prompt order by id')
    expect(rows).toEqual([['The king said no. The king said yes.'], ['A cat, a dog, a <b>cow</b>.']])
    const file = join(folder, 'corpus.csv')
    await json('export', `experiment:${found.experiment}`, '--out', file, '--store', store)
    expect(readFileSync(file, 'utf8').split('\r\n')).toHaveLength(18)
    const wrong = await headscope('corpus', 'induction-2l', ...texts, '--query', 'zorblatted', '--no-store')
    expect(wrong).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/None of "zorblatted" is one token/),
    })
  })

  it('relation: the shipped sentences, a template, triples; a broken line is named', async () => {
    const found = await json('relation', 'induction-2l', '--no-store')
    expect(found).toMatchObject({
      triples: 512,
      definitions: { relation: expect.stringMatching(/Holm/) },
    })
    expect(found).not.toHaveProperty('experiment')
    expect(found.heads[0]).toMatchObject({ layer: 0, head: 0, p_holm: expect.any(Number) })
    const template = join(folder, 'template.json')
    writeFileSync(
      template,
      JSON.stringify({
        template: 'A {distractor} dog and a {target} {query}',
        slots: { distractor: ['big'], target: ['red', 'old'], query: ['house'] },
      }),
    )
    expect((await json('relation', 'induction-2l', '--template', template, '--no-store')).triples).toBe(2)
    const triples = join(folder, 'triples.jsonl')
    writeFileSync(triples, '{"ids": [0, 5, 9, 7], "query": 3, "target": 2, "distractor": 1}\n{"ids": [0]}\n')
    const wrong = await headscope('relation', 'induction-2l', '--triples', triples, '--no-store')
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringMatching(/Line 2 has no position “query”/) })
  })

  it('rollout and flow say what they leave out, as text and as JSON', async () => {
    const ids = ['--ids', '0,5,9,7,5']
    const rollout = await json('rollout', 'induction-2l', ...ids)
    expect(rollout.definitions.rollout).toMatch(/ignores values, MLPs, norms and signs/)
    for (const row of rollout.items[0].rollout)
      expect(row.reduce((a: number, b: number) => a + b)).toBeCloseTo(1, 5)
    const flow = await json('flow', 'induction-2l', ...ids, '--pos', '-2', '--without-first')
    expect(flow).toMatchObject({ without_first: true, items: [{ pos: 3 }] })
    expect(flow.items[0].flow).toHaveLength(5)
    expect(flow.items[0].flow[4]).toBe(0) // a later position
    const shown = await headscope('flow', 'induction-2l', ...ids)
    expect(shown.stdout).toMatch(/ignores values, MLPs, norms and signs/)
    expect((await headscope('flow', 'induction-2l', ...ids, '--pos', '9')).code).toBe(1)
  })

  it('places are kept, and so are the heads that are ablated', async () => {
    const store = join(folder, 'spans.db')
    const found = await json(
      'spans',
      'induction-2l',
      ...texts,
      '--head',
      'L1H7',
      '--batch',
      '5',
      '--store',
      store,
    )
    expect(found.causal).toMatchObject([{ layer: 1, head: 7 }])
    const { rows } = await json('sql', store, 'select id, kind, name from experiment')
    expect(rows).toEqual([[found.experiment, 'spans', 'induction in 2 texts']])
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

describe('values of a sweep that do not exist', () => {
  const pair = ['induction-2l', '--clean-ids', '5,6,7', '--corrupt-ids', '5,6,8', '--no-store']

  it('have a reason, as text and in the document', async () => {
    const path = ['path', ...pair, '--answer-id', '5', '--wrong-id', '6', '--from', 'L1H1', '--to', 'L0H2.q']
    const { stdout } = await headscope(...path)
    expect(stdout).toMatch(/– L1H1 comes after L0H2\.q/)
    expect((await json(...path)).cells[0]).toMatchObject({ value: null, why: expect.any(String) })
    const few = await json('attribute', ...pair, '--answer-id', '5', '--wrong-id', '6', '--verify', '2')
    expect(few).toMatchObject({ trust: null, why: expect.stringContaining('three exact runs') })
    const flat = ['--metric', '{"kind":"logit_diff","answer":5,"wrong":6,"pos":0}']
    const ended = await headscope('patch', ...pair, ...flat, '--json')
    const found = JSON.parse(ended.stdout)
    expect(found.clean).toBe(found.corrupt)
    for (const cell of found.cells)
      expect(cell).toMatchObject({ normalized: null, why: expect.stringContaining('too close') })
  })
})
