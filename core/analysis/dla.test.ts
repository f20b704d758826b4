/** Attribution sums to the logit on every family; the hand-built model's rows are known; BERT has none, and says why. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openModel } from '../run/model.ts'
import { type Dla, directLogitAttribution } from './dla.ts'

const FIXTURES = join(import.meta.dirname, '..', '..', 'test', 'fixtures')
const isEncoderDecoder = (folder: string) =>
  JSON.parse(readFileSync(join(FIXTURES, folder, 'config.json'), 'utf8')).is_encoder_decoder === true
const FOLDERS = ['transformers', 'variants'].flatMap((root) =>
  readdirSync(join(FIXTURES, root), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(root, entry.name))
    .filter((folder) => !isEncoderDecoder(folder)),
)
const IDS = [3, 17, 5, 9, 21, 5, 9]

const largest = (dla: Dla) => Math.max(...dla.components.map(({ value }) => Math.abs(value)))

test.each(FOLDERS)('%s', async (folder) => {
  const model = await openModel(join(FIXTURES, folder))
  if (model.spec.headTransform) {
    const none = await directLogitAttribution(model, IDS, { answer: 4 })
    expect(none).toMatchObject({ components: [], sum: null, logit: null })
    expect(none.why).toContain('activation')
    await model.close()
    return
  }
  const { logits } = model.spec
  for (const options of [{ answer: 4 }, { answer: model.spec.dVocab - 1, wrong: 7, pos: 3 }]) {
    const dla = await directLogitAttribution(model, IDS, { ...options, sources: true })
    expect(Math.abs(dla.sum! - dla.logit!) / Math.abs(dla.logit!)).toBeLessThan(1e-4)
    // The logit is the engine's own.
    const own = (await model.run(IDS, { capture: ['logits'] })).get('logits').data
    const at = dla.pos * model.spec.dVocab
    const difference = own[at + dla.answer]! - (dla.wrong === null ? 0 : own[at + dla.wrong]!)
    expect(dla.logit_after_cap).toBeCloseTo(difference, 4)
    if (logits.softcap === null) expect(dla.logit).toBeCloseTo(difference, 4)
    // Every head is the sum over its sources, and later positions give nothing.
    for (const { layer, head, values } of dla.sources) {
      const whole = dla.components.find((one) => one.layer === layer && one.head === head)!
      const sum = values.reduce((total, value) => total + value, 0)
      expect(Math.abs(sum - whole.value)).toBeLessThan(1e-5 * largest(dla))
      expect(values.slice(dla.pos + 1).every((value) => value === 0)).toBe(true)
    }
    // b_V moved to b_O: the same sum.
    const folded = await directLogitAttribution(model, IDS, { ...options, valueBias: 'bias' })
    expect(Math.abs(folded.sum! - dla.sum!)).toBeLessThan(1e-5 * largest(dla))
  }
  await model.close()
})

test('the hand-built induction head gives the whole logit', async () => {
  const folder = join(FIXTURES, 'constructed')
  const expected = JSON.parse(readFileSync(join(folder, 'expect.json'), 'utf8'))
  const { sequence, pos, token, logit, rows } = expected.direct_logit_attribution
  const model = await openModel(join(folder, 'induction-exact'))
  const dla = await directLogitAttribution(model, expected.sequences[sequence].ids, { answer: token, pos })
  for (const [name, value] of Object.entries<number>(rows))
    expect(dla.components.find((one) => one.name === name)!.value, name).toBeCloseTo(value, 4)
  expect(dla.logit).toBeCloseTo(logit, 4)
  expect(dla.sum).toBeCloseTo(logit, 4)
  await model.close()
})

test('edits act, and what is not there is refused', async () => {
  const model = await openModel(join(FIXTURES, 'transformers', 'llama-gqa'))
  const edits = [{ hook: 'blocks.1.attn.hook_z', head: 2, op: 'zero' as const }]
  const cut = await directLogitAttribution(model, IDS, { answer: 4, edits })
  expect(cut.components.find(({ name }) => name === 'L1H2')!.value).toBe(0)
  expect(Math.abs(cut.sum! - cut.logit!)).toBeLessThan(1e-4)
  await expect(directLogitAttribution(model, IDS, { answer: -1 })).rejects.toThrow('The answer -1')
  await expect(directLogitAttribution(model, IDS, { answer: 4, pos: 7 })).rejects.toThrow('no position 7')
  await expect(directLogitAttribution(model, [], { answer: 4 })).rejects.toThrow('empty')
  await model.close()
})
