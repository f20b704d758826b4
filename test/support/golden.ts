/** Reads reference values and compares tensors the way the fixtures' README says: against the largest value. */
import { join } from 'node:path'
import { readSafetensorsFile, type StoredTensor } from '../../core/checkpoint/index.ts'

export const FIXTURES = join(import.meta.dirname, '..', 'fixtures')

/** Tensors of a golden file by name. */
export function readGolden(...parts: string[]): Map<string, StoredTensor> {
  return readSafetensorsFile(join(FIXTURES, ...parts))
}

/** Rows of an int64 [batch, pos] tensor as numbers. */
export function idRows(tensor: StoredTensor): number[][] {
  const [batch, length] = tensor.shape as [number, number]
  const flat = Array.from(tensor.data as BigInt64Array, Number)
  return Array.from({ length: batch }, (_, item) => flat.slice(item * length, (item + 1) * length))
}

/** Largest absolute difference over the largest absolute value of the reference. Equal infinities do not differ. */
export function relativeError(ours: ArrayLike<number>, reference: ArrayLike<number>): number {
  if (ours.length !== reference.length) return Number.POSITIVE_INFINITY
  let largest = 0
  let error = 0
  for (let i = 0; i < ours.length; i++) {
    const a = ours[i]!
    const b = reference[i]!
    if (a === b) {
      if (Number.isFinite(b)) largest = Math.max(largest, Math.abs(b))
      continue
    }
    if (!Number.isFinite(a) || !Number.isFinite(b)) return Number.POSITIVE_INFINITY
    largest = Math.max(largest, Math.abs(b))
    error = Math.max(error, Math.abs(a - b))
  }
  return largest === 0 ? error : error / largest
}
