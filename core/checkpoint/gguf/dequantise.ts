/**
 * Quantised blocks → float32, bit for bit as llama.cpp's reference (dequantize_row_* in ggml-quants.c).
 * In: whole blocks. Out: values, [blocks · values of a block]. Cost: 300 MB/s of output and more on one core.
 * Scales are float16 and quants small integers, so that every product here is exact in a double and each value is
 * rounded once, when it is stored: the same number as float32 arithmetic gives.
 */
import { HALVES } from '../half.ts'

/** Decodes `blocks` blocks that begin at `source[0]`. */
export type Dequantiser = (source: Uint8Array, blocks: number, target: Float32Array) => void

function q4_0(s: Uint8Array, blocks: number, y: Float32Array): void {
  for (let b = 0, at = 0, to = 0; b < blocks; b++, at += 18, to += 32) {
    const d = HALVES[s[at]! | (s[at + 1]! << 8)]!
    for (let j = 0; j < 16; j++) {
      const byte = s[at + 2 + j]!
      y[to + j] = d * ((byte & 15) - 8)
      y[to + 16 + j] = d * ((byte >> 4) - 8)
    }
  }
}

function q4_1(s: Uint8Array, blocks: number, y: Float32Array): void {
  for (let b = 0, at = 0, to = 0; b < blocks; b++, at += 20, to += 32) {
    const d = HALVES[s[at]! | (s[at + 1]! << 8)]!
    const m = HALVES[s[at + 2]! | (s[at + 3]! << 8)]!
    for (let j = 0; j < 16; j++) {
      const byte = s[at + 4 + j]!
      y[to + j] = d * (byte & 15) + m
      y[to + 16 + j] = d * (byte >> 4) + m
    }
  }
}

function q5_0(s: Uint8Array, blocks: number, y: Float32Array): void {
  for (let b = 0, at = 0, to = 0; b < blocks; b++, at += 22, to += 32) {
    const d = HALVES[s[at]! | (s[at + 1]! << 8)]!
    const high = s[at + 2]! | (s[at + 3]! << 8) | (s[at + 4]! << 16) | (s[at + 5]! << 24)
    for (let j = 0; j < 16; j++) {
      const byte = s[at + 6 + j]!
      y[to + j] = d * (((byte & 15) | (((high >>> j) & 1) << 4)) - 16)
      y[to + 16 + j] = d * (((byte >> 4) | (((high >>> (j + 16)) & 1) << 4)) - 16)
    }
  }
}

function q5_1(s: Uint8Array, blocks: number, y: Float32Array): void {
  for (let b = 0, at = 0, to = 0; b < blocks; b++, at += 24, to += 32) {
    const d = HALVES[s[at]! | (s[at + 1]! << 8)]!
    const m = HALVES[s[at + 2]! | (s[at + 3]! << 8)]!
    const high = s[at + 4]! | (s[at + 5]! << 8) | (s[at + 6]! << 16) | (s[at + 7]! << 24)
    for (let j = 0; j < 16; j++) {
      const byte = s[at + 8 + j]!
      y[to + j] = d * ((byte & 15) | (((high >>> j) & 1) << 4)) + m
      y[to + 16 + j] = d * ((byte >> 4) | (((high >>> (j + 16)) & 1) << 4)) + m
    }
  }
}

function q8_0(s: Uint8Array, blocks: number, y: Float32Array): void {
  for (let b = 0, at = 0, to = 0; b < blocks; b++, at += 34, to += 32) {
    const d = HALVES[s[at]! | (s[at + 1]! << 8)]!
    for (let j = 0; j < 32; j++) y[to + j] = d * ((s[at + 2 + j]! << 24) >> 24)
  }
}

function q2_k(s: Uint8Array, blocks: number, y: Float32Array): void {
  for (let b = 0, at = 0, to = 0; b < blocks; b++, at += 84) {
    const d = HALVES[s[at + 80]! | (s[at + 81]! << 8)]!
    const min = HALVES[s[at + 82]! | (s[at + 83]! << 8)]!
    let scale = at
    for (let q = at + 16; q < at + 80; q += 32) {
      for (let shift = 0; shift < 8; shift += 2) {
        for (let half = 0; half < 32; half += 16) {
          const sc = s[scale++]!
          const dl = d * (sc & 15)
          const ml = min * (sc >> 4)
          for (let l = 0; l < 16; l++) y[to++] = dl * ((s[q + half + l]! >> shift) & 3) - ml
        }
      }
    }
  }
}

