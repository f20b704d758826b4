/** The in-context-learning score of a model, against losses from its logits in float64. */
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createRandom } from '../../random.ts'
import { type Model, openModel } from '../../run/model.ts'
import { scanHeads } from '../scan.ts'

const FOLDER = join(import.meta.dirname, '../../../test/fixtures/scores/llama')
let folder: string
let model: Model

/** The fixture with room for long documents. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headscope-icl-'))
  for (const name of readdirSync(FOLDER)) copyFileSync(join(FOLDER, name), join(folder, name))
  const config = JSON.parse(readFileSync(join(FOLDER, 'config.json'), 'utf8'))
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ ...config, max_position_embeddings: 1024 }))
  model = await openModel(folder)
})
afterAll(async () => {
  await model.close()
  rmSync(folder, { recursive: true })
})

function documents(lengths: readonly number[]): number[][] {
  const random = createRandom(3)
  return lengths.map((length) =>
    Array.from({ length }, () => 1 + Math.floor(random.next() * (model.spec.dVocab - 1))),
  )
}

/** −log p of the n-th token of a document (from 1), without BOS in front. */
async function lossOf(ids: readonly number[], n: number): Promise<number> {
  const { dVocab } = model.spec
  const { data } = (await model.run(ids, { capture: ['logits'] })).get('logits')
  const row = Array.from(data.subarray((n - 2) * dVocab, (n - 1) * dVocab))
  const most = Math.max(...row)
  return most + Math.log(row.reduce((sum, logit) => sum + Math.exp(logit - most), 0)) - row[ids[n - 1]!]!
}

test('loss of the 500th token minus that of the 50th, over the documents that are long enough', async () => {
  const prompts = documents([500, 510, 60, 505, 500, 520, 499])
  const { ofModel } = await scanHeads(model, { scores: ['icl'], length: 4, batch: 2, prompts })
  const long = prompts.filter(({ length }) => length >= 500)
  const differences = await Promise.all(
    long.map(async (ids) => (await lossOf(ids, 500)) - (await lossOf(ids, 50))),
  )
  const mean = differences.reduce((a, b) => a + b, 0) / differences.length
  expect(Math.abs(mean)).toBeGreaterThan(0.01) // a random model, but no accident of zero
  expect(ofModel!.icl).toMatchObject({ n: 5 })
  expect(ofModel!.icl!.value!).toBeCloseTo(mean, 5)
  expect(ofModel!.icl!.low!).toBeLessThan(mean)
  expect(ofModel!.icl!.high!).toBeGreaterThan(mean)
})

test('without a long document it is blank with the reason', async () => {
  const prompts = documents([499])
  const { ofModel } = await scanHeads(model, { scores: ['icl'], length: 4, batch: 2, prompts })
  expect(ofModel!.icl).toMatchObject({ value: null, why: expect.stringMatching(/no prompt of 500 tokens/) })
})
