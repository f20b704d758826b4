/** The hand-built induction model: scores, losses and ablations known exactly (1e-4). */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Model, openModel, scanHeads } from '../../core/index.ts'
import { FIXTURES, readGolden, relativeError } from '../support/golden.ts'

const FOLDER = join(FIXTURES, 'constructed')
const expected = JSON.parse(readFileSync(join(FOLDER, 'expect.json'), 'utf8'))

/** expect.json's names of the four default scores. */
const NAMES = {
  induction: 'induction strict',
  previous_token: 'previous (from query 2)',
  duplicate_token: 'duplicate',
  first_token_sink: 'attention to position 0',
} as const

describe('induction-exact', () => {
  let model: Model
  beforeAll(async () => {
    model = await openModel(join(FOLDER, 'induction-exact'))
  })
  afterAll(() => model.close())

  test('hooks of the first sequence', async () => {
    const golden = readGolden('constructed', 'induction-exact.golden.safetensors')
    const known = new Set([...model.hooks.map((hook) => hook.name), 'logits'])
    const names = [...golden.keys()].filter((name) => known.has(name))
    const run = await model.run(expected.sequences[0].ids, { capture: names })
    for (const name of names)
      expect(relativeError(run.get(name).data, golden.get(name)!.data as Float32Array), name).toBeLessThan(
        1e-4,
      )
  })

  test.each<number>([...expected.sequences.keys()])('scores of sequence %i', async (i) => {
    const sequence = expected.sequences[i]
    const { heads, loss } = await scanHeads(model, { sequences: [sequence.ids] })
    for (const { layer, head, scores } of heads)
      for (const [name, reference] of Object.entries(NAMES))
        expect(scores[name]!.value, `L${layer}H${head} ${name}`).toBeCloseTo(
          sequence.scores[`L${layer}H${head}`][reference],
          4,
        )
    expect(loss.first).toBeCloseTo(sequence.loss_first_copy, 3)
    expect(loss.second).toBeCloseTo(sequence.loss_second_copy, 4)
  })

  test('ablating a head changes the loss on the second copy by what it should', async () => {
    for (const sequence of expected.sequences)
      for (const [name, reference] of Object.entries<number>(sequence.ablated_loss_second_copy)) {
        const [layer, head] = name.slice(1).split('H').map(Number) as [number, number]
        const edits = [{ hook: `blocks.${layer}.attn.hook_z`, head, op: 'zero' as const }]
        const { positions } = (await model.run(sequence.ids, { edits })).items[0]!
        const second = positions.slice(sequence.repeat_length + 1, 2 * sequence.repeat_length)
        const mean = second.reduce((sum, position) => sum + position.loss!, 0) / second.length
        expect(Math.abs(mean - reference) / Math.max(1, reference), name).toBeLessThan(1e-4)
      }
  })

  test('one sequence gives no interval, and says why', async () => {
    const { heads } = await scanHeads(model, { sequences: [expected.sequences[0].ids] })
    expect(heads[0]!.scores.induction).toMatchObject({ n: 1, rows: 30, low: null, high: null })
    expect(heads[0]!.scores.induction!.why).toMatch(/n = 1, needs 5/)
  })
})
