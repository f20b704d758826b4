/** What a config leaves out is what the reference takes (test/fixtures/reference/defaults.py made the values). */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { familyNames, readFamily } from './index.ts'

interface Defaults {
  readonly layers: number
  readonly heads: number
  readonly d_model: number
  readonly d_vocab: number
  readonly kv_heads: number | null
  readonly head_dim: number | null
  readonly d_mlp: number | null
  readonly n_ctx: number | null
  readonly eps: number | null
  readonly tie: boolean
  readonly theta: readonly number[] | null
  readonly partial: number | null
  readonly experts: number | null
  readonly experts_used: number | null
  readonly window: number | null
  readonly layer_types: readonly string[] | null
}

const FILE = join(import.meta.dirname, '..', '..', 'test', 'fixtures', 'reference', 'defaults.json')
const REFERENCE: Readonly<Record<string, Defaults>> = JSON.parse(readFileSync(FILE, 'utf8')).defaults

test('every family is compared', () => {
  expect(Object.keys(REFERENCE).sort()).toEqual([...familyNames].sort())
})

describe.each(Object.entries(REFERENCE))('%s', (family, reference) => {
  const model = readFamily({ model_type: family })
  const { spec } = model
  const { layers } = spec.stacks[0]!
  const first = layers[0]!

  test('sizes', () => {
    expect([layers.length, first.nHeads, spec.dModel, spec.dVocab]).toEqual([
      reference.layers,
      reference.heads,
      reference.d_model,
      reference.d_vocab,
    ])
    if (reference.kv_heads !== null) expect(first.nKvHeads).toBe(reference.kv_heads)
    expect(first.dHead).toBe(reference.head_dim ?? reference.d_model / reference.heads)
    if (reference.experts === null) expect(first.dMlp).toBe(reference.d_mlp ?? 4 * reference.d_model)
    if (reference.n_ctx !== null) expect(spec.nCtx).toBe(reference.n_ctx)
  })

  test('norm, tied embeddings, rotary, experts, windows', () => {
    if (reference.eps !== null) expect(spec.norm.eps).toBe(reference.eps)
    expect(spec.tied).toBe(reference.tie)
    if (reference.theta) expect(spec.ropes.map((rope) => rope.theta)).toEqual(reference.theta)
    if (reference.partial) expect(spec.ropes[0]!.dims).toBe(Math.trunc(first.dHead * reference.partial))
    expect(first.experts?.count ?? null).toBe(reference.experts)
    expect(first.experts?.used ?? null).toBe(reference.experts_used)
    const windows = layers.map((layer) => layer.window)
    if (reference.layer_types)
      expect(windows).toEqual(
        reference.layer_types.map((type) => (type === 'sliding_attention' ? reference.window : null)),
      )
    else if (family !== 'gpt_neo') expect(new Set(windows)).toEqual(new Set([reference.window]))
  })
})
