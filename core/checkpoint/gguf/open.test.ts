import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openCheckpoint } from '../open.ts'
import { readTensor } from '../tensor-data.ts'
import { type GgufHeader, type GgufValue, readGgufHeader } from './header.ts'
import { settingsOf } from './metadata.ts'
import { fileNameOf, GPT2_NAMES, LLAMA_NAMES, MIXTRAL_NAMES } from './names.ts'
import { ratio, ropeConfig } from './rope.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headscope-gguf-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const text = (value: string) => {
  const bytes = Buffer.from(value)
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(bytes.length))
  return Buffer.concat([length, bytes])
}
const u32 = (value: number) => Buffer.from(Uint32Array.of(value).buffer)
const u64 = (value: number) => Buffer.from(BigUint64Array.of(BigInt(value)).buffer)

/** A file of u32 and text settings and F32 vectors. */
function write(pairs: Record<string, number | string>, vectors: Record<string, number[]> = {}): string {
  const path = join(folder, 'x.gguf')
  const head = Object.entries(pairs).map(([key, value]) =>
    typeof value === 'number'
      ? Buffer.concat([text(key), u32(4), u32(value)])
      : Buffer.concat([text(key), u32(8), text(value)]),
  )
  let offset = 0
  const infos = Object.entries(vectors).map(([name, values]) => {
    const info = Buffer.concat([text(name), u32(1), u64(values.length), u32(0), u64(offset)])
    offset += Math.ceil((4 * values.length) / 32) * 32
    return info
  })
  const start = Buffer.concat([
    Buffer.from('GGUF'),
    u32(3),
    u64(infos.length),
    u64(head.length),
    ...head,
    ...infos,
  ])
  const data = Object.values(vectors).map((values) => {
    const block = Buffer.alloc(Math.ceil((4 * values.length) / 32) * 32)
    Buffer.from(Float32Array.from(values).buffer).copy(block)
    return block
  })
  const padding = Buffer.alloc((32 - (start.length % 32)) % 32)
  writeFileSync(path, Buffer.concat([start, padding, ...data]))
  return path
}

const llama = {
  'general.architecture': 'llama',
  'llama.context_length': 64,
  'llama.embedding_length': 16,
  'llama.block_count': 1,
  'llama.feed_forward_length': 32,
  'llama.attention.head_count': 1,
}

test('settings become a config, and what nothing reads is a warning', () => {
  const { config, warnings, name, eosIds } = openCheckpoint(
    write({ ...llama, 'llama.wild_switch': 1, 'tokenizer.ggml.eos_token_id': 2 }),
  )
  expect(config).toMatchObject({ model_type: 'llama', hidden_size: 16, num_key_value_heads: 1 })
  expect(warnings.join('\n')).toContain('llama.wild_switch is not used')
  expect(name).toBe('x.gguf')
  expect(eosIds).toEqual([2])
})

test('fused projections of an architecture that has them apart become three', () => {
  const keys = Object.entries(llama).map(([key, value]) => [key.replace(/^llama/, 'phi2'), value])
  const path = write(
    { ...Object.fromEntries(keys), 'general.architecture': 'phi2', 'phi2.attention.head_count': 2 },
    { 'blk.0.attn_qkv.bias': [1, 2, 3, 4, 5, 6] },
  )
  const { tensors } = openCheckpoint(path)
  const read = (part: string) => [...readTensor(tensors.get(`model.layers.0.self_attn.${part}_proj.bias`)!)]
  expect(['q', 'k', 'v'].map(read)).toEqual([
    [1, 2],
    [3, 4],
    [5, 6],
  ])
})

test('windows: by the period that the architecture has, or as the file says', () => {
  const keys = Object.entries(llama).map(([key, value]) => [key.replace(/^llama/, 'gemma3'), value])
  const gemma = { ...Object.fromEntries(keys), 'general.architecture': 'gemma3', 'gemma3.block_count': 7 }
  const full = (more: Record<string, number>) =>
    (openCheckpoint(write({ ...gemma, ...more })).config.layer_types as string[]).flatMap((type, layer) =>
      type === 'full_attention' ? [layer] : [],
    )
  expect(full({})).toEqual([5])
  expect(full({ 'gemma3.attention.sliding_window_pattern': 3 })).toEqual([2, 5])
})

