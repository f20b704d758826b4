/**
 * Number formats of safetensors files and their exact decoding to float32.
 * In: little-endian bytes. Out: Float32Array. Cost: F16 and BF16 about 1 GB/s of output.
 */
import { HeadscopeError } from '../errors.ts'
import { shorten } from './json.ts'
import type { TensorEntry } from './types.ts'

/** Bits per value of every dtype of the format. */
export const DTYPE_BITS: ReadonlyMap<string, number> = new Map([
  ['F4', 4],
  ['F6_E2M3', 6],
  ['F6_E3M2', 6],
  ['BOOL', 8],
  ['U8', 8],
  ['I8', 8],
  ['F8_E5M2', 8],
  ['F8_E4M3', 8],
  ['F8_E4M3FNUZ', 8],
  ['F8_E5M2FNUZ', 8],
  ['F8_E8M0', 8],
  ['I16', 16],
  ['U16', 16],
  ['F16', 16],
  ['BF16', 16],
  ['I32', 32],
  ['U32', 32],
  ['F32', 32],
  ['F64', 64],
  ['I64', 64],
  ['U64', 64],
  ['C64', 64],
])

/** Formats that a weight may have. */
export const FLOAT_DTYPES: ReadonlySet<string> = new Set(['F32', 'F16', 'BF16', 'F64'])

/** @throws HeadscopeError when the tensor is not stored as floating point numbers that are read exactly */
export function requireFloat(entry: TensorEntry): void {
  if (FLOAT_DTYPES.has(entry.dtype)) return
  throw new HeadscopeError(
    'unsupported',
    `The tensor ${shorten(entry.name)} is stored as ${entry.dtype}, but weights are read from F32, F16, BF16 or F64; convert the checkpoint to one of these.`,
  )
}

let halfTable: Float32Array | null = null

/** float32 of every F16 bit pattern, [65536]. */
function halves(): Float32Array {
  if (halfTable) return halfTable
  const table = new Float32Array(65536)
  for (let bits = 0; bits < 65536; bits++) {
    const sign = bits & 0x8000 ? -1 : 1
    const exponent = (bits >> 10) & 31
    const fraction = bits & 1023
    if (exponent === 31) table[bits] = fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY
    else if (exponent === 0) table[bits] = sign * fraction * 2 ** -24
    else table[bits] = sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
  }
  halfTable = table
  return table
}

/**
 * Decodes stored bytes to float32. F64 values round to the nearest float32.
 * @param bytes whole values; must start at an address that is a multiple of the value's size
 * @param target [values]
 */
export function decodeFloats(dtype: string, bytes: Uint8Array, target: Float32Array): void {
  const { buffer, byteOffset, byteLength } = bytes
  if (dtype === 'F32') {
    target.set(new Float32Array(buffer, byteOffset, byteLength / 4))
  } else if (dtype === 'F64') {
    target.set(new Float64Array(buffer, byteOffset, byteLength / 8))
  } else if (dtype === 'BF16') {
    const source = new Uint16Array(buffer, byteOffset, byteLength / 2)
    const bits = new Uint32Array(target.buffer, target.byteOffset, target.length)
    for (let i = 0; i < source.length; i++) bits[i] = source[i]! << 16
  } else if (dtype === 'F16') {
    const source = new Uint16Array(buffer, byteOffset, byteLength / 2)
    const table = halves()
    for (let i = 0; i < source.length; i++) target[i] = table[source[i]!]!
  } else {
    throw new HeadscopeError('internal', `dtype: ${dtype} cannot be decoded to float32.`)
  }
}
