/** Which of two rotary values counts, and settings that are refused. */
import { describe, expect, test } from 'vitest'
import type { RawConfig } from '../checkpoint/types.ts'
import { readFamily } from './index.ts'

const read = (config: RawConfig, model_type = 'llama') =>
  readFamily({ model_type, hidden_size: 64, num_attention_heads: 4, num_key_value_heads: 4, ...config })
const rope = (config: RawConfig, model_type?: string) => read(config, model_type).spec.ropes[0]!

describe('two dialects', () => {
  test('version 4 and version 5 say the same', () => {
    const old = rope({ rope_theta: 500, rope_scaling: { type: 'linear', factor: 2 } })
    const now = rope({ rope_parameters: { rope_type: 'linear', rope_theta: 500, factor: 2 } })
    expect(old).toEqual(now)
    expect(now).toMatchObject({ theta: 500, scaling: { type: 'linear', factor: 2 } })
  })

  test('what stands inside rope_parameters wins, with a warning', () => {
    const model = read({ rope_theta: 100, rope_parameters: { rope_type: 'default', rope_theta: 500 } })
    expect(model.spec.ropes[0]!.theta).toBe(500)
    expect(model.warnings).toEqual([expect.stringContaining('rope_parameters.rope_theta counts')])
  })

  test('rope_scaling wins over rope_parameters, with a warning', () => {
    const scaling = { rope_type: 'linear', factor: 4 }
    const model = read({ rope_scaling: scaling, rope_parameters: { rope_type: 'default' } })
    expect(model.spec.ropes[0]!.scaling).toEqual({ type: 'linear', factor: 4 })
    expect(model.warnings).toEqual([expect.stringContaining('rope_scaling counts')])
    expect(read({ rope_scaling: scaling, rope_parameters: scaling }).warnings).toEqual([])
  })

  test('the length before scaling stands inside, at top level (which counts), or is max_position_embeddings', () => {
    const yarn = { rope_type: 'yarn', factor: 4 }
    const original = (config: RawConfig) => (rope(config).scaling as { original: number }).original
    const inside = { ...yarn, original_max_position_embeddings: 16 }
    expect(original({ rope_scaling: inside })).toBe(16)
    expect(original({ rope_scaling: inside, original_max_position_embeddings: 32 })).toBe(32)
    expect(original({ rope_scaling: yarn, max_position_embeddings: 64 })).toBe(64)
  })

  test('Gemma 3: one rope a kind of layer, in both dialects', () => {
    const old = read(
      { rope_theta: 5e5, rope_local_base_freq: 100, rope_scaling: { rope_type: 'linear', factor: 8 } },
      'gemma3_text',
    )
    const now = read(
      {
        rope_parameters: {
          full_attention: { rope_type: 'linear', factor: 8, rope_theta: 5e5 },
          sliding_attention: { rope_type: 'default', rope_theta: 100 },
        },
      },
      'gemma3_text',
    )
    expect(old.spec.ropes).toEqual(now.spec.ropes)
    expect(now.spec.ropes.map(({ theta, scaling }) => [theta, scaling.type])).toEqual([
      [5e5, 'linear'],
      [100, 'default'],
    ])
    expect(() => read({ rope_parameters: { rope_theta: 5 } }, 'gemma3_text')).toThrow(
      'full_attention and sliding_attention',
    )
  })

  test('Phi 3 calls longrope su and yarn, and has no other', () => {
    const factors = { short_factor: new Array(8).fill(1), long_factor: new Array(8).fill(2) }
    const named = (type: string) => rope({ rope_scaling: { type, ...factors } }, 'phi3').scaling
    expect(named('su')).toEqual(named('longrope'))
    expect(named('yarn')).toMatchObject({ type: 'longrope', original: 4096, attention: 1 })
    expect(() => rope({ rope_scaling: { type: 'linear', factor: 2 } }, 'phi3')).toThrow('rope_type linear')
  })
})

describe('settings that cannot be', () => {
  test.each([
    [{ rope_scaling: { rope_type: 'spiral' } }, '"spiral"'],
    [{ rope_scaling: { rope_type: 'linear' } }, 'factor'],
    [
      { rope_scaling: { rope_type: 'longrope', short_factor: [1], long_factor: [1] } },
      'must be 8 numbers above 0',
    ],
    [{ rope_scaling: 5 }, 'rope_scaling must be an object'],
    [{ rope_parameters: { full_attention: { rope_theta: 5 } } }, 'full_attention'],
    [{ rope_parameters: { partial_rotary_factor: 0.5 } }, 'rotates whole heads'],
    [{ head_dim: 7 }, 'turns pairs'],
  ])('%j', (config, words) => {
    expect(() => rope(config)).toThrow(words)
  })
})