test('one part of a split model is refused by name', () => {
  expect(() => openCheckpoint(write({ ...llama, 'split.count': 3 }))).toThrow('one of 3 parts')
})

test('a setting of the wrong kind is named', () => {
  expect(() => openCheckpoint(write({ ...llama, 'llama.rope.freq_base': 'high' }))).toThrow(
    'llama.rope.freq_base is "high", but must be a finite number',
  )
})

/** Factors that Llama 3's scaling makes: reference values of 16 dimensions, base 500,000, factor 8, 8192 positions. */
const LLAMA3 = [1, 0.1939227447, 0.0376060309, 0.0072926647, 0.0005248462, 3.4281e-5, 6.6479e-6, 1.2892e-6]

test('stored rotary factors are told as Llama 3’s scaling', () => {
  const factors = LLAMA3.map((frequency, i) => 500_000 ** (-i / 8) / frequency)
  // The published frequencies are rounded; the exact factors follow from the same settings.
  const exact = factors.map((factor) => (factor < 1.001 ? 1 : factor > 7.99 ? 8 : factor))
  const rope = readRope({ 'rope.freq_base': 500_000, context_length: 131_072 }, exact)
  expect(rope.rope_scaling).toMatchObject({
    rope_type: 'llama3',
    factor: 8,
    original_max_position_embeddings: 8192,
  })
})

test('other factors are kept as they are; all ones are none', () => {
  expect(readRope({ context_length: 64 }, [1, 2, 3, 4, 5, 6, 7, 9]).rope_scaling).toMatchObject({
    rope_type: 'longrope',
    long_factor: [1, 2, 3, 4, 5, 6, 7, 9],
    attention_factor: 1,
  })
  expect(readRope({ context_length: 64 }, new Array(8).fill(1)).rope_scaling).toBeUndefined()
})

test('named scalings', () => {
  const scaling = (keys: Record<string, GgufValue>) => readRope(keys).rope_scaling
  expect(scaling({ 'rope.scaling.type': 'linear', 'rope.scaling.factor': 4 })).toEqual({
    rope_type: 'linear',
    factor: 4,
  })
  expect(
    scaling({
      'rope.scaling.type': 'yarn',
      'rope.scaling.factor': 4,
      'rope.scaling.original_context_length': 32,
    }),
  ).toEqual({ rope_type: 'yarn', factor: 4, original_max_position_embeddings: 32 })
  expect(() => scaling({ 'rope.scaling.type': 'spiral' })).toThrow('rotary scaling spiral')
  expect(readRope({ 'rope.dimension_count': 4 })).toMatchObject({ partial_rotary_factor: 0.25 })
})

test('a part of a head comes back as whole dimensions', () => {
  for (let whole = 2; whole <= 256; whole += 2) {
    for (let part = 2; part <= whole; part += 2) expect(Math.trunc(whole * ratio(part, whole))).toBe(part)
  }
})

test('names go back to the file’s own', () => {
  expect(fileNameOf(GPT2_NAMES, 'h.1.attn.c_attn.weight')).toBe('blk.1.attn_qkv.weight')
  expect(fileNameOf(LLAMA_NAMES, 'layers.0.mlp.up_proj.weight')).toBe('blk.0.ffn_up.weight')
  expect(fileNameOf(MIXTRAL_NAMES, 'layers.0.block_sparse_moe.experts.3.w1.weight')).toBe(
    'blk.0.ffn_gate_exps.weight',
  )
  expect(fileNameOf(LLAMA_NAMES, 'something.else')).toBe('something.else')
})

/** Rotary settings of a head of 16 dimensions. */
function readRope(keys: Record<string, GgufValue>, factors?: readonly number[]) {
  const metadata = new Map(Object.entries(keys).map(([key, value]) => [`llama.${key}`, value]))
  const path = write({ ...llama }, factors ? { 'rope_freqs.weight': [...factors] } : {})
  const header: GgufHeader = { ...readGgufHeader(path, 'x.gguf'), metadata }
  return ropeConfig(header, settingsOf(header, 'llama'), 16)
}
