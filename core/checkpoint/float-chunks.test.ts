import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { floatChunks } from './float-chunks.ts'
import { readTensor } from './tensor-data.ts'
import type { StoredForm, TensorEntry } from './types.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headscope-chunks-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A tensor of the values 0, 1, 2 … as F32. */
function counting(shape: readonly number[], stored?: StoredForm): TensorEntry {
  const n = shape.reduce((a, b) => a * b, 1)
  const file = join(folder, `${n}.bin`)
  writeFileSync(file, new Uint8Array(Float32Array.from({ length: n }, (_, i) => i).buffer))
  return { name: 't', dtype: 'F32', shape, file, offset: 0, bytes: 4 * n, ...(stored ? { stored } : {}) }
}

const read = (entry: TensorEntry) => [...readTensor(entry)]

test('a transposed matrix', () => {
  expect(read(counting([3, 2], { shape: [2, 3], order: [1, 0] }))).toEqual([0, 3, 1, 4, 2, 5])
})

test('rows of heads that were written in pairs', () => {
  // Two heads of four rows: [head, d/2, 2] back to [head, 2, d/2], one value a row.
  expect(read(counting([8, 1], { shape: [2, 2, 2, 1], order: [0, 2, 1, 3] }))).toEqual([
    0, 2, 1, 3, 4, 6, 5, 7,
  ])
})

test('runs of rows in another order, and a shift', () => {
  const rows: [number, number][] = [
    [2, 1],
    [0, 2],
  ]
  expect(read(counting([3, 2], { shape: [3, 2], order: [0, 1], rows }))).toEqual([4, 5, 0, 1, 2, 3])
  expect(read(counting([3], { shape: [3], order: [0], add: -1 }))).toEqual([-1, 0, 1])
})

test('a large tensor comes in parts, whole in the end', () => {
  const sizes = [...floatChunks(counting([5, 1 << 20]))].map((chunk) => chunk.length)
  expect(sizes).toEqual([2 << 20, 2 << 20, 1 << 20])
})

test('a file that became shorter is a sentence', () => {
  const entry = counting([7])
  writeFileSync(entry.file, new Uint8Array(8))
  expect(() => readTensor({ ...entry, dtype: 'F16', bytes: 14 })).toThrow('became shorter')
})
