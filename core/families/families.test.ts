/** Rules of configs that checkpoints get wrong: which key counts, what is refused by name, what a warning says. */
import { describe, expect, test } from 'vitest'
import type { RawConfig } from '../checkpoint/types.ts'
import { readFamily } from './index.ts'

const read = (model_type: string, config: RawConfig = {}) => readFamily({ model_type, ...config })
const first = (model_type: string, config: RawConfig = {}) =>
  read(model_type, config).spec.stacks[0]!.layers[0]!
const windows = (model_type: string, config: RawConfig) =>
  read(model_type, config).spec.stacks[0]!.layers.map((layer) => layer.window)

describe('activations', () => {
  test.each([
    ['gpt2', {}, 'gelu_tanh'],
    ['gpt_neox', {}, 'gelu'],
    ['gemma', {}, 'gelu_tanh'],
    ['gemma', { hidden_act: 'gelu' }, 'gelu_tanh'],
    ['gemma', { hidden_act: 'gelu', hidden_activation: null }, 'gelu_tanh'],
    ['gemma2', {}, 'gelu_tanh'],
    ['bloom', {}, 'gelu_tanh'],
    ['falcon', {}, 'gelu'],
    ['opt', {}, 'relu'],
    ['bert', {}, 'gelu'],
    ['llama', { hidden_act: 'gelu' }, 'gelu'],
  ] as const)('%s %j is %s', (family, config, act) => {
    expect(first(family, config).act).toBe(act)
    expect(read(family, config).warnings).toEqual([])
  })

  test('hidden_activation wins over a hidden_act that means something else, with a warning', () => {
    const model = read('gemma', { hidden_act: 'relu', hidden_activation: 'gelu_pytorch_tanh' })
    expect(model.spec.stacks[0]!.layers[0]!.act).toBe('gelu_tanh')
    expect(model.warnings).toEqual([expect.stringContaining('hidden_activation counts')])
    const second = read('gemma2', { hidden_act: 'silu' })
    expect(second.spec.stacks[0]!.layers[0]!.act).toBe('gelu_tanh')
    expect(second.warnings).toEqual([expect.stringContaining('hidden_activation counts')])
  })

  test('an unknown one is refused by name', () => {
    expect(() => read('llama', { hidden_act: 'mish' })).toThrow('hidden_act is "mish"')
    expect(() => read('gemma3_text', { hidden_activation: 'mish' })).toThrow('hidden_activation is "mish"')
  })
})

describe('sizes', () => {
  test('n_inner of GPT-2, or 4 · n_embd', () => {
    expect(first('gpt2', { n_embd: 48, n_head: 4, n_inner: 20 }).dMlp).toBe(20)
    expect(first('gpt2', { n_embd: 48, n_head: 4, n_inner: null }).dMlp).toBe(192)
  })

  test('head_dim as the config says, or hidden_size / heads', () => {
    const sizes = { hidden_size: 48, num_attention_heads: 4, num_key_value_heads: 2 }
    expect(first('mistral', { ...sizes, head_dim: 16 })).toMatchObject({ dHead: 16, scoreScale: 0.25 })
    expect(first('mistral', { ...sizes, head_dim: null }).dHead).toBe(12)
    expect(first('qwen3', sizes).dHead).toBe(128)
    expect(first('qwen3_moe', sizes).dHead).toBe(12)
    expect(() => first('llama', { ...sizes, hidden_size: 50 })).toThrow('does not divide')
  })

  test('scores of Gemma 2 and Granite have a scale of their own', () => {
    expect(first('gemma2', { query_pre_attn_scalar: 8 }).scoreScale).toBe(8 ** -0.5)
    expect(first('granite', { attention_multiplier: 0.6 }).scoreScale).toBe(0.6)
    expect(first('gpt_neo').scoreScale).toBe(1)
  })

  test('other spellings of a key are read, and a difference is a warning', () => {
    expect(read('bloom', { n_embed: 32, num_attention_heads: 4 }).spec).toMatchObject({ dModel: 32 })
    expect(read('gpt2', { hidden_size: 96 }).spec.dModel).toBe(96)
    expect(first('qwen3_moe', { num_local_experts: 9 }).experts!.count).toBe(9)
    const both = read('mixtral', { num_local_experts: 4, num_experts: 6 })
    expect(both.spec.stacks[0]!.layers[0]!.experts!.count).toBe(4)
    expect(both.warnings).toEqual([expect.stringContaining('num_local_experts counts')])
  })

  test('a token cannot use more experts than there are', () => {
    expect(() => read('olmoe', { num_experts: 4, num_experts_per_tok: 5 })).toThrow(
      'num_experts_per_tok is 5',
    )
  })
})

