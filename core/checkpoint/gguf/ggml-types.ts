/**
 * Number formats of GGUF files.
 * In: the type number of a tensor. Out: its name, and for formats that are decoded the size of a block.
 */
import { createRequire } from 'node:module'

/** Stored in blocks of `values` numbers, `bytes` each. */
export interface BlockLayout {
  readonly values: number
  readonly bytes: number
}

/** Formats that are decoded, by name. A quantised block holds its own scales. */
export const GGML_LAYOUTS: ReadonlyMap<string, BlockLayout> = new Map([
  ['F32', { values: 1, bytes: 4 }],
  ['F16', { values: 1, bytes: 2 }],
  ['BF16', { values: 1, bytes: 2 }],
  ['F64', { values: 1, bytes: 8 }],
  ['Q4_0', { values: 32, bytes: 18 }],
  ['Q4_1', { values: 32, bytes: 20 }],
  ['Q5_0', { values: 32, bytes: 22 }],
  ['Q5_1', { values: 32, bytes: 24 }],
  ['Q8_0', { values: 32, bytes: 34 }],
  ['IQ4_NL', { values: 32, bytes: 18 }],
  ['Q2_K', { values: 256, bytes: 84 }],
  ['Q3_K', { values: 256, bytes: 110 }],
  ['Q4_K', { values: 256, bytes: 144 }],
  ['Q5_K', { values: 256, bytes: 176 }],
  ['Q6_K', { values: 256, bytes: 210 }],
  ['Q8_K', { values: 256, bytes: 292 }],
  ['IQ4_XS', { values: 256, bytes: 136 }],
])

/** Numbers of the formats that are decoded. */
const DECODED: ReadonlyMap<number, string> = new Map([
  [0, 'F32'],
  [1, 'F16'],
  [2, 'Q4_0'],
  [3, 'Q4_1'],
  [6, 'Q5_0'],
  [7, 'Q5_1'],
  [8, 'Q8_0'],
  [10, 'Q2_K'],
  [11, 'Q3_K'],
  [12, 'Q4_K'],
  [13, 'Q5_K'],
  [14, 'Q6_K'],
  [15, 'Q8_K'],
  [20, 'IQ4_NL'],
  [23, 'IQ4_XS'],
  [28, 'F64'],
  [30, 'BF16'],
])

/** Numbers that are free again. */
const REMOVED: ReadonlyMap<number, string> = new Map([
  [4, 'Q4_2'],
  [5, 'Q4_3'],
  [31, 'Q4_0_4_4'],
  [32, 'Q4_0_4_8'],
  [33, 'Q4_0_8_8'],
  [36, 'IQ4_NL_4_4'],
  [37, 'IQ4_NL_4_8'],
  [38, 'IQ4_NL_8_8'],
])

/** The format of a type number, or null when it is not decoded. */
export function ggmlName(type: number): string | null {
  return DECODED.get(type) ?? null
}

/** What a type number that is not decoded stands for, in words. */
export function describeType(type: number): string {
  const removed = REMOVED.get(type)
  if (removed) return `${removed}, which was removed from the format`
  // The package knows the newest names; it is loaded only here, where opening fails anyway.
  const { GGMLQuantizationType } = createRequire(import.meta.url)(
    '@huggingface/gguf',
  ) as typeof import('@huggingface/gguf')
  return GGMLQuantizationType[type] ?? 'which the format does not know'
}
