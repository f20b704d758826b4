/** Lengths of values, alone and through W_O, against TransformerLens's values and the files' own matrices in float64. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Model, openModel, VALUE_WEIGHTED, valueNorms } from '../../core/index.ts'
import { FIXTURES, idRows, readGolden, relativeError } from '../support/golden.ts'

/** W_O [head · d_head, d_model] of a layer, as the file has it: GPT-2 stores it so, Llama the other way round. */
const OUTPUTS = {
  gpt2: { name: (layer: number) => `transformer.h.${layer}.attn.c_proj.weight`, transposed: false },
  llama: { name: (layer: number) => `model.layers.${layer}.self_attn.o_proj.weight`, transposed: true },
}

describe.each(['gpt2', 'llama'] as const)('%s', (name) => {
  const golden = readGolden('transformerlens', name, 'tl_cache_legacy.safetensors')
  const weights = readGolden('transformerlens', name, 'model.safetensors')
  const ids = idRows(golden.get('input_ids')!)[0]!
  let model: Model
  beforeAll(async () => {
    model = await openModel(join(FIXTURES, 'transformerlens', name))
  })
  afterAll(() => model.close())

  /** Norms in float64 from values that TransformerLens captured. */
  function reference(kind: 'value' | 'output', layers: number, heads: number): number[] {
    const out: number[] = []
    for (let layer = 0; layer < layers; layer++) {
      const { data, shape } = golden.get(`blocks.${layer}.attn.hook_v`)!
      const v = data as Float32Array
      const [, length, kvHeads, dHead] = shape as [number, number, number, number]
      const { name: tensor, transposed } = OUTPUTS[name]
      const w = weights.get(tensor(layer))!.data as Float32Array
      const rows = heads * dHead
      const dModel = w.length / rows
      for (let head = 0; head < heads; head++)
        for (let pos = 0; pos < length; pos++) {
          const at = (pos * kvHeads + Math.floor(head / (heads / kvHeads))) * dHead
          const own = Array.from({ length: dHead }, (_, d) => v[at + d]!)
          const moved = Array.from({ length: dModel }, (_, m) =>
            own.reduce((sum, value, d) => {
              const row = head * dHead + d
              return sum + value * w[transposed ? m * rows + row : row * dModel + m]!
            }, 0),
          )
          out.push(Math.hypot(...(kind === 'value' ? own : moved)))
        }
    }
    return out
  }

  test.each(['value', 'output'] as const)('|%s| of every head and position', async (kind) => {
    const { layers, heads, length, data, definition } = await valueNorms(model, ids, { kind })
    expect(definition).toBe(VALUE_WEIGHTED[kind])
    expect(data).toHaveLength(layers * heads * length)
    expect(relativeError(data, reference(kind, layers, heads))).toBeLessThan(1e-4)
  })

  test('the first token looks at itself alone: what it writes is as long as its norm', async () => {
    const { layers, heads, length, data } = await valueNorms(model, ids, { kind: 'output' })
    const { data: result, shape } = golden.get('blocks.0.attn.hook_result')! // [1, pos, head, d_model]
    const dModel = shape[3]!
    expect(layers).toBeGreaterThan(1)
    for (let head = 0; head < heads; head++) {
      const written = (result as Float32Array).subarray(head * dModel, (head + 1) * dModel)
      expect(data[head * length]).toBeCloseTo(Math.hypot(...written), 4)
    }
  })

  test('edits of values act: a head whose values are 0 has nothing to move', async () => {
    const edits = [{ hook: 'blocks.1.attn.hook_v', kv_head: 0, pos: 3, op: 'zero' as const }]
    const plain = await valueNorms(model, ids)
    const edited = await valueNorms(model, ids, { edits })
    const at = (norms: typeof plain, head: number, pos: number) =>
      norms.data[(norms.heads + head) * norms.length + pos]!
    expect(at(edited, 0, 3)).toBe(0)
    expect(at(edited, 0, 4)).toBe(at(plain, 0, 4))
    expect(at(plain, 0, 3)).toBeGreaterThan(0)
  })
})

test('an encoder–decoder is refused in a sentence', async () => {
  const model = await openModel(join(FIXTURES, 'encoder-decoder', 't5-gated-untied'))
  await expect(valueNorms(model, [5, 6])).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringMatching(/also reads an encoder/),
  })
  await model.close()
})
