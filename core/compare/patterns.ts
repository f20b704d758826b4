/**
 * How far two models' patterns are apart on the same ids. In: the patterns of both, layer by layer. Out: mean total
 * variation per head, or between every two heads. Total variation of a row: ½ Σ_k |A[q,k] − B[q,k]|, 0 to 1.
 */
import { HeadscopeError } from '../errors.ts'
import { blockHook, parseHook } from '../graph/hook-names.ts'
import { decoderOf } from '../graph/model-spec.ts'
import type { Tensor } from '../graph/tensor.ts'
import type { Model } from '../run/model.ts'

/** Mean over the rows of one item of one head of each. Row 0, where both are 1, is left out. */
export function rowDistance(
  a: Tensor,
  b: Tensor,
  place: { readonly item: number; readonly headA: number; readonly headB: number; readonly length: number },
): number {
  const { item, headA, headB, length } = place
  const base = (tensor: Tensor, head: number) => {
    const [, heads, queries, keys] = tensor.shape as [number, number, number, number]
    return { from: (item * heads + head) * queries * keys, keys }
  }
  const inA = base(a, headA)
  const inB = base(b, headB)
  if (length < 2) return 0
  let total = 0
  for (let query = 1; query < length; query++) {
    const rowA = inA.from + query * inA.keys
    const rowB = inB.from + query * inB.keys
    let row = 0
    for (let key = 0; key < length; key++) row += Math.abs(a.data[rowA + key]! - b.data[rowB + key]!)
    total += row / 2
  }
  return total / (length - 1)
}

export interface PatternDifference {
  readonly length: number
  /** [query, key] row by row. */
  readonly a: Float32Array
  readonly b: Float32Array
  /** B − A. */
  readonly difference: Float32Array
}

/** One head's pattern in both models on the same ids, and the signed difference. Throws `bad-request`. */
export async function patternDifference(
  a: Model,
  b: Model,
  ids: readonly number[],
  at: { readonly layer: number; readonly head: number },
  signal?: AbortSignal,
): Promise<PatternDifference> {
  const one = async (model: Model) => {
    const heads = decoderOf(model.spec).layers[at.layer]?.nHeads ?? 0
    if (at.head < 0 || at.head >= heads)
      throw new HeadscopeError('bad-request', `${model.name} has no head L${at.layer}H${at.head}.`)
    const hook = blockHook(at.layer, 'attn.hook_pattern')
    const run = await model.run(ids, { capture: [hook], top: 0, ...(signal ? { signal } : {}) })
    const size = ids.length * ids.length
    return run.get(hook).data.slice(at.head * size, (at.head + 1) * size)
  }
  const [inA, inB] = [await one(a), await one(b)]
  return { length: ids.length, a: inA, b: inB, difference: inB.map((value, i) => value - inA[i]!) }
}

/** Runs prompts and keeps every layer's patterns, and the logits where asked. */
export async function keepPatterns(
  model: Model,
  prompts: readonly (readonly number[])[],
  options: { readonly logits: boolean; readonly signal: AbortSignal | undefined },
): Promise<{ patterns: Tensor[]; logits: Tensor | null; warnings: readonly string[] }> {
  const patterns: Tensor[] = []
  let logits: Tensor | null = null
  const run = await model.run(prompts, {
    capture: ['blocks.*.attn.hook_pattern', ...(options.logits ? ['logits'] : [])],
    top: 0,
    ...(options.signal ? { signal: options.signal } : {}),
    onCapture: (hook, tensor) => {
      const { layer } = parseHook(hook)
      if (layer === null) logits = tensor
      else patterns[layer] = tensor
    },
  })
  return { patterns, logits, warnings: run.warnings }
}