function q3_k(s: Uint8Array, blocks: number, y: Float32Array): void {
  for (let b = 0, at = 0, to = 0; b < blocks; b++, at += 110) {
    const d = HALVES[s[at + 108]! | (s[at + 109]! << 8)]!
    const packed = at + 96 // 16 scales of 6 bits: 8 bytes of low nibbles, 4 bytes of the two high bits
    let i = 0
    let mask = 1
    for (let q = at + 32; q < at + 96; q += 32) {
      for (let shift = 0; shift < 8; shift += 2) {
        for (let half = 0; half < 32; half += 16) {
          const low = i < 8 ? s[packed + i]! & 15 : s[packed + i - 8]! >> 4
          const high = (s[packed + 8 + (i & 3)]! >> (2 * (i >> 2))) & 3
          const dl = d * ((low | (high << 4)) - 32)
          i++
          for (let l = 0; l < 16; l++) {
            const minus = s[at + half + l]! & mask ? 0 : 4
            y[to++] = dl * (((s[q + half + l]! >> shift) & 3) - minus)
          }
        }
        mask <<= 1
      }
    }
  }
}

/** The j-th of 8 six-bit scales that Q4_K and Q5_K pack with 8 minima into 12 bytes. */
function scaleOf(s: Uint8Array, at: number, j: number): number {
  return j < 4 ? s[at + j]! & 63 : (s[at + j + 4]! & 15) | ((s[at + j - 4]! >> 6) << 4)
}

function minimumOf(s: Uint8Array, at: number, j: number): number {
  return j < 4 ? s[at + j + 4]! & 63 : (s[at + j + 4]! >> 4) | ((s[at + j]! >> 6) << 4)
}

function q4_k(s: Uint8Array, blocks: number, y: Float32Array): void {
  for (let b = 0, at = 0, to = 0; b < blocks; b++, at += 144) {
    const d = HALVES[s[at]! | (s[at + 1]! << 8)]!
    const min = HALVES[s[at + 2]! | (s[at + 3]! << 8)]!
    for (let part = 0; part < 4; part++, to += 64) {
      const q = at + 16 + 32 * part
      const d1 = d * scaleOf(s, at + 4, 2 * part)
      const m1 = min * minimumOf(s, at + 4, 2 * part)
      const d2 = d * scaleOf(s, at + 4, 2 * part + 1)
      const m2 = min * minimumOf(s, at + 4, 2 * part + 1)
      for (let l = 0; l < 32; l++) {
        const byte = s[q + l]!
        y[to + l] = d1 * (byte & 15) - m1
        y[to + 32 + l] = d2 * (byte >> 4) - m2
      }
    }
  }
}

function q5_k(s: Uint8Array, blocks: number, y: Float32Array): void {
  for (let b = 0, at = 0, to = 0; b < blocks; b++, at += 176) {
    const d = HALVES[s[at]! | (s[at + 1]! << 8)]!
    const min = HALVES[s[at + 2]! | (s[at + 3]! << 8)]!
    for (let part = 0; part < 4; part++, to += 64) {
      const q = at + 48 + 32 * part
      const d1 = d * scaleOf(s, at + 4, 2 * part)
      const m1 = min * minimumOf(s, at + 4, 2 * part)
      const d2 = d * scaleOf(s, at + 4, 2 * part + 1)
      const m2 = min * minimumOf(s, at + 4, 2 * part + 1)
      for (let l = 0; l < 32; l++) {
        const byte = s[q + l]!
        const high = s[at + 16 + l]! >> (2 * part)
        y[to + l] = d1 * ((byte & 15) | ((high & 1) << 4)) - m1
        y[to + 32 + l] = d2 * ((byte >> 4) | ((high & 2) << 3)) - m2
      }
    }
  }
}

