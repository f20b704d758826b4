/**
 * The head of a GGUF file, believed in nothing.
 * In: a file. Out: metadata and tensor entries with absolute places, every rule of the format checked, no tensor data
 * read. Cost: the head is read once in parts; counts and lengths are compared with what the file can hold before
 * anything is made for them.
 * Format: GGUF version 2 and 3, little-endian (docs/gguf.md of ggml). The package @huggingface/gguf reads well-formed
 * heads only and without checking places; it serves as the second reader in the tests, and names new types.
 */
import { closeSync } from 'node:fs'
import { HeadscopeError } from '../../errors.ts'
import { openFile, readExactly, whatElse } from '../files.ts'
import { shorten } from '../json.ts'
import type { TensorEntry } from '../types.ts'
import { describeType, GGML_LAYOUTS, ggmlName } from './ggml-types.ts'
import { createReader, type Reader } from './reader.ts'

export type GgufValue = number | bigint | boolean | string | readonly GgufValue[]

export interface GgufHeader {
  readonly file: string // real path
  readonly label: string
  readonly version: number
  readonly metadata: ReadonlyMap<string, GgufValue>
  /** By the names of the file; shapes outermost dimension first, as everywhere else. */
  readonly tensors: ReadonlyMap<string, TensorEntry>
}

const MAX_DEPTH = 64
/** Fewest bytes that one entry can take: a key of 1 byte with a 1-byte value; a tensor of no dimension. */
const LEAST_PAIR = 8 + 1 + 4 + 1
const LEAST_TENSOR = 8 + 1 + 4 + 4 + 8

/** Reads and checks the head of a file. @throws HeadscopeError naming the file, the key or the tensor */
export function readGgufHeader(path: string, label: string): GgufHeader {
  const file = openFile(path, label)
  try {
    checkMagic(readExactly(file.fd, 0, Math.min(file.size, 64), label), label)
    const reader = createReader(file, label)
    reader.skip(4, 'the head')
    const version = reader.u32('the head')
    checkVersion(version, label)
    const tensorCount = countOf(reader, 'tensors', LEAST_TENSOR, label)
    const pairCount = countOf(reader, 'metadata', LEAST_PAIR, label)
    const metadata = readMetadata(reader, pairCount, label)
    const alignment = readAlignment(metadata, label)
    const infos = readInfos(reader, tensorCount, label)
    const dataStart = Math.ceil(reader.position() / alignment) * alignment
    const tensors = new Map<string, TensorEntry>()
    for (const info of infos) {
      tensors.set(info.name, place(info, { label, real: file.real, size: file.size, dataStart, alignment }))
    }
    checkOverlap([...tensors.values()], label)
    return { file: file.real, label, version, metadata, tensors }
  } finally {
    closeSync(file.fd)
  }
}

function bad(label: string, why: string, remedy = 'download the file again'): HeadscopeError {
  return new HeadscopeError('bad-checkpoint', `${label}: ${why}; ${remedy}.`)
}

function checkMagic(start: Uint8Array, label: string): void {
  const text = Buffer.from(start).toString('latin1')
  if (text.startsWith('GGUF')) return
  if (start.length === 0) throw bad(label, 'the file has 0 bytes')
  const convert = 'convert it to GGUF version 3'
  if (/^(lmgg|fmgg|tjgg|algg)/.test(text)) {
    throw bad(label, 'this is a file of the older GGML format, which is not read', convert)
  }
  const other = whatElse(text)
  if (other) throw bad(label, `this is ${other.what}, not a GGUF file`, other.remedy)
  if (text[8] === '{' && text.slice(4, 8) === '\0\0\0\0') {
    throw bad(label, 'this is a safetensors file, not a GGUF file', 'name it model.safetensors')
  }
  throw bad(label, 'the file does not begin with "GGUF"')
}

function checkVersion(version: number, label: string): void {
  if (version === 2 || version === 3) return
  if ((version & 0xffff) === 0) {
    throw bad(label, 'this file is in big-endian byte order', 'convert it to little-endian GGUF')
  }
  throw bad(
    label,
    `this is GGUF version ${version}, but only version 2 and 3 are read`,
    'convert it to version 3',
  )
}

/** A count, once the file is known to be long enough for it. */
function countOf(reader: Reader, what: string, least: number, label: string): number {
  const count = reader.u64(`the count of ${what}`)
  if (count * BigInt(least) > BigInt(reader.left())) {
    throw bad(
      label,
      `the count of ${what} says ${count}, but the ${reader.left()} bytes that follow cannot hold so many`,
    )
  }
  return Number(count)
}

function readMetadata(reader: Reader, count: number, label: string): Map<string, GgufValue> {
  const metadata = new Map<string, GgufValue>()
  let last = 'the start'
  for (let i = 0; i < count; i++) {
    const key = reader.text(`the metadata key after ${shorten(last)}`)
    if (metadata.has(key)) throw bad(label, `the metadata key ${shorten(key)} is given twice`)
    const what = `the metadata value ${shorten(key)}`
    metadata.set(key, readValue(reader, reader.u32(what), what, label, 0))
    last = key
  }
  return metadata
}

/** Fewest bytes of a value of each type; index = type number. */
const LEAST_BYTES = [1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8]

