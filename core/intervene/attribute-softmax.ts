/**
 * The effect of a query or key on the metric with the softmax recomputed: Σ over its row of ΔA · ∂metric/∂A. A linear
 * estimate through a saturated softmax would be near 0 (Kramár et al. 2403.00745, section 3).
 */
import type { LayerSpec } from '../graph/model-spec.ts'

/** A layer's captures of the corrupt run. Flat, batch of one: q, k [pos, head, d_head]; the rest [head, query, key]. */
export interface SoftmaxRun {
  readonly q: Float32Array
  readonly k: Float32Array
  readonly scores: Float32Array
  readonly pattern: Float32Array
  readonly grad: Float32Array
}

/** Effects of each query [pos · head] when it takes its clean value: its whole row is recomputed. */
export function queryEffects(
  spec: LayerSpec,
  length: number,
  run: SoftmaxRun,
  clean: Float32Array,
): Float64Array {
  const effects = new Float64Array(length * spec.nHeads)
  const moved = new Float64Array(length)
  for (let head = 0; head < spec.nHeads; head++)
    for (let query = 0; query < length; query++) {
      const row = (head * length + query) * length
      let largest = Number.NEGATIVE_INFINITY
      for (let key = 0; key < length; key++) {
        moved[key] = movedScore(spec, run, row + key, head, query, key, clean, run.k)
        largest = Math.max(largest, moved[key]!)
      }
      let sum = 0
      for (let key = 0; key < length; key++) {
        moved[key] = Math.exp(moved[key]! - largest)
        sum += moved[key]!
      }
      let effect = 0
      for (let key = 0; key < length; key++)
        effect += (moved[key]! / sum - run.pattern[row + key]!) * run.grad[row + key]!
      effects[query * spec.nHeads + head] = effect
    }
  return effects
}

/** Effects of each key [pos · kv_head]: one score of every row that sees it moves, in all heads of its group. */
export function keyEffects(
  spec: LayerSpec,
  length: number,
  run: SoftmaxRun,
  clean: Float32Array,
): Float64Array {
  const effects = new Float64Array(length * spec.nKvHeads)
  const group = spec.nHeads / spec.nKvHeads
  for (let head = 0; head < spec.nHeads; head++)
    for (let query = 0; query < length; query++) {
      const row = (head * length + query) * length
      let before = 0
      for (let key = 0; key < length; key++) before += run.pattern[row + key]! * run.grad[row + key]!
      for (let key = 0; key < length; key++) {
        const old = run.scores[row + key]!
        if (old === Number.NEGATIVE_INFINITY) continue
        const raised =
          run.pattern[row + key]! *
          Math.expm1(movedScore(spec, run, row + key, head, query, key, run.q, clean) - old)
        // One weight a becomes a e^δ, all are divided by 1 + a (e^δ - 1).
        const after = (before + raised * run.grad[row + key]!) / (1 + raised)
        effects[key * spec.nKvHeads + Math.floor(head / group)]! += after - before
      }
    }
  return effects
}

// --- Internal helpers ---

/** The score with other vectors: the difference of the products moves the uncapped score, then the cap bends it. */
function movedScore(
  spec: LayerSpec,
  run: SoftmaxRun,
  at: number,
  head: number,
  query: number,
  key: number,
  q: Float32Array,
  k: Float32Array,
): number {
  const old = run.scores[at]!
  if (old === Number.NEGATIVE_INFINITY) return old
  const kv = Math.floor(head / (spec.nHeads / spec.nKvHeads))
  const fromQ = (query * spec.nHeads + head) * spec.dHead
  const fromK = (key * spec.nKvHeads + kv) * spec.dHead
  let change = 0
  for (let d = 0; d < spec.dHead; d++)
    change += q[fromQ + d]! * k[fromK + d]! - run.q[fromQ + d]! * run.k[fromK + d]!
  if (spec.softcap === null) return old + spec.scoreScale * change
  const uncapped = spec.softcap * Math.atanh(old / spec.softcap) + spec.scoreScale * change
  return spec.softcap * Math.tanh(uncapped / spec.softcap)
}
