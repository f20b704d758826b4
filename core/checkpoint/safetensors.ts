/**
 * The header of a safetensors file, believed in nothing.
 * In: a file. Out: entries with absolute places, every rule of the format checked, no tensor data read.
 * Cost: the header (at most 100 MB) and its entries; never memory on the word of a length.
 * Format: 8 bytes little-endian header length, JSON, then the data without overlap or hole.
 */
import { closeSync } from 'node:fs'
import { basename } from 'node:path'
import { HeadscopeError } from '../errors.ts'
import { DTYPE_BITS } from './dtypes.ts'
import { openFile, readExactly, whatElse } from './files.ts'
import { isObject, JsonError, parseJson, shorten, show } from './json.ts'
import type { TensorEntry } from './types.ts'

const MAX_HEADER_BYTES = 100_000_000

export interface SafetensorsHeader {
  readonly file: string // real path
  readonly size: number
  readonly tensors: ReadonlyMap<string, TensorEntry>
  readonly metadata: ReadonlyMap<string, string>
}

/**
 * Reads and validates the header of a safetensors file.
 * @throws HeadscopeError naming the file, and the tensor where there is one
 */
export function readHeader(path: string): SafetensorsHeader {
  const label = basename(path)
  const file = openFile(path, label)
  try {
    const { text, dataStart } = readHeaderText(file.fd, file.size, label)
    const header = parseHeader(text, label)
    const metadata = readMetadata(header, label)
    const tensors = new Map<string, TensorEntry>()
    const dataBytes = file.size - dataStart
    for (const [name, value] of Object.entries(header)) {
      if (name === '__metadata__') continue
      tensors.set(name, readEntry(name, value, { label, real: file.real, dataStart, dataBytes }))
    }
    checkCoverage([...tensors.values()], dataStart, file.size, label)
    return { file: file.real, size: file.size, tensors, metadata }
  } finally {
    closeSync(file.fd)
  }
}

function bad(label: string, why: string, remedy = 'download the file again'): HeadscopeError {
  return new HeadscopeError('bad-checkpoint', `${label}: ${why}; ${remedy}.`)
}

function readHeaderText(fd: number, size: number, label: string): { text: string; dataStart: number } {
  const start = readExactly(fd, 0, Math.min(size, 64), label)
  const other = whatElse(Buffer.from(start).toString('latin1'))
  if (other) throw bad(label, `this is ${other.what}, not a safetensors file`, other.remedy)
  if (size < 8) throw bad(label, `the file has ${size} bytes, fewer than the 8 of the header length`)
  const length = new DataView(start.buffer).getBigUint64(0, true)
  if (length > BigInt(MAX_HEADER_BYTES)) {
    throw bad(label, `the header length says ${length} bytes, but at most ${MAX_HEADER_BYTES} are allowed`)
  }
  if (length > BigInt(size - 8)) {
    throw bad(
      label,
      `the header length says ${length} bytes, but only ${size - 8} follow; the file is cut short`,
    )
  }
  if (length < 2n) throw bad(label, `the header length says ${length} bytes, too few for a header`)
  const bytes = readExactly(fd, 8, Number(length), label)
  if (bytes[0] !== 0x7b) throw bad(label, 'the header does not start with "{"')
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes), dataStart: 8 + Number(length) }
  } catch {
    throw bad(label, 'the header is not valid UTF-8')
  }
}

function parseHeader(text: string, label: string): { [key: string]: unknown } {
  let header: unknown
  try {
    header = parseJson(text)
  } catch (error) {
    if (error instanceof JsonError) throw bad(label, `the header is not valid: ${error.message}`)
    throw error
  }
  if (!isObject(header)) throw bad(label, 'the header is not a JSON object')
  return header
}

function readMetadata(header: { [key: string]: unknown }, label: string): Map<string, string> {
  const metadata = new Map<string, string>()
  const raw = header.__metadata__
  if (raw === undefined) return metadata
  if (!isObject(raw)) throw bad(label, '__metadata__ is not an object of texts')
  for (const [key, value] of Object.entries(raw)) {
    if (typeof value !== 'string') {
      throw bad(
        label,
        `__metadata__ may hold texts only, but ${JSON.stringify(shorten(key))} is ${show(value)}`,
      )
    }
    metadata.set(key, value)
  }
  return metadata
}

interface Place {
  readonly label: string
  readonly real: string
  readonly dataStart: number
  readonly dataBytes: number
}

function readEntry(name: string, value: unknown, place: Place): TensorEntry {
  const fail = (why: string) => bad(place.label, `the tensor ${shorten(name)} ${why}`)
  if (!isObject(value))
    throw fail(`has the entry ${show(value)}, but must have dtype, shape and data_offsets`)
  const { dtype, shape, data_offsets: offsets } = value
  if (typeof dtype !== 'string')
    throw fail(`has ${given('dtype', dtype)}, but it must be a text such as "F32"`)
  const bits = DTYPE_BITS.get(dtype)
  if (bits === undefined) throw fail(`has the dtype ${shorten(dtype)}, which the format does not know`)
  if (!Array.isArray(shape))
    throw fail(`has ${given('shape', shape)}, but it must be a list of whole numbers`)
  let values = 1
  for (const length of shape as unknown[]) {
    if (!Number.isSafeInteger(length) || (length as number) < 0) {
      throw fail(`has the shape ${show(shape)}, but sizes must be whole numbers of 0 or more`)
    }
    values *= length as number
    if (!Number.isSafeInteger(values * 8))
      throw fail(`has the shape ${show(shape)}, which is larger than any file`)
  }
  if (!Array.isArray(offsets) || offsets.length !== 2) {
    throw fail(`has ${given('data_offsets', offsets)}, but they must be two whole numbers`)
  }
  const [begin, end] = offsets as unknown[]
  for (const offset of [begin, end]) {
    if (!Number.isSafeInteger(offset) || (offset as number) < 0) {
      throw fail(`has the data_offsets ${show(offsets)}, but they must be whole numbers of 0 or more`)
    }
  }
  const from = begin as number
  const to = end as number
  if (from > to) throw fail(`begins at byte ${from}, after its end at ${to}`)
  if (to > place.dataBytes) {
    throw fail(
      `ends at byte ${to} of the data, but the file has only ${place.dataBytes}; the file is cut short`,
    )
  }
  const bytes = (values * bits) / 8
  if (to - from !== bytes) {
    throw fail(
      `has ${to - from} bytes, but its shape [${(shape as number[]).join(', ')}] of ${dtype} needs ${bytes}`,
    )
  }
  return { name, dtype, shape: shape as number[], file: place.real, offset: place.dataStart + from, bytes }
}

function given(key: string, value: unknown): string {
  return value === undefined ? `no ${key}` : `the ${key} ${show(value)}`
}

/** Every byte of the data belongs to exactly one tensor. */
function checkCoverage(entries: TensorEntry[], dataStart: number, size: number, label: string): void {
  const sorted = entries.sort((a, b) => a.offset - b.offset || a.bytes - b.bytes)
  let at = dataStart
  let before: TensorEntry | null = null
  for (const entry of sorted) {
    if (entry.offset < at) {
      throw bad(label, `the tensors ${shorten(before?.name ?? '')} and ${shorten(entry.name)} overlap`)
    }
    if (entry.offset > at) {
      throw bad(
        label,
        `${entry.offset - at} bytes before the tensor ${shorten(entry.name)} belong to no tensor`,
      )
    }
    at = entry.offset + entry.bytes
    before = entry
  }
  if (at !== size) throw bad(label, `the file has ${size} bytes, but its tensors end at ${at}`)
}
