/**
 * Every row of the table of malformed and tricky checkpoints, through the real engine: the outcome, the words of the
 * error or the warning, the logits, and that nothing is written where the checkpoint lies.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HeadscopeError, type Model, nonFiniteWarnings, openModel, type Run } from '../../core/index.ts'
import {
  cannotMake,
  type HostileRow,
  hostileReference,
  hostileRows,
  type Outcome,
  placeOf,
  snapshot,
} from '../support/hostile.ts'

const TOLERANCE = 1e-4
const usual = hostileReference.get('good')!.ids!

let cacheDir: string
beforeAll(() => {
  cacheDir = mkdtempSync(join(tmpdir(), 'headscope-hostile-cache-'))
})
afterAll(() => rmSync(cacheDir, { recursive: true, force: true }))

interface Answer {
  readonly outcome: Outcome
  /** The error, or all warnings of opening, of the background pass and of the run. */
  readonly words: string
  readonly model: Model | null
  readonly run: Run | null
}

/** Opens and runs, as `inspect` and `run` together do. Anything but a HeadscopeError is a crash and fails the test. */
async function answer(row: HostileRow, path: string): Promise<Answer> {
  const ids = (row.logits ? hostileReference.get(row.logits)?.ids : null) ?? usual
  let model: Model | null = null
  try {
    model = await openModel(path, { cacheDir })
    const run = await model.run(ids, { capture: ['logits', 'blocks.*.attn.hook_pattern'] })
    const warnings = [...model.warnings, ...nonFiniteWarnings(await model.contentHash()), ...run.warnings]
    return { outcome: warnings.length > 0 ? 'warn' : 'accept', words: warnings.join('\n'), model, run }
  } catch (error) {
    await model?.close()
    if (!(error instanceof HeadscopeError)) throw error
    return { outcome: 'reject', words: error.message, model: null, run: null }
  }
}

/** Opens the place of a row, hands the answer on, and cleans up. */
async function withAnswer(
  row: HostileRow,
  judge: (answer: Answer, path: string) => void | Promise<void>,
): Promise<void> {
  const place = placeOf(row)
  const before = snapshot(place.path)
  let given: Answer | null = null
  try {
    given = await answer(row, place.path)
    await judge(given, place.path)
    expect(snapshot(place.path), 'nothing in the folder is created or changed').toEqual(before)
  } finally {
    await given?.model?.close()
    place.remove()
  }
}

function judgeWords(row: HostileRow, { outcome, words }: Answer): void {
  if (outcome === 'accept') return
  for (const name of row.names) expect(words).toContain(name)
  if (row.names_any)
    expect(
      row.names_any.some((name) => words.includes(name)),
      `${words} names one of ${row.names_any}`,
    ).toBe(true)
  for (const sentence of words.split('\n')) expect(sentence.length, sentence).toBeLessThan(600)
  if (outcome === 'reject') expect(words).not.toContain('\n')
  expect(words).not.toMatch(/\bat .*:\d+:\d+/) // a stack trace
}

function judgeLogits(row: HostileRow, run: Run): void {
  const want = hostileReference.get(row.logits!)!.logits!
  const { data, shape } = run.get('logits') // [1, pos, vocab]
  const vocab = shape[2]!
  expect(shape).toEqual([1, want.length, want[0]!.length])
  const left = new Set(row.logits_except ?? [])
  const worst = want.flatMap((line, pos) =>
    line.map((value, id) => (left.has(id) ? 0 : Math.abs(data[pos * vocab + id]! - value))),
  )
  for (const error of worst) expect(error).toBeLessThan(TOLERANCE)
}

describe.each([...new Set(hostileRows.map((row) => row.kind))])('%s', (kind) => {
  const rows = hostileRows.filter((row) => row.kind === kind)
  for (const row of rows) {
    const why = cannotMake(row)
    const title = `${row.path.slice(0, 60)}: ${row['what is wrong']}`
    test.skipIf(why !== null)(why === null ? title : `${title} (skipped: ${why})`, async () => {
      const started = performance.now()
      await withAnswer(row, (given) => {
        const seconds = (performance.now() - started) / 1000
        expect([row.must, row.or], given.words).toContain(given.outcome)
        judgeWords(row, given)
        if (given.run && row.logits) judgeLogits(row, given.run)
        if (given.model?.tokenizer && row.texts) {
          const { tokenizer } = given.model
          for (const [text, ids] of Object.entries(hostileReference.get(row.texts)!.texts!)) {
            expect(tokenizer.encode(text), text.slice(0, 40)).toEqual(ids)
          }
        }
        expect(seconds).toBeLessThan(row.time_limit_s ?? 10)
      })
    })
  }
})

describe('what the table asks to look at', () => {
  const rowOf = (path: string) => hostileRows.find((row) => row.path === path)!

  test('weights-zero: logits are exactly 0 and row q of every pattern is 1/(q+1)', async () => {
    await withAnswer(rowOf('weights-zero'), ({ run }) => {
      expect(run!.get('logits').data.every((value) => value === 0)).toBe(true)
      for (const layer of [0, 1]) {
        const { data, shape } = run!.get(`blocks.${layer}.attn.hook_pattern`) // [1, head, query, key]
        const t = shape[3]!
        data.forEach((weight, i) => {
          const query = Math.floor(i / t) % t
          expect(weight).toBeCloseTo(i % t <= query ? 1 / (query + 1) : 0, 6)
        })
      }
    })
  })

  test('weights that are not numbers: no figure of the run is a number where it is none', async () => {
    for (const path of ['weights-nan', 'weights-inf', 'weights-minus-inf', 'weights-overflow']) {
      await withAnswer(rowOf(path), ({ run }) => {
        if (run)
          for (const item of run.items) for (const position of item.positions) judgePrediction(position)
      })
    }
    await withAnswer(rowOf('weights-nan-in-unused-row'), ({ run }) => {
      if (!run) return
      const positions = run.items[0]!.positions
      for (const position of positions) {
        judgePrediction(position)
        // The distribution over all tokens does not exist when one logit is NaN; the other logits do.
        expect(position.top.every(({ prob }) => prob === null)).toBe(true)
        expect(position.top.every(({ id, logit }) => id !== 25 && Number.isFinite(logit))).toBe(true)
      }
      expect(run.items[0]!.loss).toBeNull()
    })
  })

  test('weights-overflow: the run says in which layer and hook the first value is not finite', async () => {
    await withAnswer(rowOf('weights-overflow'), ({ words }) => {
      expect(words).toContain('blocks.1.')
    })
  })

  test('pickles are never opened', async () => {
    await withAnswer(rowOf('folder-pickle-only'), ({ words }, path) => {
      expect(words).toContain('convert')
      for (const place of [path, dirname(path), process.cwd(), tmpdir()]) {
        expect(existsSync(join(place, 'unpickled-by-mistake'))).toBe(false)
      }
    })
  })

  test('a checkpoint without a tokenizer says why text is off, and ids run', async () => {
    await withAnswer(rowOf('tok-missing'), ({ model, run }) => {
      expect(run!.items).toHaveLength(1)
      expect(() => model!.encode('the cat')).toThrow('tokenizer.json is missing')
    })
  })
})

function judgePrediction({ top, loss }: Run['items'][number]['positions'][number]): void {
  for (const { logit, prob } of top) {
    expect(Number.isFinite(logit)).toBe(true)
    expect(prob === null || Number.isFinite(prob)).toBe(true)
  }
  expect(loss === null || Number.isFinite(loss)).toBe(true)
}
