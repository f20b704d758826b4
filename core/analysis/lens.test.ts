/** The lens on checkpoints of every kind of ending: norm, scale, cap, bias, projection, transform. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openModel } from '../run/model.ts'
import { logitLens } from './lens.ts'

const FIXTURES = join(import.meta.dirname, '..', '..', 'test', 'fixtures')
const isEncoderDecoder = (folder: string) =>
  JSON.parse(readFileSync(join(FIXTURES, folder, 'config.json'), 'utf8')).is_encoder_decoder === true
const FOLDERS = ['transformers', 'variants'].flatMap((root) =>
  readdirSync(join(FIXTURES, root), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(root, entry.name))
    .filter((folder) => !isEncoderDecoder(folder)),
)
const PROMPTS = [
  [3, 17, 5, 9, 21, 5, 9],
  [4, 4, 8],
]

/** log Σ e^x in float64. */
const logSumExp = (row: Float32Array) => {
  const most = Math.max(...row)
  return most + Math.log(row.reduce((sum, value) => sum + Math.exp(value - most), 0))
}

test.each(FOLDERS)('%s: the last row is the model’s own output', async (folder) => {
  const model = await openModel(join(FIXTURES, folder))
  const layers = model.spec.stacks.at(-1)!.layers.length
  const own = await model.run(PROMPTS, { capture: ['logits'] })
  const full: Float32Array[] = []
  const lens = await logitLens(model, PROMPTS, {
    answer: 5,
    onLogits: (_, logits) => {
      full.push(logits.data)
    },
  })
  expect(lens.layers.map((row) => row.layer)).toEqual(Array.from({ length: layers + 1 }, (_, l) => l))
  const logits = own.get('logits')
  const [, rows, vocab] = logits.shape as [number, number, number]
  const largest = Math.max(...logits.data.map(Math.abs))
  full.at(-1)!.forEach((value, i) => {
    if (Math.abs(value - logits.data[i]!) > 1e-5 * largest) throw new Error(`logit ${i} differs`)
  })
  for (const cell of lens.layers.at(-1)!.positions) {
    const position = own.items[cell.item]!.positions[cell.pos]!
    expect(cell.top.map((one) => one.id)).toEqual(position.top.map((one) => one.id))
    if (position.loss !== null) expect(cell.loss).toBeCloseTo(position.loss, 5)
  }
  // Entropy and rank of an early row, from its full logits.
  for (const cell of lens.layers[1]!.positions) {
    const at = (cell.item * rows + cell.pos) * vocab
    const row = full[1]!.subarray(at, at + vocab)
    const sum = logSumExp(row)
    const entropy = row.reduce((total, value) => total - Math.exp(value - sum) * (value - sum), 0)
    expect(cell.entropy).toBeCloseTo(entropy, 4)
    expect(cell.rank).toBe(row.filter((value) => value > row[5]!).length)
    expect(cell.prob).toBeCloseTo(Math.exp(row[5]! - sum), 5)
  }
  await model.close()
})

test('only the wanted layers and positions are read; wrong ones are refused', async () => {
  const model = await openModel(join(FIXTURES, 'transformers', 'llama-gqa'))
  const some = await logitLens(model, PROMPTS, { layers: [1], positions: [-1], top: 2 })
  expect(some.layers).toHaveLength(1)
  expect(some.layers[0]!.positions.map(({ item, pos, top }) => [item, pos, top.length])).toEqual([
    [0, 6, 2],
    [1, 2, 2],
  ])
  await expect(logitLens(model, PROMPTS, { layers: [9] })).rejects.toThrow('no border 9')
  await expect(logitLens(model, PROMPTS, { positions: [5] })).rejects.toThrow('Prompt 1 has no position 5')
  await expect(logitLens(model, PROMPTS, { answer: 1e6 })).rejects.toThrow('not a token id')
  await expect(logitLens(model, [[]])).rejects.toThrow('empty')
  await model.close()
})
