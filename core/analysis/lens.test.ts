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

/** A model's end in plain float64: norm with its own statistics, product, cap. */
const ENDS = {
  'gpt2-prefixed': { gain: 'ln_f.weight', bias: 'ln_f.bias', matrix: 'wte.weight' },
  'gemma2-softcap': { gain: 'norm.weight', bias: null, matrix: 'embed_tokens.weight' },
  'granite-multipliers': { gain: 'norm.weight', bias: null, matrix: null },
} as const

test.each(Object.entries(ENDS))(
  '%s: early rows are the end of the model on an early residual',
  async (name, end) => {
    const model = await openModel(join(FIXTURES, 'transformers', name))
    const { norm, logits, dModel, dVocab } = model.spec
    const [ids] = PROMPTS as [number[], number[]]
    const run = await model.run(ids, { capture: ['blocks.1.hook_resid_pre'] })
    const resid = run.get('blocks.1.hook_resid_pre').data
    let full: Float32Array = new Float32Array(0)
    await logitLens(model, [ids], {
      layers: [1],
      onLogits: (_, { data }) => {
        full = data
      },
    })
    const gain = model.weight(end.gain)
    const bias = end.bias ? model.weight(end.bias) : null
    const matrix = model.weight(end.matrix ?? model.engine().matrix)
    for (let pos = 0; pos < ids.length; pos++) {
      const row = Array.from(resid.subarray(pos * dModel, (pos + 1) * dModel))
      const mean = norm.kind === 'layer' ? row.reduce((a, b) => a + b, 0) / dModel : 0
      const scale = Math.sqrt(row.reduce((sum, x) => sum + (x - mean) ** 2, 0) / dModel + norm.eps)
      const read = row.map(
        (x, d) => ((x - mean) / scale) * (gain[d]! + (norm.gainMinusOne ? 1 : 0)) + (bias ? bias[d]! : 0),
      )
      for (let id = 0; id < dVocab; id += 7) {
        const product = read.reduce((sum, x, d) => sum + x * matrix[id * dModel + d]!, 0) * logits.scale
        const cap = logits.softcap
        expect(full[pos * dVocab + id]).toBeCloseTo(
          cap === null ? product : cap * Math.tanh(product / cap),
          4,
        )
      }
    }
    await model.close()
  },
)

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
