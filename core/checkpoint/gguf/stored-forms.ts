/**
 * What llama.cpp's converter did to weights, per architecture, as the way back.
 * In: a tensor's stem, suffix and stored shape. Out: the form that turns it into the tensor of transformers, or null
 * where the two are the same (or the shape fits nothing: then binding says so).
 */
import type { StoredForm } from '../types.ts'
import type { Settings } from './metadata.ts'

export type FormOf = (
  stem: string,
  suffix: string,
  shape: readonly number[],
  s: Settings,
) => StoredForm | null

/** q and k rows [head, 2, d/2] were written as [head, d/2, 2], so that neighbours turn together. */
export function pairs(
  stem: string,
  _suffix: string,
  shape: readonly number[],
  s: Settings,
): StoredForm | null {
  if (stem !== 'blk.#.attn_q' && stem !== 'blk.#.attn_k') return null
  const queries = s.count('attention.head_count')
  const heads = stem === 'blk.#.attn_q' ? queries : (s.maybeCount('attention.head_count_kv') ?? queries)
  const [rows = 1, ...rest] = shape
  const half = rows / heads / 2
  if (!Number.isSafeInteger(half)) return null // the shape is wrong, and binding says so
  return { shape: [heads, half, 2, ...rest], order: [0, 2, 1, ...rest.map((_, i) => 3 + i)] }
}

/** Fused rows [head, 3, d] were written as [3, head, d]. */
export function fusedByHead(
  stem: string,
  _suffix: string,
  shape: readonly number[],
  s: Settings,
): StoredForm | null {
  if (stem !== 'blk.#.attn_qkv') return null
  const heads = s.count('attention.head_count')
  const [rows = 1, ...rest] = shape
  const width = rows / heads / 3
  if (!Number.isSafeInteger(width)) return null
  return { shape: [3, heads, width, ...rest], order: [1, 0, 2, ...rest.map((_, i) => 3 + i)] }
}

/** Conv1D weights [in, out] were written as [out, in]. */
export function transposed(stem: string, suffix: string, shape: readonly number[]): StoredForm | null {
  const matrix = /^blk\.#\.(attn_qkv|attn_output|ffn_up|ffn_down)$/.test(stem) && suffix === '.weight'
  return matrix && shape.length === 2 ? { shape, order: [1, 0] } : null
}

/** Gains 1 + w were written for w. */
export function shiftedGains(stem: string, suffix: string, shape: readonly number[]): StoredForm | null {
  if (!stem.endsWith('norm') || suffix !== '.weight') return null
  return { shape, order: shape.map((_, i) => i), add: -1 }
}

/**
 * Falcon's rows, by key/value head [queries of its group | key | value], were written as [all queries | all keys | all
 * values].
 */
export function fusedByGroup(
  stem: string,
  _suffix: string,
  shape: readonly number[],
  s: Settings,
): StoredForm | null {
  if (stem !== 'blk.#.attn_qkv') return null
  const heads = s.count('attention.head_count')
  const groups = s.maybeCount('attention.head_count_kv') ?? heads
  const [rows = 0] = shape
  const width = rows / (heads + 2 * groups)
  const queries = (heads / groups) * width
  if (groups === 1 || !Number.isSafeInteger(width) || !Number.isSafeInteger(queries)) return null
  const runs = Array.from({ length: groups }, (_, g): [number, number][] => [
    [g * queries, queries],
    [heads * width + g * width, width],
    [(heads + groups) * width + g * width, width],
  ]).flat()
  return { shape, order: shape.map((_, i) => i), rows: runs }
}
