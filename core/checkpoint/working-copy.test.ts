import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { cacheSize, clearCache, defaultCacheDir } from './cache.ts'
import { contentHash, hashTensors } from './content-hash.ts'
import { nonFiniteWarnings } from './non-finite.ts'
import { readHeader } from './safetensors.ts'
import { type TensorToWrite, writeSafetensors } from './safetensors-write.ts'
import { readSafetensorsFile } from './tensor-data.ts'
import type { BoundTensors } from './types.ts'
import { checkWeightFiles, copySize, weightFiles } from './working-copy.ts'

let folder: string
let cacheDir: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headscope-weights-'))
  cacheDir = join(folder, 'cache')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const a: TensorToWrite = { name: 'a', shape: [2], data: Float32Array.of(1, 2) }
const b: TensorToWrite = { name: 'b', shape: [1, 2], data: Float32Array.of(3, 4) }
const half: TensorToWrite = { name: 'b', shape: [1, 2], dtype: 'F16', data: Uint16Array.of(0x3c00, 0xc000) }

/** Bound tensors of a file, with a prefix taken off their names. */
function bound(file: string, tensors: TensorToWrite[], prefix = ''): BoundTensors {
  writeSafetensors(join(folder, file), tensors)
  const entries = [...readHeader(join(folder, file)).tensors].map(
    ([name, entry]) => [name.slice(prefix.length), entry] as const,
  )
  return { tensors: new Map(entries), warnings: [] }
}

test('F32 weights are used where they lie, shards too', async () => {
  const first = bound('s1.safetensors', [a])
  const second = bound('s2.safetensors', [b])
  const both = { tensors: new Map([...first.tensors, ...second.tensors]), warnings: [] }
  const files = await weightFiles(both, { cacheDir, hash: () => Promise.reject(new Error('not needed')) })
  expect([...files.tensors.values()].map(({ location }) => location)).toEqual([
    's1.safetensors',
    's2.safetensors',
  ])
  const { location, offset, bytes } = files.tensors.get('b')!
  const raw = readFileSync(join(files.folder, location)).subarray(offset, offset + bytes)
  expect([...new Float32Array(Uint8Array.from(raw).buffer)]).toEqual([3, 4])
  expect(readdirSync(folder)).toEqual(['s1.safetensors', 's2.safetensors'])
  expect(() => checkWeightFiles(files)).not.toThrow()
  truncateSync(join(folder, 's2.safetensors'), offset + bytes - 1)
  expect(() => checkWeightFiles(files)).toThrow('s2.safetensors became shorter')
  rmSync(join(folder, 's1.safetensors'))
  expect(() => checkWeightFiles(files)).toThrow('s1.safetensors does not exist')
})

test('other formats become one F32 copy in the cache, written once and rebuilt when damaged', async () => {
  const weights = bound('model.safetensors', [a, half])
  expect(copySize(weights)).toBe(16)
  expect(copySize(bound('f32.safetensors', [a, b]))).toBe(0)
  const progress: number[] = []
  const options = {
    cacheDir,
    hash: 'abc',
    onProgress: ({ done, total }: { done: number; total: number }) => progress.push(done / total),
  }
  const files = await weightFiles(weights, options)
  const copy = join(files.folder, 'abc.f32.safetensors')
  const values = () => [...readSafetensorsFile(copy)].map(([name, { data }]) => [name, ...data])
  expect(values()).toEqual([
    ['a', 1, 2],
    ['b', 1, -2],
  ])
  expect(files.tensors.get('b')).toEqual({
    location: 'abc.f32.safetensors',
    offset: readHeader(copy).tensors.get('b')!.offset,
    bytes: 8,
    shape: [1, 2],
  })
  expect(progress).toEqual([0.5, 1])
  expect(cacheSize(cacheDir)).toBe(readFileSync(copy).length)

  await weightFiles(weights, options)
  expect(progress).toHaveLength(2) // nothing was written again
  truncateSync(copy, 40)
  await weightFiles(weights, options)
  expect(values()).toEqual([
    ['a', 1, 2],
    ['b', 1, -2],
  ])
  writeFileSync(copy, Buffer.alloc(readFileSync(copy).length))
  await weightFiles(weights, options)
  expect(values()).toEqual([
    ['a', 1, 2],
    ['b', 1, -2],
  ])
  expect(readdirSync(files.folder)).toEqual(['abc.f32.safetensors'])
  clearCache(cacheDir)
  expect(cacheSize(cacheDir)).toBe(0)
})

test('two copies at once are harmless', async () => {
  const weights = bound('model.safetensors', [a, half])
  const [one, two] = await Promise.all([1, 2].map(() => weightFiles(weights, { cacheDir, hash: 'abc' })))
  expect(one).toEqual(two)
  expect(readdirSync(one!.folder)).toEqual(['abc.f32.safetensors'])
})

test('a cancelled copy leaves nothing behind', async () => {
  const weights = bound('model.safetensors', [half])
  const copying = weightFiles(weights, { cacheDir, hash: 'abc', signal: AbortSignal.abort() })
  await expect(copying).rejects.toMatchObject({ code: 'cancelled' })
  expect(readdirSync(join(cacheDir, 'weights'))).toEqual([])
})

