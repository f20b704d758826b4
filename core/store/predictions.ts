/** Predictions of one item as float64 [pos, 1 + 3 top], so that what is read back is what was given, bit for bit. */
import type { Prediction, TopToken } from '../run/types.ts'
import { aligned, bytesOf } from './codec.ts'

/** No token follows the last position: its loss is null, kept as -1 (a loss is never below 0). */
const NO_LOSS = -1
/** A probability that does not exist is kept as -1 too. */
const NO_PROB = -1

export function packPredictions(positions: readonly Prediction[]): { top: number; data: Buffer } {
  const top = Math.max(0, ...positions.map((p) => p.top.length))
  const width = 1 + 3 * top
  const out = new Float64Array(positions.length * width).fill(Number.NaN)
  positions.forEach((position, i) => {
    out[i * width] = position.loss ?? NO_LOSS
    position.top.forEach((token, j) => {
      out.set([token.id, token.logit, token.prob ?? NO_PROB], i * width + 1 + 3 * j)
    })
  })
  return { top, data: bytesOf(out) }
}

export function unpackPredictions(blob: Uint8Array, top: number): Prediction[] {
  const data = aligned(blob, 8)
  const numbers = new Float64Array(data.buffer, data.byteOffset, data.byteLength / 8)
  const width = 1 + 3 * top
  return Array.from({ length: numbers.length / width }, (_, i) => {
    const row = numbers.subarray(i * width, (i + 1) * width)
    const tokens: TopToken[] = []
    for (let j = 1; j < width && !Number.isNaN(row[j]!); j += 3)
      tokens.push({ id: row[j]!, logit: row[j + 1]!, prob: row[j + 2] === NO_PROB ? null : row[j + 2]! })
    return { top: tokens, loss: row[0] === NO_LOSS ? null : row[0]! }
  })
}
