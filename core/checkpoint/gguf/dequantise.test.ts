import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { blockOf, decodeFloats } from '../dtypes.ts'
import { GGML_LAYOUTS } from './ggml-types.ts'

/** Blocks and values made by the Python package gguf (test/fixtures/gguf/make_blocks.py). */
const { formats } = JSON.parse(
  readFileSync(new URL('../../../test/fixtures/gguf/blocks.json', import.meta.url), 'utf8'),
) as { formats: Record<string, { raw: string; values: string }> }

const bytesOf = (text: string) => Uint8Array.from(Buffer.from(text, 'base64'))

test('every format has reference blocks', () => {
  expect(Object.keys(formats).sort()).toEqual([...GGML_LAYOUTS.keys()].sort())
})

test.each(Object.keys(formats))('%s decodes bit for bit as the reference', (name) => {
  const raw = bytesOf(formats[name]!.raw)
  const want = new Uint32Array(bytesOf(formats[name]!.values).buffer)
  const { values, bytes } = blockOf(name)
  const target = new Float32Array((raw.length / bytes) * values)
  decodeFloats(name, raw, target)
  expect(target.length).toBe(want.length)
  const got = new Uint32Array(target.buffer)
  const plain = (bits: number) => (bits === 0x80000000 ? 0 : bits) // the sign of zero carries no value
  expect([...got].map(plain)).toEqual([...want].map(plain))
})
