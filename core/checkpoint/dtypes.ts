/**
 * Number formats of weights and their exact decoding to float32.
 * In: little-endian bytes. Out: Float32Array. Cost: F16 and BF16 about 1 GB/s of output.
 */
import { HeadscopeError } from '../errors.ts'
import { DEQUANTISERS } from './gguf/dequantise.ts'
import { type BlockLayout, GGML_LAYOUTS } from './gguf/ggml-types.ts'
import { HALVES } from './half.ts'
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

/**
 * float32 of every bit pattern of the 8-bit formats that a weight may have, [256] each (Micikevicius et al. 2022,
 * 2209.05433). E4M3 has no infinity: only all ones are NaN. E5M2 is the upper half of a float16.
 */
const EIGHT_BIT: ReadonlyMap<string, Float32Array> = new Map([
  ['F8_E4M3', Float32Array.from({ length: 256 }, (_, bits) => e4m3(bits))],
  ['F8_E5M2', Float32Array.from({ length: 256 }, (_, bits) => HALVES[bits << 8]!)],
])

function e4m3(bits: number): number {
  const sign = bits & 0x80 ? -1 : 1
  const exponent = (bits >> 3) & 15
  const fraction = bits & 7
  if (exponent === 15 && fraction === 7) return Number.NaN
  return sign * (exponent === 0 ? fraction * 2 ** -9 : (1 + fraction / 8) * 2 ** (exponent - 7))
}

/** Formats that a weight may have: floating point numbers, and the blocks of GGUF files. */
export const FLOAT_DTYPES: ReadonlySet<string> = new Set([
  'F32',
  'F16',
  'BF16',
  'F64',
  ...EIGHT_BIT.keys(),
  ...GGML_LAYOUTS.keys(),
])

/** @throws HeadscopeError when the tensor is not stored as floating point numbers that are read exactly */
export function requireFloat(entry: TensorEntry): void {
  if (FLOAT_DTYPES.has(entry.dtype)) return
  throw new HeadscopeError(
    'unsupported',
    `The tensor ${shorten(entry.name)} is stored as ${entry.dtype}, but weights are read from F32, F16, BF16, F64, F8_E4M3 or F8_E5M2; convert the checkpoint to one of these.`,
  )
}

/** Smallest unit of a format: `values` numbers in `bytes` bytes. */
export function blockOf(dtype: string): BlockLayout {
  return GGML_LAYOUTS.get(dtype) ?? { values: 1, bytes: (DTYPE_BITS.get(dtype) ?? 8) / 8 }
}

/**
 * Decodes stored bytes to float32. F64 values round to the nearest float32.
 * @param bytes whole values or blocks; must start at an address that is a multiple of the value's size
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
    for (let i = 0; i < source.length; i++) target[i] = HALVES[source[i]!]!
  } else {
    const table = EIGHT_BIT.get(dtype)
    const dequantise = DEQUANTISERS.get(dtype)
    if (table) for (let i = 0; i < byteLength; i++) target[i] = table[bytes[i]!]!
    else if (dequantise) dequantise(bytes, byteLength / blockOf(dtype).bytes, target)
    else throw new HeadscopeError('internal', `dtype: ${dtype} cannot be decoded to float32.`)
  }
}
