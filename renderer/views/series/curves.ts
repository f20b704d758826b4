/**
 * Scores over the steps of a training series. In: a scan for each step (null: not scanned). Out: a curve for each head, what
 * the onset says, and how much each head changed between two steps. Pure.
 */
import type { HeadScores, Score } from '../../../core/analysis/types.ts'
import type { ScanReply } from '../../../core/api/contract.ts'
import type { Onset, ScoredStep } from '../../../core/compare/onset.ts'
import { type HeadId, headName } from '../../state/selection.ts'
import { scoreText } from '../../ui/score-text.ts'

export interface Step {
  /** As the folder says it: `step512`. */
  readonly at: string
  readonly path: string
  /** The number in its name, else its place. */
  readonly step: number
  readonly scan: ScanReply | null
}

export interface Curve extends HeadId {
  /** One per step; null where it is not scanned or undefined. */
  readonly values: readonly (number | null)[]
  /** The whole score at each step, with its interval and its n; null where it is not scanned. */
  readonly scores: readonly (Score | null)[]
}

export function stepNumber(at: string, index: number): number {
  const digits = /\d+/.exec(at)
  return digits ? Number(digits[0]) : index
}

export function curvesOf(steps: readonly Step[], score: string): Curve[] {
  const heads = steps.find((s) => s.scan)?.scan?.heads ?? []
  return heads.map(({ layer, head }, i) => {
    const scores = steps.map((s) => s.scan?.heads[i]?.scores[score] ?? null)
    return { layer, head, scores, values: scores.map((one) => one?.value ?? null) }
  })
}

/** Steps that are scored, as the engine's own onset reads them. */
export function scoredOf(steps: readonly Step[]): ScoredStep[] {
  return steps.flatMap(({ at, step, scan }) =>
    scan ? [{ at, step, heads: scan.heads, loss: scan.loss }] : [],
  )
}

/** Steps that are scored on other sequences than most are: their values do not belong in one curve with the others. */
export function unlikeOf(steps: readonly Step[]): Step[] {
  const keyOf = ({ scan }: Step) => {
    if (!scan) return null
    const { length, batch, seed, bos } = scan.settings
    return JSON.stringify([length, batch, seed, bos])
  }
  const counts = new Map<string, number>()
  for (const step of steps) {
    const key = keyOf(step)
    if (key !== null) counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  const usual = [...counts].sort((a, b) => b[1] - a[1])[0]?.[0]
  return steps.filter((step) => step.scan && keyOf(step) !== usual)
}

/** When the best head passes the threshold, in words, with what its interval allows. */
export function onsetText(onset: Onset): string {
  const { threshold, at, after, head, value, earliest, latest, why } = onset
  if (at === null || !head || !value) return why ?? ''
  const between =
    after === null
      ? `is at ${threshold} or above from ${at} on`
      : `passes ${threshold} between ${after} and ${at}`
  const range =
    value.low === null
      ? ''
      : earliest === latest
        ? ', by its interval too'
        : `; its interval allows ${earliest ?? 'no earlier step'} to ${latest ?? 'none of these steps'}`
  return `the best head ${between} (${headName(head)} ${scoreText(value)})${range}`
}

export interface Change extends HeadId {
  readonly from: Score
  readonly to: Score
  readonly delta: number
  /** Whether the two intervals do not meet; null where there are none (scores of the weights alone). */
  readonly clear: boolean | null
}

/** Heads by the size of their change between two steps. */
export function changesOf(from: readonly HeadScores[], to: readonly HeadScores[], score: string): Change[] {
  return to
    .flatMap(({ layer, head, scores }, i): Change[] => {
      const [a, b] = [from[i]?.scores[score], scores[score]]
      if (a?.value == null || b?.value == null) return []
      const [lowA, highA, lowB, highB] = [a.low, a.high, b.low, b.high]
      const none = lowA === null || highA === null || lowB === null || highB === null
      const clear = none ? null : highA < lowB || highB < lowA
      return [{ layer, head, from: a, to: b, delta: b.value - a.value, clear }]
    })
    .sort((x, y) => Math.abs(y.delta) - Math.abs(x.delta))
}