function q6_k(s: Uint8Array, blocks: number, y: Float32Array): void {
  for (let b = 0, at = 0, to = 0; b < blocks; b++, at += 210) {
    const d = HALVES[s[at + 208]! | (s[at + 209]! << 8)]!
    for (let half = 0; half < 2; half++, to += 128) {
      const low = at + 64 * half
      const high = at + 128 + 32 * half
      for (let group = 0; group < 2; group++) {
        const scales = at + 192 + 8 * half + group
        const d1 = d * ((s[scales]! << 24) >> 24)
        const d2 = d * ((s[scales + 2]! << 24) >> 24)
        const d3 = d * ((s[scales + 4]! << 24) >> 24)
        const d4 = d * ((s[scales + 6]! << 24) >> 24)
        for (let l = 16 * group; l < 16 * group + 16; l++) {
          const a = s[low + l]!
          const c = s[low + 32 + l]!
          const h = s[high + l]!
          y[to + l] = d1 * (((a & 15) | ((h & 3) << 4)) - 32)
          y[to + 32 + l] = d2 * (((c & 15) | ((h & 12) << 2)) - 32)
          y[to + 64 + l] = d3 * (((a >> 4) | (h & 48)) - 32)
          y[to + 96 + l] = d4 * (((c >> 4) | ((h & 192) >> 2)) - 32)
        }
      }
    }
  }
}

const word = new DataView(new ArrayBuffer(4))

function q8_k(s: Uint8Array, blocks: number, y: Float32Array): void {
  for (let b = 0, at = 0, to = 0; b < blocks; b++, at += 292, to += 256) {
    for (let i = 0; i < 4; i++) word.setUint8(i, s[at + i]!)
    const d = word.getFloat32(0, true) // the one scale that is a float32: the product is rounded when stored
    for (let j = 0; j < 256; j++) y[to + j] = d * ((s[at + 4 + j]! << 24) >> 24)
  }
}

/** The 16 levels of IQ4_NL and IQ4_XS (kvalues_iq4nl). */
const LEVELS = Float64Array.of(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)

function iq4_nl(s: Uint8Array, blocks: number, y: Float32Array): void {
  for (let b = 0, at = 0, to = 0; b < blocks; b++, at += 18, to += 32) {
    const d = HALVES[s[at]! | (s[at + 1]! << 8)]!
    for (let j = 0; j < 16; j++) {
      const byte = s[at + 2 + j]!
      y[to + j] = d * LEVELS[byte & 15]!
      y[to + 16 + j] = d * LEVELS[byte >> 4]!
    }
  }
}

function iq4_xs(s: Uint8Array, blocks: number, y: Float32Array): void {
  for (let b = 0, at = 0, to = 0; b < blocks; b++, at += 136) {
    const d = HALVES[s[at]! | (s[at + 1]! << 8)]!
    const high = s[at + 2]! | (s[at + 3]! << 8)
    for (let part = 0; part < 8; part++, to += 32) {
      const low = (s[at + 4 + (part >> 1)]! >> (4 * (part & 1))) & 15
      const dl = d * ((low | (((high >> (2 * part)) & 3) << 4)) - 32)
      const q = at + 8 + 16 * part
      for (let j = 0; j < 16; j++) {
        const byte = s[q + j]!
        y[to + j] = dl * LEVELS[byte & 15]!
        y[to + 16 + j] = dl * LEVELS[byte >> 4]!
      }
    }
  }
}

/** By the name of the format. */
export const DEQUANTISERS: ReadonlyMap<string, Dequantiser> = new Map([
  ['Q4_0', q4_0],
  ['Q4_1', q4_1],
  ['Q5_0', q5_0],
  ['Q5_1', q5_1],
  ['Q8_0', q8_0],
  ['Q2_K', q2_k],
  ['Q3_K', q3_k],
  ['Q4_K', q4_k],
  ['Q5_K', q5_k],
  ['Q6_K', q6_k],
  ['Q8_K', q8_k],
  ['IQ4_NL', iq4_nl],
  ['IQ4_XS', iq4_xs],
])
