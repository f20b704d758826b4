/**
 * GGUF twins of the reference checkpoints: the same spec, the same weights, the same logits.
 * The twins were written by the Python package gguf (test/fixtures/gguf/make_twins.py).
 */
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gguf as readWithPackage } from '@huggingface/gguf'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readGgufHeader } from '../../core/checkpoint/gguf/header.ts'
import { type Model, openCheckpoint, openModel, writeSafetensors } from '../../core/index.ts'
import { FIXTURES, idRows, readGolden, relativeError } from '../support/golden.ts'

const FOLDER = join(FIXTURES, 'gguf')
const TWINS = readdirSync(FOLDER).filter((name) => /\.(f32|f16|q8_0)\.gguf$/.test(name))

/** Largest error of a value, as a share of the tensor's largest: none, half a step of F16, half a step of Q8_0 and of its scale. */
const ERRORS = { f32: 0, f16: 2 ** -11, q8_0: 1 / 254 + 2 ** -11 }
/** Largest error of a logit, as a share of the largest. */
const LOGITS = { f32: 1e-4, f16: 5e-3, q8_0: 5e-2 }

/** The scale of Gemma 2's and 3's scores is not in the file: llama.cpp knows it by the size, and these have another. */
const OTHER_SCALE = new Set(['gemma2-softcap', 'gemma3-local-global'])

describe.each(TWINS)('%s', (file) => {
  const [source, kind] = file.split('.') as [string, keyof typeof ERRORS]
  let twin: Model
  let original: Model
  beforeAll(async () => {
    twin = await openModel(join(FOLDER, file))
    original = await openModel(join(FIXTURES, 'transformers', source))
  })
  afterAll(async () => {
    await twin.close()
    await original.close()
  })

  test('opens without a warning, with the same spec', () => {
    const { tokenizerProblem } = twin.checkpoint
    expect(twin.warnings.filter((warning) => warning !== tokenizerProblem)).toEqual([])
    if (OTHER_SCALE.has(source)) expect(withoutScale(twin)).toEqual(withoutScale(original))
    else expect(twin.spec).toEqual(original.spec)
    expect(twin.parameters).toEqual(original.parameters)
  })

  test('every tensor is the original, within its format', () => {
    for (const name of twin.checkpoint.tensors.keys()) {
      const bare = name.replace(/^(model|transformer|gpt_neox)\./, '')
      const [ours, theirs] = [twin, original].map((model) => model.weight(bare)) as [
        Float32Array,
        Float32Array,
      ]
      expect(relativeError(ours, theirs), name).toBeLessThanOrEqual(ERRORS[kind])
    }
  })

  test.skipIf(OTHER_SCALE.has(source))('logits are the reference’s', async () => {
    const golden = readGolden('transformers', source, 'golden.safetensors')
    const run = await twin.run(idRows(golden.get('input_ids')!), { capture: ['logits'] })
    const error = relativeError(run.get('logits').data, golden.get('logits')!.data as Float32Array)
    expect(error).toBeLessThan(LOGITS[kind])
  })

  test.runIf(kind === 'q8_0')(
    'logits are those of the dequantised weights in a checkpoint of their own',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'headscope-twin-'))
      const ids = idRows(readGolden('transformers', source, 'golden.safetensors').get('input_ids')!)
      try {
        cpSync(join(FIXTURES, 'transformers', source, 'config.json'), join(folder, 'config.json'))
        const weights = [...twin.checkpoint.tensors].map(([name, { shape }]) => ({
          name,
          shape,
          data: twin.weight(name.replace(/^(model|gpt_neox)\./, '')),
        }))
        writeSafetensors(join(folder, 'model.safetensors'), weights)
        const plainModel = await openModel(folder)
        const [ours, theirs] = await Promise.all(
          [twin, plainModel].map(
            async (model) => (await model.run(ids, { capture: ['logits'] })).get('logits').data,
          ),
        )
        await plainModel.close()
        expect(ours).toEqual(theirs)
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    },
  )

  test('the head is what another reader finds', async () => {
    const path = join(FOLDER, file)
    const { metadata, tensors } = readGgufHeader(path, file)
    const other = await readWithPackage(path, { allowLocalFile: true })
    const { version, tensor_count, kv_count, ...pairs } = other.metadata as Record<string, unknown>
    expect([version, tensor_count, kv_count]).toEqual([3, BigInt(tensors.size), BigInt(metadata.size)])
    expect(Object.fromEntries(metadata)).toEqual(plain(pairs))
    for (const info of other.tensorInfos) {
      const entry = tensors.get(info.name)!
      expect(entry.shape.toReversed().map(BigInt)).toEqual(info.shape)
      expect(BigInt(entry.offset)).toBe(other.tensorDataOffset + info.offset)
    }
  })
})

test('a byte-level vocabulary from the metadata gives the ids of tokenizer.json', () => {
  for (const source of ['gpt2-prefixed', 'neox-parallel']) {
    const twin = openCheckpoint(join(FOLDER, `${source}.f32.gguf`))
    const original = openCheckpoint(join(FIXTURES, 'transformers', source))
    for (const text of ['the cat sat on the mat', ' the  cat\n\nthe', 'a<|endoftext|>b', '']) {
      expect(twin.tokenizer!.encode(text), text).toEqual(original.tokenizer!.encode(text))
    }
    expect([...twin.tokenizer!.specialIds]).toEqual([...original.tokenizer!.specialIds])
  }
})

test('a file without a vocabulary says so, and ids run', () => {
  const { tokenizer, tokenizerProblem } = openCheckpoint(join(FOLDER, 'llama-gqa.f32.gguf'))
  expect(tokenizer).toBeNull()
  expect(tokenizerProblem).toContain('tokenizer.ggml.model')
})

function withoutScale({ spec }: Model): unknown {
  return JSON.parse(JSON.stringify(spec, (key, value) => (key === 'scoreScale' ? 'left out' : value)))
}

/** Big integers that are exact as numbers, as our reader gives them. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]))
  }
  return value
}
