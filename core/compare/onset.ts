/**
 * When heads appear in training. In: scans of steps in order. Out: the step at which the best head passes a threshold,
 * with what its interval allows, and where the loss falls most. Pure: the app's curves and the command line read the same.
 */
import type { HeadScores, ScanResult, Score } from '../analysis/types.ts'

/** What is read of a step. */
export interface ScoredStep {
  readonly at: string
  readonly step: number
  readonly heads: readonly HeadScores[]
  readonly loss: ScanResult['loss']
}

/** When the best head of a score passes a threshold. */
export interface Onset {
  readonly score: string
  readonly threshold: number
  /** The first step at which the best head's value is at the threshold or above; null: never. */
  readonly at: string | null
  readonly step: number | null
  /** The saved step before it: it happened after this one. */
  readonly after: string | null
  readonly head: { readonly layer: number; readonly head: number } | null
  /** The best head's score at that step. */
  readonly value: Score | null
  /** First and last step that the intervals of the best head allow. */
  readonly earliest: string | null
  readonly latest: string | null
  readonly why?: string
}

/** Where a loss falls most between two saved steps. */
export interface LossDrop {
  readonly from: string
  readonly to: string
  readonly nats: number
}

/** The onset of one score over steps in order. */
export function onsetOf(steps: readonly ScoredStep[], score: string, threshold: number): Onset {
  const best = steps.map((step) => bestHead(step, score))
  const passed = best.findIndex((one) => one !== null && one.value.value! >= threshold)
  const none = { score, threshold, at: null, step: null, after: null, head: null, value: null }
  if (best.every((one) => one === null))
    return { ...none, earliest: null, latest: null, why: 'no head of this series has this score' }
  const allows = (reaches: (value: Score) => boolean) => {
    const at = best.findIndex((one) => one !== null && reaches(one.value))
    return at === -1 ? null : steps[at]!.at
  }
  const earliest = allows(({ value, high }) => (high ?? value!) >= threshold)
  const latest = allows(({ value, low }) => (low ?? value!) >= threshold)
  if (passed === -1) return { ...none, earliest, latest, why: `no step has a head at ${threshold} or above` }
  const { layer, head, value } = best[passed]!
  const { at, step } = steps[passed]!
  const after = passed > 0 ? steps[passed - 1]!.at : null
  return { score, threshold, at, step, after, head: { layer, head }, value, earliest, latest }
}

/** Strongest heads of a score at a step: fixed places are not enough, because heads can swap while training. */
export function strongestHeads(step: Pick<ScoredStep, 'heads'>, score: string, count: number) {
  return step.heads
    .flatMap(({ layer, head, scores }) => {
      const value = scores[score]
      return value && value.value !== null ? [{ layer, head, value }] : []
    })
    .sort((a, b) => b.value.value! - a.value.value!)
    .slice(0, count)
}

/** The two steps between which the loss on the second copy falls most; null without losses. */
export function lossDropOf(steps: readonly ScoredStep[]): LossDrop | null {
  let best: LossDrop | null = null
  for (let i = 1; i < steps.length; i++) {
    const [before, after] = [steps[i - 1]!.loss.second, steps[i]!.loss.second]
    if (before === null || after === null) continue
    if (!best || before - after > best.nats)
      best = { from: steps[i - 1]!.at, to: steps[i]!.at, nats: before - after }
  }
  return best
}

// --- Internal helpers ---

function bestHead(step: ScoredStep, score: string) {
  return strongestHeads(step, score, 1)[0] ?? null
}