test('a cache that cannot be made is an error that names it', async () => {
  writeFileSync(join(folder, 'file'), '')
  const weights = bound('model.safetensors', [half])
  await expect(weightFiles(weights, { cacheDir: join(folder, 'file'), hash: 'abc' })).rejects.toThrow(
    /cannot be made.*; the cache keeps these weights as float32: set HEADSCOPE_CACHE to a folder/,
  )
})

test('the hash depends on names, formats and bytes, not on prefixes, order or shards', async () => {
  const plain = await contentHash(bound('1.safetensors', [a, b]), { cacheDir })
  const prefixed = [b, a].map((tensor) => ({ ...tensor, name: `transformer.${tensor.name}` }))
  expect(await contentHash(bound('2.safetensors', prefixed, 'transformer.'), { cacheDir })).toEqual(plain)
  const shards = new Map([...bound('3.safetensors', [b]).tensors, ...bound('4.safetensors', [a]).tensors])
  expect(await contentHash({ tensors: shards, warnings: [] }, { cacheDir })).toEqual(plain)
  expect(plain.hash).toMatch(/^[0-9a-f]{64}$/)
  const changed = { ...b, data: Float32Array.of(3, 5) }
  const others = [
    [a, half],
    [a, changed],
    [a, { ...b, shape: [2] }],
    [a, { ...b, name: 'c' }],
  ]
  const hashes = others.map(
    (tensors, i) => hashTensors([...bound(`o${i}.safetensors`, tensors).tensors]).hash,
  )
  expect(new Set([plain.hash, ...hashes]).size).toBe(5)
})

test('the scan counts what is not finite, in every format', async () => {
  const values = Float32Array.of(
    1,
    Number.NaN,
    Number.NEGATIVE_INFINITY,
    Number.NaN,
    Number.POSITIVE_INFINITY,
  )
  const weights = bound('x.safetensors', [
    { name: 'f32', shape: [5], data: values },
    { name: 'f64', shape: [2], data: Float64Array.of(1e300, Number.NEGATIVE_INFINITY) },
    { name: 'f16', shape: [3], dtype: 'F16', data: Uint16Array.of(0x7bff, 0x7c00, 0xfe00) },
    { name: 'bf16', shape: [3], dtype: 'BF16', data: Uint16Array.of(0x7f7f, 0xff80, 0x7fc0) },
  ])
  expect((await contentHash(weights, { cacheDir })).nonFinite).toEqual([
    { tensor: 'bf16', kind: 'NaN', count: 1 },
    { tensor: 'bf16', kind: '-Inf', count: 1 },
    { tensor: 'f16', kind: 'NaN', count: 1 },
    { tensor: 'f16', kind: 'Inf', count: 1 },
    { tensor: 'f32', kind: 'NaN', count: 2 },
    { tensor: 'f32', kind: 'Inf', count: 1 },
    { tensor: 'f32', kind: '-Inf', count: 1 },
    { tensor: 'f64', kind: '-Inf', count: 1 },
  ])
})

test('findings are told in words, many are counted', () => {
  const found = (n: number) =>
    Array.from({ length: n }, (_, i) => ({ tensor: `w${i}`, kind: '-Inf', count: i + 1 }) as const)
  expect(nonFiniteWarnings({ nonFinite: found(2) })).toEqual([
    'The tensor w0 holds -Inf at 1 place: what is computed from it is not a number.',
    'The tensor w1 holds -Inf at 2 places: what is computed from it is not a number.',
  ])
  expect(nonFiniteWarnings({ nonFinite: found(8) }).at(-1)).toBe('3 more tensors hold NaN or Inf.')
})

test('the result is kept, and a changed file or a damaged note is read again', async () => {
  const weights = bound('x.safetensors', [a])
  const first = await contentHash(weights, { cacheDir })
  const [note] = readdirSync(join(cacheDir, 'hashes'))
  const path = join(cacheDir, 'hashes', note!)
  writeFileSync(path, JSON.stringify({ hash: 'f'.repeat(64), nonFinite: [] }))
  expect((await contentHash(weights, { cacheDir })).hash).toBe('f'.repeat(64)) // the note is what is read
  writeFileSync(path, '{')
  expect(await contentHash(weights, { cacheDir })).toEqual(first)
  const changed = bound('x.safetensors', [{ ...a, data: Float32Array.of(1, 3) }])
  expect((await contentHash(changed, { cacheDir })).hash).not.toBe(first.hash)
  rmSync(join(folder, 'x.safetensors'))
  await expect(contentHash(changed, { cacheDir })).rejects.toThrow('x.safetensors does not exist')
  await expect(contentHash(weights, { signal: AbortSignal.abort() })).rejects.toThrow()
})

test('the cache lies where the system keeps such files', () => {
  expect(defaultCacheDir({ HEADSCOPE_CACHE: '/x' }, 'linux')).toBe('/x')
  expect(defaultCacheDir({ XDG_CACHE_HOME: '/c' }, 'linux')).toBe(join('/c', 'headscope'))
  expect(defaultCacheDir({}, 'darwin')).toMatch(/Caches/)
  expect(defaultCacheDir({ LOCALAPPDATA: '/local' }, 'win32')).toBe(join('/local', 'headscope', 'cache'))
  mkdirSync(join(folder, 'empty'))
  expect(cacheSize(join(folder, 'empty'))).toBe(0)
})
