import { expect, test } from 'vitest'
import { bindTensors } from './bind.ts'
import type { TensorEntry, TensorPlan } from './types.ts'

const plan: TensorPlan = {
  prefixes: ['', 'transformer.'],
  wanted: [
    { name: 'wte.weight', shape: [40, 16], role: 'embedding', from: 'vocab_size × n_embd' },
    { name: 'ln_f.bias', shape: [16], role: 'norm', from: 'n_embd' },
    {
      name: 'lm_head.weight',
      shape: [40, 16],
      role: 'unembedding',
      from: 'vocab_size × n_embd',
      optional: true,
    },
  ],
  buffers: [/^h\.\d+\.attn\.(masked_)?bias$/],
}

function tensors(shapes: Record<string, number[]>, dtype = 'F32'): { tensors: Map<string, TensorEntry> } {
  const entries = Object.entries(shapes).map(
    ([name, shape]) =>
      [name, { name, dtype, shape, file: '/w/model.safetensors', offset: 8, bytes: 4 }] as const,
  )
  return { tensors: new Map(entries) }
}

const plain = { 'wte.weight': [40, 16], 'ln_f.bias': [16] }

test('finds tensors with and without the prefix, and mixed', () => {
  expect([...bindTensors(tensors(plain), plan).tensors.keys()]).toEqual(['wte.weight', 'ln_f.bias'])
  const prefixed = tensors({
    'transformer.wte.weight': [40, 16],
    'transformer.ln_f.bias': [16],
    'lm_head.weight': [40, 16],
  })
  const bound = bindTensors(prefixed, plan)
  expect(bound.tensors.get('wte.weight')!.name).toBe('transformer.wte.weight')
  expect(bound.tensors.get('lm_head.weight')!.name).toBe('lm_head.weight')
  expect(bound.warnings).toEqual([])
})

test('a name of older files is found, and refused beside the newer one', () => {
  const old: TensorPlan = {
    ...plan,
    wanted: [{ name: 'ln.weight', formerly: 'ln.gamma', shape: [16], role: 'norm', from: 'n_embd' }],
  }
  expect(bindTensors(tensors({ 'ln.gamma': [16] }), old).tensors.get('ln.weight')!.name).toBe('ln.gamma')
  expect(() => bindTensors(tensors({ 'ln.gamma': [16], 'ln.weight': [16] }), old)).toThrow('under two names')
})

test('a missing tensor is named as the file would name it', () => {
  expect(() => bindTensors(tensors({ 'ln_f.bias': [16] }), plan)).toThrow(
    'lack the tensor wte.weight of shape [40, 16] (vocab_size × n_embd)',
  )
  expect(() => bindTensors(tensors({ 'transformer.ln_f.bias': [16] }), plan)).toThrow(
    'transformer.wte.weight',
  )
  expect(() => bindTensors(tensors({}), plan)).toThrow('and 1 more')
})

test('a shape that does not fit says both shapes and where the wanted one comes from', () => {
  expect(() => bindTensors(tensors({ ...plain, 'wte.weight': [16, 40] }), plan)).toThrow(
    'wte.weight has the shape [16, 40], but config.json asks for [40, 16] (vocab_size × n_embd)',
  )
  expect(() => bindTensors(tensors({ ...plain, 'ln_f.bias': [1, 16] }), plan)).toThrow('[1, 16]')
  expect(() => bindTensors(tensors({ ...plain, 'ln_f.bias': [] }), plan)).toThrow(
    'ln_f.bias has the shape []',
  )
})

test('the same tensor under two names is refused', () => {
  expect(() => bindTensors(tensors({ ...plain, 'transformer.wte.weight': [40, 16] }), plan)).toThrow(
    'wte.weight and transformer.wte.weight',
  )
})

test('whole numbers and bare exponents are refused by name', () => {
  expect(() => bindTensors(tensors(plain, 'I32'), plan)).toThrow('wte.weight is stored as I32')
  expect(() => bindTensors(tensors(plain, 'F8_E8M0'), plan)).toThrow('F8_E4M3')
})

test('buffers are silent, other tensors are a warning each, many are counted', () => {
  const buffers = { 'h.0.attn.bias': [1], 'transformer.h.1.attn.masked_bias': [] }
  expect(bindTensors(tensors({ ...plain, ...buffers }), plan).warnings).toEqual([])
  const odd = { ['__proto__']: [1], constructor: [1], ['x'.repeat(4000)]: [1] }
  const { warnings } = bindTensors(tensors({ ...plain, ...odd }), plan)
  expect(warnings).toHaveLength(3)
  expect(warnings.join(' ')).toContain('__proto__')
  expect(warnings.every((warning) => warning.length < 250)).toBe(true)
  const many = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`h.1.x${i}`, [1]]))
  expect(bindTensors(tensors({ ...plain, ...many }), plan).warnings).toEqual([
    '12 tensors are not a part of this model and are not used: h.1.x0, h.1.x1, h.1.x2, h.1.x3, h.1.x4 and 7 more.',
  ])
})
