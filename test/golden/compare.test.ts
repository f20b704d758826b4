/** Comparisons against independent values, on twins of one checkpoint, and what the bundled series shows. */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  compare,
  compareVocabularies,
  compareWeights,
  type Model,
  mostChangedPatterns,
  openModel,
  patternDifference,
  reportHtml,
  scanHeads,
  scanSeries,
} from '../../core/index.ts'
import { ROOT } from '../support/command-line.ts'
import { FIXTURES } from '../support/golden.ts'

const SCORES = join(FIXTURES, 'scores')
const reference = JSON.parse(readFileSync(join(SCORES, 'expected.json'), 'utf8')).comparisons
const SETTINGS = { length: 20, batch: 6, seed: 1, bos: false }

let cacheDir: string
const opened: Model[] = []
const open = async (path: string) => {
  const model = await openModel(path, { cacheDir })
  opened.push(model)
  return model
}
beforeAll(() => {
  cacheDir = mkdtempSync(join(tmpdir(), 'headscope-compare-'))
})
afterAll(async () => {
  for (const model of opened) await model.close()
  rmSync(cacheDir, { recursive: true, force: true })
})

test('a prompt that is one list, not one for each model, is refused in a sentence', async () => {
  const model = await open(join(ROOT, 'models/induction-2l'))
  await expect(compare(model, model, [[1, 2, 3]] as never)).rejects.toThrow(/^Prompt 0 must be {a: \[…\]/)
})

describe('random models', () => {
  const prompts = (reference.prompts as number[][]).map((ids) => ({ a: ids, b: ids }))

  test('KL, agreement, pattern distance, deltas and cosines of the maps', async () => {
    const [a, b] = [await open(join(SCORES, 'gpt2')), await open(join(SCORES, 'gpt2-other'))]
    const result = await compare(a, b, prompts, SETTINGS)
    const known = reference['gpt2-other']
    expect(result.identical).toBe(false)
    expect(result.prediction.kl!).toBeCloseTo(known.kl, 4)
    expect(result.prediction.top1_agreement!).toBeCloseTo(known.top1_agreement, 12)
    expect(result.prediction.positions).toBe(87)
    const { heads: weights } = await compareWeights(a, b, ['ov', 'qk'])
    for (const { layer, head, pattern_distance: distance, deltas } of result.heads) {
      const name = `L${layer}H${head}`
      expect(distance!, name).toBeCloseTo(known.heads[name].pattern_distance, 5)
      expect(deltas.induction!.value!, name).toBeCloseTo(known.heads[name].induction, 5)
      const maps = weights!.find((one) => one.layer === layer && one.head === head)!
      expect(maps.ov!.cosine!, name).toBeCloseTo(known.heads[name].ov, 4)
      expect(maps.qk!.cosine!, name).toBeCloseTo(known.heads[name].qk, 4)
    }
  })

  test('other shapes: predictions are compared, and heads by behaviour', async () => {
    const [a, b] = [await open(join(SCORES, 'gpt2')), await open(join(SCORES, 'llama'))]
    const result = await compare(a, b, prompts, SETTINGS)
    expect(result.prediction.kl!).toBeCloseTo(reference.llama.kl, 4)
    expect(result.prediction.top1_agreement!).toBeCloseTo(reference.llama.top1_agreement, 12)
    expect(result.heads).toEqual([])
    expect(result.matches).toHaveLength(6)
    expect(new Set(result.matches!.map((match) => `${match.b.layer} ${match.b.head}`)).size).toBe(6)
    expect(result.warnings.join()).toMatch(/different shapes/)
    expect(await compareWeights(a, b, ['ov'])).toMatchObject({
      heads: null,
      why: expect.stringMatching(/^The weights of .* are not compared: their shapes differ/),
    })
  })

  test('a checkpoint and itself: identical, all zero, matched to itself, nothing moved', async () => {
    const [a, b] = [await open(join(SCORES, 'llama')), await open(join(SCORES, 'llama'))]
    const result = await compare(a, b, prompts, { ...SETTINGS, match: true })
    expect(result).toMatchObject({ identical: true, sameShape: true, moved: [] })
    expect(result.prediction).toMatchObject({ kl: 0, top1_agreement: 1 })
    for (const head of result.heads) {
      expect(head.pattern_distance).toBe(0)
      expect(head.deltas.induction).toMatchObject({ value: 0, clear: false })
    }
    for (const { a: from, b: to, similarity } of result.matches!) {
      expect(to).toEqual(from)
      expect(similarity).toBe(1)
    }
    for (const { ov } of (await compareWeights(a, b, ['ov'])).heads!) expect(ov!.cosine!).toBeCloseTo(1, 10)
  })

  test.each(['q', 'W_K', 'w_v', 'o'])('raw %s is refused: it depends on the basis', async (name) => {
    const a = await open(join(SCORES, 'llama'))
    await expect(compareWeights(a, a, [name])).rejects.toThrow(/basis/)
  })
})

describe('twins and bundled checkpoints', () => {
  const original = join(FIXTURES, 'transformers', 'llama-gqa')

  test('a q8_0 file and its original: close, not identical, and rounding is not ranked as movement', async () => {
    const [a, b] = [await open(original), await open(join(FIXTURES, 'gguf', 'llama-gqa.q8_0.gguf'))]
    const ids = [5, 9, 9, 2, 7, 5, 9, 11, 3, 5]
    const result = await compare(a, b, [{ a: ids, b: ids }], { length: 12, batch: 8, seed: 1 })
    expect(result.identical).toBe(false)
    expect(result.prediction.kl!).toBeLessThan(1e-2)
    expect(Math.max(...result.heads.map((head) => head.pattern_distance!))).toBeLessThan(0.02)
  })

  test.each([
    [
      'a small vocabulary',
      join('constructed', 'induction-exact'),
      /39 tokens instead of 48: .* 39 ordinary tokens/,
    ],
    ['few positions', join('transformers', 'gpt2-prefixed'), /1[56] tokens instead of 48: .* 32 positions/],
  ])('%s: unasked, the sequences are as long as fits, and the comparison says so', async (_, path, note) => {
    const [a, b] = [await open(join(FIXTURES, path)), await open(join(FIXTURES, path))]
    const ids = [5, 9, 2, 5, 9]
    const result = await compare(a, b, [{ a: ids, b: ids }], { batch: 4 })
    expect(result.warnings.join()).toMatch(note)
    expect(result.heads.length).toBeGreaterThan(0)
    for (const { deltas } of result.heads) expect(deltas.induction).toMatchObject({ value: 0, n: 4 })
    const scan = await scanHeads(a, { batch: 4 })
    expect(scan.warnings.join()).toMatch(note)
    // What was asked for is not shortened.
    await expect(compare(a, b, [{ a: ids, b: ids }], { batch: 4, length: 48 })).rejects.toThrow()
  })

  test('another vocabulary: the differing tokens are named, and so is what can still be compared', async () => {
    const [a, b] = [await open(join(ROOT, 'models', 'induction-2l')), await open(original)]
    const found = compareVocabularies(a, b)
    expect(found.same).toBe(false)
    expect(found.different).toBeGreaterThan(900)
    expect(found.examples[0]!.a).not.toBe(found.examples[0]!.b)
    const text = 'the king and the queen'
    const pair = { a: a.encode(text), b: b.encode(text) }
    const result = await compare(a, b, [pair], { length: 4, batch: 5, seed: 1 })
    expect(result.prediction).toMatchObject({
      kl: null,
      why: expect.stringMatching(/same tokens|same ids|meaning/),
    })
    expect(result.warnings.join(' ')).toMatch(/token ids differ/)
  })

  test('one token that means something else: predictions are compared over the others, renormalised', async () => {
    const folder = join(ROOT, 'models', 'induction-2l')
    const other = mkdtempSync(join(tmpdir(), 'headscope-vocabulary-'))
    try {
      for (const name of ['config.json', 'model.safetensors', 'tokenizer_config.json'])
        copyFileSync(join(folder, 'checkpoints', 'step832', name), join(other, name))
      const tokenizer = JSON.parse(readFileSync(join(folder, 'tokenizer.json'), 'utf8'))
      const [word, id] = Object.entries<number>(tokenizer.model.vocab).at(-1)!
      delete tokenizer.model.vocab[word]
      tokenizer.model.vocab[`${word}x`] = id
      tokenizer.model.merges.pop() // the one that made it
      writeFileSync(join(other, 'tokenizer.json'), JSON.stringify(tokenizer))
      const [a, b] = [await open(folder), await open(other)]
      const ids = a.encode('The queen spoke to the king.')
      expect(ids).not.toContain(id)
      const both = [{ a: ids, b: ids }]
      const result = await compare(a, b, [...both, { a: [0, id], b: [0, id] }], { batch: 5 })
      expect(result.vocabulary).toMatchObject({ same: false, different: 1, examples: [{ id }] })
      expect(result.warnings.join(' ')).toMatch(/1 of 2 prompts are other tokens/)
      const logits = async (model: Model) =>
        (await model.run(ids, { capture: ['logits'] })).get('logits').data
      const [x, y] = [await logits(a), await logits(b)]
      const size = a.spec.dVocab
      let sum = 0
      for (let pos = 0; pos < ids.length; pos++) {
        const logProbs = (all: Float32Array) => {
          const row = [...all.slice(pos * size, (pos + 1) * size)].filter((_, other) => other !== id)
          const total = Math.log(row.reduce((t, value) => t + Math.exp(value), 0))
          return row.map((value) => value - total)
        }
        const [p, q] = [logProbs(x), logProbs(y)]
        sum += p.reduce((t, value, i) => t + Math.exp(value) * (value - q[i]!), 0)
      }
      expect(result.prediction.kl!).toBeCloseTo(sum / ids.length, 5)
      expect(result.prediction.vocabulary).toBe(size - 1)
    } finally {
      rmSync(other, { recursive: true })
    }
  })

  test('one head’s signed difference is B − A, and rows sum to 0', async () => {
    const folder = join(ROOT, 'models', 'induction-2l')
    const [a, b] = [await open(join(folder, 'checkpoints', 'step896')), await open(folder)]
    const ids = a.encode('The queen Zorblat spoke to the king.')
    const { difference, length } = await patternDifference(a, b, ids, { layer: 0, head: 2 })
    for (let q = 0; q < length; q++)
      expect(difference.slice(q * length, (q + 1) * length).reduce((x, y) => x + y)).toBeCloseTo(0, 5)
    await expect(patternDifference(a, b, ids, { layer: 9, head: 0 })).rejects.toThrow(/no head L9H0/)
  })

  test('the report is one file: no script, nothing loaded, token texts escaped', async () => {
    const folder = join(ROOT, 'models', 'induction-2l')
    const [a, b] = [await open(join(folder, 'checkpoints', 'step896')), await open(folder)]
    const ids = a.encode('<script>alert("x")</script> & the king')
    const comparison = await compare(a, b, [{ a: ids, b: ids }], { batch: 5 })
    const about = { name: 'A <b>', path: '/a', family: 'gpt_neox', hash: '0' }
    const pattern = await patternDifference(a, b, ids, { layer: 0, head: 2 })
    const changed = await mostChangedPatterns(a, b, comparison, { heads: 16 })
    expect(changed.find(({ layer, head }) => layer === 0 && head === 2)?.pattern).toEqual(pattern)
    const html = reportHtml({
      headscope: '0',
      created: 'now',
      a: about,
      comparisons: [
        {
          b: about,
          comparison,
          tokens: [a.tokenizer!.view(ids)],
          pictures: [{ layer: 0, head: 2, pattern }],
        },
      ],
    })
    expect(html).not.toMatch(/<script|https?:|<b>|javascript:/i)
    expect(html).toContain('A &lt;b&gt;')
    expect(html).toContain("default-src 'none'")
    expect(html.match(/data:image\/png;base64,/g)).toHaveLength(3)
  })
})

test('the bundled series: the best induction head passes 0.5 between two saved steps, and the loss falls there', async () => {
  const { steps, onsets, lossDrop, broken } = await scanSeries(
    join(ROOT, 'models', 'induction-2l', 'checkpoints'),
    { batch: 16, open: { cacheDir } },
  )
  expect(broken).toEqual([])
  expect(steps.map(({ step }) => step)).toEqual(steps.map(({ step }) => step).toSorted((a, b) => a - b))
  const onset = onsets.find(({ score }) => score === 'induction')!
  expect(onset).toMatchObject({ at: 'step1024', after: 'step960', earliest: 'step1024', latest: 'step1024' })
  expect(onset.head!.layer).toBe(1)
  const { low, high } = onset.value!
  expect(low!).toBeGreaterThan(0.5)
  expect(high!).toBeLessThan(0.8)
  // The loss on the second copy falls most within one saved step of it.
  const index = (at: string) => steps.findIndex((step) => step.at === at)
  expect(Math.abs(index(lossDrop!.to) - index(onset.at!))).toBeLessThanOrEqual(1)
  expect(lossDrop!.nats).toBeGreaterThan(2)
}, 120_000)
