/** How far two models' next-token distributions are apart. In: rows of logits. Out: KL(A‖B) in nats, and agreement. */

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

// --- Internal helpers ---

function argmax(row: Float32Array, size: number): number {
  let best = 0
  for (let id = 1; id < size; id++) if (row[id]! > row[best]!) best = id
  return best
}