describe('windows and layers', () => {
  test('Qwen 2 uses its window only when use_sliding_window is on', () => {
    const config = { num_hidden_layers: 3, sliding_window: 8, max_window_layers: 1 }
    expect(windows('qwen2', config)).toEqual([null, null, null])
    expect(windows('qwen2', { ...config, use_sliding_window: true })).toEqual([null, 8, 8])
  })

  test('Gemma 2 alternates; Gemma 3 follows layer_types, or its pattern', () => {
    expect(windows('gemma2', { num_hidden_layers: 3, sliding_window: 4 })).toEqual([4, null, 4])
    const pattern = { num_hidden_layers: 4, sliding_window: 4, sliding_window_pattern: 2 }
    expect(windows('gemma3_text', pattern)).toEqual([4, null, 4, null])
    const types = ['full_attention', 'sliding_attention', 'full_attention', 'full_attention']
    const both = read('gemma3_text', { ...pattern, layer_types: types })
    expect(both.spec.stacks[0]!.layers.map((layer) => layer.rope)).toEqual([0, 1, 0, 0])
    expect(both.warnings).toEqual([expect.stringContaining('layer_types counts')])
  })

  test('layer_types of another length or kind', () => {
    expect(() => read('qwen2', { layer_types: ['full_attention'] })).toThrow('layer_types names 1 layers')
    const chunked = { num_hidden_layers: 1, layer_types: ['chunked_attention'] }
    expect(() => read('qwen3', chunked)).toThrow('"chunked_attention"')
    const sliding = { num_hidden_layers: 1, layer_types: ['sliding_attention'] }
    expect(() => read('qwen3', sliding)).toThrow('sliding_window says no width')
  })

  test('GPT-Neo: attention_types wins over attention_layers', () => {
    const config = { num_layers: 2, window_size: 4, attention_types: [[['global', 'local'], 1]] }
    expect(windows('gpt_neo', config)).toEqual([null, 4])
    const both = read('gpt_neo', { ...config, attention_layers: ['local', 'local'] })
    expect(both.spec.stacks[0]!.layers[0]!.window).toBeNull()
    expect(both.warnings).toEqual([expect.stringContaining('attention_types counts')])
    expect(() => read('gpt_neo', { ...config, num_layers: 3 })).toThrow('attention_types names 2 layers')
  })

  test('SmolLM 3: every fourth layer has no rotary, unless no_rope_layers says otherwise', () => {
    const ropes = (config: RawConfig) =>
      read('smollm3', config).spec.stacks[0]!.layers.map((layer) => layer.rope)
    expect(ropes({ num_hidden_layers: 4 })).toEqual([0, 0, 0, null])
    expect(ropes({ num_hidden_layers: 2, no_rope_layers: [0, 1] })).toEqual([null, 0])
    expect(() => ropes({ num_hidden_layers: 3, no_rope_layers: [0, 1] })).toThrow(
      'no_rope_layers names 2 layers',
    )
  })
})

describe('switches that are refused by name', () => {
  test.each([
    ['llama', 'attn_logit_softcapping', 5],
    ['llama', 'quantization_config', { quant_method: 'gptq' }],
    ['llama', 'partial_rotary_factor', 0.5],
    ['llama', 'sliding_window', 4096],
    ['mistral', 'layer_types', ['sliding_attention']],
    ['mistral', 'qk_layernorm', true],
    ['qwen2', 'use_qk_norm', true],
    ['gpt_neox', 'alibi', true],
    ['phi3', 'num_experts', 8],
    ['gemma2', 'use_bidirectional_attention', true],
    ['bloom', 'apply_residual_connection_post_layernorm', true],
    ['bert', 'is_decoder', true],
    ['bert', 'position_embedding_type', 'relative_key'],
    ['gpt2', 'add_cross_attention', true],
    ['falcon', 'num_ln_in_parallel_attn', 2],
  ])('%s with %s', (family, key, value) => {
    expect(() => read(family, { [key]: value })).toThrow(key)
  })

  test('values that change nothing are not', () => {
    const idle = {
      attn_logit_softcapping: null,
      num_experts: 0,
      use_qk_norm: false,
      residual_multiplier: 1,
      mlp_only_layers: [],
    }
    expect(read('llama', idle).warnings).toEqual([])
  })
})
