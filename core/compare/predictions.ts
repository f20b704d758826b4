/** How far two models' next-token distributions are apart. In: logits of both on the same prompts. Out: KL(A‖B) in nats, and agreement. */
import { meanScore } from '../analysis/bootstrap.ts'
import type { Tensor } from '../graph/tensor.ts'
import type { PredictionComparison, PromptPrediction } from './types.ts'

/**
 * KL(A‖B) over the first `size` ids of one position, both distributions normalised over them; null where a logit is not
 * finite. `equal`: whether the likeliest ids agree (ties to the lowest id).
 */
export function divergence(
  a: Float32Array,
  b: Float32Array,
  size: number,
): { readonly kl: number | null; readonly equal: boolean } {
  const [bestA, bestB] = [argmax(a, size), argmax(b, size)]
  const topA = a[bestA]!
  const topB = b[bestB]!
  let sumA = 0
  let sumB = 0
  let weighted = 0
  // KL = Σ p (a − b) + ln Σ e^b − ln Σ e^a, in one pass.
  for (let id = 0; id < size; id++) {
    const inA = a[id]! - topA
    const inB = b[id]! - topB
    const p = Math.exp(inA)
    sumA += p
    sumB += Math.exp(inB)
    if (p > 0) weighted += p * (inA - inB)
  }
  const kl = weighted / sumA + Math.log(sumB) - Math.log(sumA)
  return { kl: Number.isFinite(kl) ? Math.max(0, kl) : null, equal: bestA === bestB }
}

/** The token ids over which distributions are compared: `only` these, or the first `size`. */
export interface ComparedIds {
  readonly size: number
  readonly only: Int32Array | null
}

/** Both models at every position of one prompt. */
export function predictionOf(
  a: Tensor,
  b: Tensor,
  item: number,
  ids: readonly number[],
  { size, only }: ComparedIds,
): PromptPrediction {
  const row = (tensor: Tensor, pos: number) => {
    const [, rows, vocab] = tensor.shape as [number, number, number]
    const from = (item * rows + pos) * vocab
    const logits = tensor.data.subarray(from, from + vocab)
    return only ? Float32Array.from(only, (id) => logits[id]!) : logits
  }
  const each = ids.map((_, pos) => divergence(row(a, pos), row(b, pos), size))
  return { ids, kl: each.map(({ kl }) => kl), top1_equal: each.map(({ equal }) => equal) }
}

/** Means over all positions, or why there are none. */
export function predictionSummary(
  prompts: readonly PromptPrediction[],
  problem: string | null,
  vocabulary: number,
  seed: number,
): PredictionComparison {
  const all = prompts.flatMap(({ kl }) => kl)
  const positions = all.length
  const nothing = { kl_interval: null, positions, vocabulary, prompts }
  if (problem) return { kl: null, top1_agreement: null, ...nothing, why: problem }
  if (positions === 0)
    return { kl: null, top1_agreement: null, ...nothing, why: 'no prompt is the same ids for both models' }
  const equal = prompts.flatMap(({ top1_equal }) => top1_equal).filter(Boolean).length
  if (all.some((kl) => kl === null))
    return {
      kl: null,
      top1_agreement: equal / positions,
      ...nothing,
      why: 'some logit is not a finite number',
    }
  const mean = (list: readonly (number | null)[]) =>
    (list as number[]).reduce((x, y) => x + y, 0) / list.length
  const { low, high } = meanScore(
    prompts.map(({ kl }) => mean(kl)),
    positions,
    seed,
  )
  return {
    ...nothing,
    kl: mean(all),
    kl_interval: low === null || high === null ? null : { low, high },
    top1_agreement: equal / positions,
  }
}

// --- Internal helpers ---

function argmax(row: Float32Array, size: number): number {
  let best = 0
  for (let id = 1; id < size; id++) if (row[id]! > row[best]!) best = id
  return best
}
