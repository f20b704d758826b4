/** Predictions from whole logits, for models that hand them out: likeliest tokens and the loss of what follows. */
import type { Prediction } from './types.ts'

/** One prediction a position of [pos, d_vocab] logits. Ties go to the lowest id; without finite logits no probability. */
export function predictionsOf(logits: Float32Array, ids: readonly number[], top: number): Prediction[] {
  if (top === 0) return []
  const vocab = logits.length / ids.length
  return ids.map((_, pos) => {
    const row = logits.subarray(pos * vocab, (pos + 1) * vocab)
    const largest = row.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY)
    const sum = largest + Math.log(row.reduce((total, value) => total + Math.exp(value - largest), 0))
    const known = Number.isFinite(sum)
    const next = ids[pos + 1]
    return {
      top: likeliest(row, top).map((id) => {
        const logit = row[id]!
        return { id, logit, prob: known ? Math.exp(logit - sum) : null }
      }),
      loss: known && next !== undefined ? sum - row[next]! : null,
    }
  })
}

// --- Internal helpers ---

/** Ids of the largest finite values, largest first. */
function likeliest(row: Float32Array, count: number): number[] {
  const best: number[] = []
  for (let id = 0; id < row.length; id++) {
    if (!Number.isFinite(row[id]!)) continue
    if (best.length === count && row[id]! <= row[best.at(-1)!]!) continue
    const at = best.findIndex((other) => row[id]! > row[other]!)
    best.splice(at < 0 ? best.length : at, 0, id)
    if (best.length > count) best.pop()
  }
  return best
}
