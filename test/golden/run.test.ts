/** What a run must keep: bits under hooks and no-op edits, items alone or together, restarts, decode, failures. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { baseRun, type Edit, type Model, openModel, restart, scanHeads } from '../../core/index.ts'
import { FIXTURES, relativeError } from '../support/golden.ts'

const CASES = [
  'gpt2-prefixed',
  'neox-parallel',
  'neox-serial',
  'llama-gqa',
  'gpt-neo-local-global',
  'gptj-interleaved',
  'bloom-alibi',
  'falcon-new-arch',
  'phi3-fused',
  'gemma2-softcap',
  'gemma3-local-global',
  'olmo-clip',
  'olmo2-postnorm',
  'qwen3-qknorm-sharded',
  'cohere-interleaved',
  'granite-multipliers',
  'qwen2-moe-shared',
]
const PROMPT = [5, 9, 11, 3, 9, 11, 7, 20, 5, 9]

const bits = (data: Float32Array) => Buffer.from(data.buffer, data.byteOffset, data.byteLength)

describe.each(CASES)('%s', (name) => {
  let model: Model
  let clean: Float32Array
  beforeAll(async () => {
    model = await openModel(join(FIXTURES, 'transformers', name))
    clean = (await model.run(PROMPT, { capture: ['logits'] })).get('logits').data
  })
  afterAll(() => model.close())

  test('hooks change no bit', async () => {
    const hooked = await model.run(PROMPT, { capture: ['*', 'logits'] })
    expect(bits(hooked.get('logits').data).equals(bits(clean))).toBe(true)
  })

  test('no-op edits change no bit', async () => {
    const edits: Edit[] = [
      { hook: 'blocks.0.hook_resid_pre', op: 'scale', by: 1 },
      { hook: 'blocks.0.attn.hook_attn_scores', op: 'add', value: 0 },
      { hook: 'blocks.1.attn.hook_z', head: 1, op: 'scale', by: 1 },
      { hook: 'blocks.1.attn.hook_z', op: 'set', from: { ids: PROMPT } },
      { hook: 'blocks.1.hook_resid_post', op: 'set', from: { item: 0 } },
    ]
    // The sources are taken from unedited runs, so each edit writes what is there already.
    const edited = await model.run(PROMPT, { capture: ['logits'], edits })
    expect(bits(edited.get('logits').data).equals(bits(clean))).toBe(true)
  })

  test('each item of an unequal batch equals its run alone', async () => {
    const batch = [PROMPT, PROMPT.slice(0, 4), [...PROMPT, 1, 2, 3]]
    const capture = ['*attn.hook_pattern', '*hook_resid_post', 'logits']
    const together = await model.run(batch, { capture })
    for (const [item, ids] of batch.entries()) {
      const alone = await model.run(ids, { capture })
      expect(together.items[item]!.loss).toBeCloseTo(alone.items[0]!.loss!, 4)
      for (const hook of alone.captured) {
        const single = alone.get(hook)
        const ours = own(together.get(hook), item, single.shape)
        expect(relativeError(ours, single.data), hook).toBeLessThan(1e-5)
      }
    }
  })

  test('padding is 0', async () => {
    const run = await model.run([PROMPT, [1, 2]], { capture: ['blocks.0.attn.hook_pattern'] })
    const { data, shape } = run.get('blocks.0.attn.hook_pattern')
    const [, heads, queries, keys] = shape as [number, number, number, number]
    for (let head = 0; head < heads; head++)
      for (let query = 0; query < queries; query++)
        for (let key = 0; key < keys; key++)
          if (query > 1 || key > 1) expect(data[((heads + head) * queries + query) * keys + key]).toBe(0)
  })

  test('a restart from a block border and position is bit-identical', async () => {
    const engine = model.engine()
    const base = await baseRun(engine, [PROMPT])
    for (const [layer, pos] of [
      [0, 0],
      [1, 3],
      [1, 8],
    ] as const) {
      const state = await restart(engine, base, { layer, pos, edits: [] })
      const whole = base.borders.at(-1)!.get('resid')!
      const width = whole.shape[2]!
      const [ours, theirs] = [state.get('resid')!.data, whole.data.slice(pos * width)]
      // An expert that sees one row takes another kernel.
      if (model.spec.stacks[0]!.layers[0]!.experts) expect(relativeError(ours, theirs)).toBeLessThan(1e-5)
      else expect(bits(ours).equals(bits(theirs))).toBe(true)
    }
  })

  test('decode with the cache gives the logits of one pass', async () => {
    const { ids, logProbs } = await model.generate(PROMPT, { max: 6 })
    const whole = await model.run([...PROMPT, ...ids], {})
    ids.forEach((_, step) => {
      expect(whole.items[0]!.positions[PROMPT.length - 1 + step]!.loss).toBeCloseTo(-logProbs[step]!, 4)
    })
  })

  test('chunks of query rows give the same numbers', async () => {
    const small = await openModel(join(FIXTURES, 'transformers', name), {
      scoreBudget: 3 * 6 * 4 * PROMPT.length,
    })
    const capture = ['*', 'logits']
    const whole = await model.run(PROMPT, { capture })
    const chunked = await small.run(PROMPT, { capture })
    for (const hook of whole.captured)
      expect(relativeError(chunked.get(hook).data, whole.get(hook).data), hook).toBeLessThan(1e-5)
    await small.close()
  })

  test('after a failed and a cancelled run a clean one is bit-identical', async () => {
    const bad: Edit = { hook: 'blocks.1.attn.hook_z', head: 99, op: 'zero' }
    await expect(model.run(PROMPT, { edits: [bad] })).rejects.toThrow('There is no head 99')
    const controller = new AbortController()
    const run = model.run(PROMPT, {
      capture: ['*'],
      signal: controller.signal,
      onCapture: (hook) => {
        if (hook.startsWith('blocks.0')) controller.abort()
      },
    })
    await expect(run).rejects.toThrow('cancelled')
    const failing = model.run(PROMPT, {
      capture: ['*'],
      onCapture: () => {
        throw new Error('the disk is gone')
      },
    })
    await expect(failing).rejects.toThrow('the disk is gone')
    const again = await model.run(PROMPT, { capture: ['logits'] })
    expect(bits(again.get('logits').data).equals(bits(clean))).toBe(true)
  })
})

describe('bert-mlm', () => {
  let model: Model
  beforeAll(async () => {
    model = await openModel(join(FIXTURES, 'transformers', 'bert-mlm'))
  })
  afterAll(() => model.close())

  test('hooks and no-op edits change no bit', async () => {
    const clean = await model.run(PROMPT, { capture: ['logits'] })
    const edits: Edit[] = [
      { hook: 'blocks.0.hook_resid_pre', op: 'scale', by: 1 },
      { hook: 'blocks.0.attn.hook_attn_scores', op: 'add', value: 0 },
      { hook: 'blocks.1.hook_resid_mid', op: 'set', from: { item: 0 } },
      { hook: 'blocks.2.attn.hook_z', head: 1, op: 'scale', by: 1 },
    ]
    const hooked = await model.run(PROMPT, { capture: ['*', 'logits'] })
    const edited = await model.run(PROMPT, { capture: ['logits'], edits })
    for (const run of [hooked, edited])
      expect(bits(run.get('logits').data).equals(bits(clean.get('logits').data))).toBe(true)
  })

  test('each item of an unequal batch equals its run alone, with its own token types', async () => {
    const batch = [PROMPT, PROMPT.slice(0, 4)]
    const tokenTypes = [PROMPT.map((_, i) => (i < 5 ? 0 : 1)), [0, 1, 1, 0]]
    const capture = ['*attn.hook_pattern', '*hook_resid_post', 'logits']
    const together = await model.run(batch, { capture, tokenTypes })
    for (const [item, ids] of batch.entries()) {
      const alone = await model.run(ids, { capture, tokenTypes: [tokenTypes[item]!] })
      for (const hook of alone.captured) {
        const single = alone.get(hook)
        expect(relativeError(own(together.get(hook), item, single.shape), single.data), hook).toBeLessThan(
          1e-5,
        )
      }
    }
    const untyped = await model.run(PROMPT, { capture: ['logits'] })
    const typed = await model.run(PROMPT, { capture: ['logits'], tokenTypes: [tokenTypes[0]!] })
    expect(relativeError(typed.get('logits').data, untyped.get('logits').data)).toBeGreaterThan(1e-2)
  })

  test('it predicts no next token: no loss', async () => {
    const run = await model.run(PROMPT)
    expect(run.items[0]!.loss).toBeNull()
    expect(
      run.items[0]!.positions.every((position) => position.loss === null && position.top.length > 0),
    ).toBe(true)
  })

  test('what does not fit a bidirectional model is refused in a sentence', async () => {
    const engine = model.engine()
    const base = await baseRun(engine, [PROMPT])
    await expect(restart(engine, base, { layer: 1, pos: 3, edits: [] })).rejects.toThrow(
      'restart from position 0',
    )
    await expect(scanHeads(model)).rejects.toThrow('bidirectional')
    await expect(model.run(PROMPT, { tokenTypes: [[0, 1]] })).rejects.toThrow('10 tokens, but 2 token types')
    await expect(model.run([1], { tokenTypes: [[2]] })).rejects.toThrow('token type 2')
    const decoder = await openModel(join(FIXTURES, 'transformers', 'llama-gqa'))
    await expect(decoder.run([1], { tokenTypes: [[0]] })).rejects.toThrow('know no token types')
    await decoder.close()
  })
})

describe('experts', () => {
  test('the chosen ones, their weights, and what an edit of either does', async () => {
    const model = await openModel(join(FIXTURES, 'transformers', 'mixtral-moe'))
    const mlp = 'blocks.0.mlp'
    const capture = [`${mlp}.*`, 'blocks.0.hook_mlp_out']
    const run = await model.run(PROMPT, { capture })
    const logits = run.get(`${mlp}.hook_router_logits`)
    const indices = run.get(`${mlp}.hook_expert_indices`)
    const weights = run.get(`${mlp}.hook_expert_weights`)
    expect([logits.shape, indices.shape, weights.shape]).toEqual([
      [1, 10, 4],
      [1, 10, 2],
      [1, 10, 4],
    ])
    for (let pos = 0; pos < PROMPT.length; pos++) {
      const row = Array.from(logits.data.subarray(pos * 4, pos * 4 + 4))
      const best = [0, 1, 2, 3].sort((a, b) => row[b]! - row[a]! || a - b).slice(0, 2)
      expect(Array.from(indices.data.subarray(pos * 2, pos * 2 + 2))).toEqual(best)
      const total = best.reduce((sum, expert) => sum + Math.exp(row[expert]!), 0)
      for (let expert = 0; expert < 4; expert++) {
        const share = best.includes(expert) ? Math.exp(row[expert]!) / total : 0
        expect(weights.data[pos * 4 + expert]).toBeCloseTo(share, 5)
      }
    }
    const silent = await model.run(PROMPT, {
      capture,
      edits: [{ hook: `${mlp}.hook_expert_weights`, op: 'zero' }],
    })
    expect(silent.get('blocks.0.hook_mlp_out').data.every((value) => value === 0)).toBe(true)
    const forced = await model.run(PROMPT, {
      capture,
      edits: [{ hook: `${mlp}.hook_expert_indices`, op: 'zero' }],
    })
    expect(Array.from(forced.get(`${mlp}.hook_expert_weights`).data.subarray(0, 4).slice(1))).toEqual([
      0, 0, 0,
    ])
    await model.close()
  })

  test('equal router logits: the lowest numbers are chosen', async () => {
    const model = await openModel(join(FIXTURES, 'transformers', 'qwen3-moe'))
    const capture = ['blocks.0.mlp.hook_expert_indices']
    const edits: Edit[] = [{ hook: 'blocks.0.mlp.hook_router_logits', op: 'zero' }]
    const run = await model.run(PROMPT, { capture, edits })
    expect(Array.from(run.get(capture[0]!).data)).toEqual(PROMPT.flatMap(() => [0, 1]))
    await model.close()
  })
})

describe('gpt2 with and without prefix', () => {
  test('same logits, same content hash', async () => {
    const [a, b] = await Promise.all([
      openModel(join(FIXTURES, 'transformers', 'gpt2-prefixed')),
      openModel(join(FIXTURES, 'transformers', 'gpt2-bare-buffers')),
    ])
    const logits = async (model: Model) =>
      (await model.run(PROMPT, { capture: ['logits'] })).get('logits').data
    expect(bits(await logits(a)).equals(bits(await logits(b)))).toBe(true)
    expect((await a.contentHash()).hash).toBe((await b.contentHash()).hash)
  })
})

/** One item's own part of a right-padded capture, in the shape that it has alone. */
function own(
  tensor: { data: Float32Array; shape: readonly number[] },
  item: number,
  shape: readonly number[],
): Float32Array {
  const out = new Float32Array(shape.reduce((a, b) => a * b, 1))
  const index = new Array<number>(shape.length).fill(0)
  for (let flat = 0; flat < out.length; flat++) {
    const at = index.reduce((sum, i, axis) => sum * tensor.shape[axis]! + (axis === 0 ? item : i), 0)
    out[flat] = tensor.data[at]!
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      if (++index[axis]! < shape[axis]!) break
      index[axis] = 0
    }
  }
  return out
}
