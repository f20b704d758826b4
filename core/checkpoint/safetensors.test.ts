import { execFileSync } from 'node:child_process'
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
import { readHeader } from './safetensors.ts'
import { writeError, writeSafetensors } from './safetensors-write.ts'
import { readSafetensorsFile, readTensor } from './tensor-data.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headscope-st-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Writes a file from a header text and a number of data bytes. */
function raw(header: string, bytes: number): string {
  const file = join(folder, 'model.safetensors')
  const json = Buffer.from(header)
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(json.length))
  writeFileSync(file, Buffer.concat([length, json, Buffer.alloc(bytes)]))
  return file
}

const entry = (dtype: string, shape: unknown, offsets: unknown) =>
  JSON.stringify({ dtype, shape, data_offsets: offsets })

test('writes and reads back every kind of number', () => {
  const file = join(folder, 'all.safetensors')
  const ids = BigInt64Array.of(-1n, 2n ** 40n)
  writeSafetensors(
    file,
    [
      { name: 'f', shape: [2, 2], data: Float32Array.of(1, -2, 0.5, Number.NaN) },
      { name: 'ids', shape: [1, 2], data: ids },
      { name: '__proto__', shape: [], data: Float64Array.of(3) },
      { name: 'empty', shape: [0, 4], data: new Float32Array() },
      { name: 'chunks', shape: [3], data: () => [new Uint8Array(4), new Uint8Array(8)] },
      { name: 'half', shape: [4], dtype: 'F16', data: Uint16Array.of(0x3c00, 0xc000, 0x0001, 0x7c00) },
      { name: 'brain', shape: [2], dtype: 'BF16', data: Uint16Array.of(0x3f80, 0xff80) },
    ],
    new Map([['format', 'pt']]),
  )
  const header = readHeader(file)
  expect([...header.metadata]).toEqual([['format', 'pt']])
  expect([...header.tensors.values()].every(({ offset }) => offset >= 8)).toBe(true)
  const read = readSafetensorsFile(file)
  expect([...read.keys()]).toEqual(['f', 'ids', '__proto__', 'empty', 'chunks', 'half', 'brain'])
  expect([...read.get('f')!.data]).toEqual([1, -2, 0.5, Number.NaN])
  expect(read.get('ids')!.data).toEqual(ids)
  expect(read.get('__proto__')).toEqual({ dtype: 'F64', shape: [], data: Float64Array.of(3) })
  expect(read.get('empty')!.data.length).toBe(0)
  expect([...read.get('half')!.data]).toEqual([1, -2, 2 ** -24, Number.POSITIVE_INFINITY])
  expect([...read.get('brain')!.data]).toEqual([1, Number.NEGATIVE_INFINITY])
  expect([...readTensor(header.tensors.get('__proto__')!)]).toEqual([3])
  expect(() => readTensor(header.tensors.get('ids')!)).toThrow('ids is stored as I64')
  expect(readdirSync(folder)).toEqual(['all.safetensors'])
})

test('a failed write leaves the old file and nothing else', () => {
  const file = join(folder, 'x.safetensors')
  writeSafetensors(file, [{ name: 'a', shape: [1], data: Float32Array.of(7) }])
  const before = readFileSync(file)
  expect(() => writeSafetensors(file, [{ name: 'a', shape: [2], data: () => [new Uint8Array(4)] }])).toThrow(
    'gave 4 bytes',
  )
  expect(() => writeSafetensors(join(folder, 'no/x.safetensors'), [])).toThrow(
    'could not be written (ENOENT)',
  )
  const one = { name: 'a', shape: [1], data: Float32Array.of(1) }
  expect(() => writeSafetensors(file, [one, one])).toThrow('used twice')
  expect(readFileSync(file)).toEqual(before)
  expect(readdirSync(folder)).toEqual(['x.safetensors'])
})

test.each([
  ['{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":1}', 4, '"a" is listed twice'],
  [`{"a":${entry('F32', [2], [0, 4])}}`, 4, 'needs 8'],
  [`{"a":${entry('F32', [-1, -1], [0, 4])}}`, 4, 'whole numbers of 0 or more'],
  [`{"a":${entry('F32', [2 ** 32, 2 ** 32], [0, 0])}}`, 0, 'larger than any file'],
  [`{"a":${entry('Q7', [1], [0, 4])}}`, 4, 'Q7'],
  [`{"a":${entry('toString', [1], [0, 4])}}`, 4, 'toString'],
  [`{"a":${entry('F32', [1], [4, 0])}}`, 4, 'after its end'],
  [`{"a":${entry('F32', [1], [0, 4])},"b":${entry('F32', [1], [0, 4])}}`, 4, 'a and b overlap'],
  [`{"a":${entry('F32', [1], [4, 8])}}`, 8, '4 bytes before the tensor a'],
  [`{"a":${entry('F32', [1], [0, 4])}}`, 8, 'its tensors end at'],
  [`{"a":${entry('F32', [1], [0, 4])}}`, 3, 'cut short'],
  ['{"__metadata__":{"a":{"b":1}}}', 0, '__metadata__'],
  [`{"__proto__":{"a":${entry('F32', [1], [0, 4])}}}`, 4, '__proto__'],
])('refuses %s', (header, bytes, words) => {
  const file = raw(header, bytes)
  expect(() => readHeader(file)).toThrow(words)
  expect(() => readHeader(file)).toThrow('model.safetensors')
})

test('a tensor that lost its bytes since the header was read is an error, not zeros', () => {
  const file = join(folder, 'x.safetensors')
  writeSafetensors(file, [{ name: 'a', shape: [4], data: Float32Array.of(1, 2, 3, 4) }])
  const { tensors } = readHeader(file)
  truncateSync(file, readFileSync(file).length - 8)
  expect(() => readTensor(tensors.get('a')!)).toThrow('became shorter')
})

test.skipIf(process.platform === 'win32')('never waits for a named pipe, and names a folder', () => {
  const pipe = join(folder, 'model.safetensors')
  execFileSync('mkfifo', [pipe])
  expect(() => readHeader(pipe)).toThrow('model.safetensors is a named pipe')
  mkdirSync(join(folder, 'b.safetensors'))
  expect(() => readHeader(join(folder, 'b.safetensors'))).toThrow('b.safetensors is a folder')
})

test.each(['ENOSPC', 'EDQUOT'])('a full disk (%s) is said to be one', (code) => {
  const error = writeError('/data/x.safetensors', Object.assign(new Error(code), { code }))
  expect(error.code).toBe('no-space')
  expect(error.message).toMatch(/^The disk is full: \/data\/x\.safetensors could not be written/)
})
