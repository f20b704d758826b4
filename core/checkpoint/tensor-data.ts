/**
 * Tensor bytes, read on demand.
 * In: entries of validated headers. Out: float32 values, or the stored numbers of a whole file.
 * Cost: one copy of what is asked for; the file's size is checked again at every read.
 */
import { closeSync } from 'node:fs'
import { basename } from 'node:path'
import { HeadscopeError } from '../errors.ts'
import { requireFloat } from './dtypes.ts'
import { openFile, readExactly } from './files.ts'
import { floatChunks } from './float-chunks.ts'
import { readHeader } from './safetensors.ts'
import type { TensorEntry } from './types.ts'

/** Stored bytes of a tensor. @throws HeadscopeError when the file shrank or vanished */
export function readBytes(entry: TensorEntry): Uint8Array {
  const label = basename(entry.file)
  const file = openFile(entry.file, label)
  try {
    if (entry.offset + entry.bytes > file.size) {
      throw new HeadscopeError(
        'bad-checkpoint',
        `${label} became shorter since it was opened; open the checkpoint again.`,
      )
    }
    return readExactly(file.fd, entry.offset, entry.bytes, label)
  } finally {
    closeSync(file.fd)
  }
}

/**
 * A tensor as float32, row-major, [product of shape]. Every format exactly; F64 rounded to float32.
 * @throws HeadscopeError naming the dtype when it is not floating point
 */
export function readTensor(entry: TensorEntry): Float32Array<ArrayBuffer> {
  requireFloat(entry)
  if (entry.dtype === 'F32' && !entry.stored) {
    const bytes = readBytes(entry)
    return new Float32Array(bytes.buffer as ArrayBuffer, 0, bytes.length / 4)
  }
  const values = new Float32Array(entry.shape.reduce((a, b) => a * b, 1))
  let at = 0
  for (const chunk of floatChunks(entry)) {
    values.set(chunk, at)
    at += chunk.length
  }
  return values
}

export type TensorValues =
  | Float32Array
  | Float64Array
  | BigInt64Array
  | BigUint64Array
  | Int32Array
  | Uint32Array
  | Int16Array
  | Uint16Array
  | Int8Array
  | Uint8Array

export interface StoredTensor {
  readonly dtype: string
  readonly shape: readonly number[]
  readonly data: TensorValues
}

/** Every tensor of a file: F16 and BF16 as float32, other formats as their own typed array. */
export function readSafetensorsFile(path: string): Map<string, StoredTensor> {
  const out = new Map<string, StoredTensor>()
  for (const [name, entry] of readHeader(path).tensors) {
    out.set(name, { dtype: entry.dtype, shape: entry.shape, data: readValues(entry) })
  }
  return out
}

const VIEWS = new Map<string, (buffer: ArrayBuffer) => TensorValues>([
  ['F64', (b) => new Float64Array(b)],
  ['I64', (b) => new BigInt64Array(b)],
  ['U64', (b) => new BigUint64Array(b)],
  ['I32', (b) => new Int32Array(b)],
  ['U32', (b) => new Uint32Array(b)],
  ['I16', (b) => new Int16Array(b)],
  ['U16', (b) => new Uint16Array(b)],
  ['I8', (b) => new Int8Array(b)],
  ['U8', (b) => new Uint8Array(b)],
  ['BOOL', (b) => new Uint8Array(b)],
])

function readValues(entry: TensorEntry): TensorValues {
  const view = VIEWS.get(entry.dtype)
  return view ? view(readBytes(entry).buffer as ArrayBuffer) : readTensor(entry)
}