function readValue(reader: Reader, type: number, what: string, label: string, depth: number): GgufValue {
  switch (type) {
    case 0:
      return reader.u8(what)
    case 1:
      return reader.i8(what)
    case 2:
      return reader.u16(what)
    case 3:
      return reader.i16(what)
    case 4:
      return reader.u32(what)
    case 5:
      return reader.i32(what)
    case 6:
      return reader.f32(what)
    case 7:
      return reader.u8(what) !== 0
    case 8:
      return reader.text(what)
    case 9:
      return readArray(reader, what, label, depth)
    case 10:
      return plain(reader.u64(what))
    case 11:
      return plain(reader.i64(what))
    case 12:
      return reader.f64(what)
    default:
      throw bad(label, `${what} has the type ${type}, which the format does not know`)
  }
}

function readArray(reader: Reader, what: string, label: string, depth: number): GgufValue[] {
  if (depth >= MAX_DEPTH) {
    throw bad(label, `${what} is an array nested more than ${MAX_DEPTH} deep`, 'remove that key')
  }
  const type = reader.u32(what)
  const count = reader.u64(what)
  const least = LEAST_BYTES[type]
  if (least === undefined) {
    throw bad(label, `${what} is an array of the type ${type}, which the format does not know`)
  }
  if (count * BigInt(least) > BigInt(reader.left())) {
    throw bad(
      label,
      `${what} says that it has ${count} entries, but the ${reader.left()} bytes that follow cannot hold so many`,
    )
  }
  const values: GgufValue[] = []
  for (let i = 0n; i < count; i++) values.push(readValue(reader, type, what, label, depth + 1))
  return values
}

/** A number where it is exact, else the big integer. */
function plain(value: bigint): number | bigint {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

function readAlignment(metadata: ReadonlyMap<string, GgufValue>, label: string): number {
  const value = metadata.get('general.alignment') ?? 32
  if (typeof value === 'number' && value > 0 && value % 8 === 0 && value <= 1 << 20) return value
  throw bad(label, `general.alignment is ${String(value)}, but must be a multiple of 8`)
}

interface TensorInfo {
  readonly name: string
  readonly shape: readonly number[]
  readonly type: number
  readonly offset: bigint
}

function readInfos(reader: Reader, count: number, label: string): TensorInfo[] {
  const infos: TensorInfo[] = []
  const seen = new Set<string>()
  for (let i = 0; i < count; i++) {
    const name = reader.text(`the name of tensor ${i + 1} of ${count}`)
    const what = `the entry of the tensor ${shorten(name)}`
    if (seen.has(name)) throw bad(label, `the tensor ${shorten(name)} is listed twice`)
    seen.add(name)
    const rank = reader.u32(what)
    if (rank > 4) {
      throw bad(label, `the tensor ${shorten(name)} has ${rank} dimensions, but the format allows 4`)
    }
    const innermostFirst: number[] = []
    for (let k = 0; k < rank; k++) {
      const length = reader.u64(what)
      if (length > BigInt(Number.MAX_SAFE_INTEGER)) {
        throw bad(label, `the tensor ${shorten(name)} has a dimension of ${length}, larger than any file`)
      }
      innermostFirst.push(Number(length))
    }
    infos.push({ name, shape: innermostFirst.reverse(), type: reader.u32(what), offset: reader.u64(what) })
  }
  return infos
}

interface Bounds {
  readonly label: string
  readonly real: string
  readonly size: number
  readonly dataStart: number
  readonly alignment: number
}

function place({ name, shape, type, offset }: TensorInfo, bounds: Bounds): TensorEntry {
  const { label, real, size, dataStart, alignment } = bounds
  const fail = (why: string, remedy?: string) => bad(label, `the tensor ${shorten(name)} ${why}`, remedy)
  const dtype = ggmlName(type)
  const layout = dtype === null ? undefined : GGML_LAYOUTS.get(dtype)
  if (dtype === null || layout === undefined) {
    throw new HeadscopeError(
      'unsupported',
      `${label}: the tensor ${shorten(name)} has the type ${type} (${describeType(type)}), which is not decoded; convert the file to one of ${[...GGML_LAYOUTS.keys()].join(', ')}.`,
    )
  }
  let values = 1
  for (const length of shape) {
    values *= length
    if (!Number.isSafeInteger(values * 8)) {
      throw fail(`has the dimensions [${shape.join(', ')}], which is larger than any file`)
    }
  }
  const row = shape.at(-1) ?? 1
  if (row % layout.values !== 0) {
    throw fail(
      `is ${dtype}, whose blocks have ${layout.values} numbers, but its rows have ${row}, not a multiple of that`,
    )
  }
  const bytes = (values / layout.values) * layout.bytes
  if (offset % BigInt(alignment) !== 0n) {
    throw fail(`begins at byte ${offset} of the data, which is not a multiple of ${alignment}`)
  }
  if (offset + BigInt(bytes) > BigInt(Math.max(0, size - dataStart))) {
    throw fail(
      `lies at bytes ${offset} to ${offset + BigInt(bytes)} of the data, but the file has only ${Math.max(0, size - dataStart)}; it is cut short`,
    )
  }
  return { name, dtype, shape, file: real, offset: dataStart + Number(offset), bytes }
}

function checkOverlap(entries: TensorEntry[], label: string): void {
  entries.sort((a, b) => a.offset - b.offset || a.bytes - b.bytes)
  for (let i = 1; i < entries.length; i++) {
    const before = entries[i - 1]!
    const entry = entries[i]!
    if (entry.offset < before.offset + before.bytes) {
      throw bad(label, `the tensors ${shorten(before.name)} and ${shorten(entry.name)} lie on the same bytes`)
    }
  }
}
