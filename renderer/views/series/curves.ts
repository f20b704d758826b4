/**
 * Scores over the steps of a training series. In: a scan for each step (null: not scanned). Out: a curve for each head, when
 * the best head passes a threshold, and how much each head changed between two steps. Pure.
 */
import type { HeadScores, Score } from '../../../core/analysis/types.ts'
import type { ScanReply } from '../../../core/api/contract.ts'
import type { HeadId } from '../../state/selection.ts'

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
}

export function stepNumber(at: string, index: number): number {
  const digits = /\d+/.exec(at)
  return digits ? Number(digits[0]) : index
}

export function curvesOf(steps: readonly Step[], score: string): Curve[] {
  const heads = steps.find((s) => s.scan)?.scan?.heads ?? []
  return heads.map(({ layer, head }, i) => ({
    layer,
    head,
    values: steps.map((s) => s.scan?.heads[i]?.scores[score]?.value ?? null),
  }))
}

/** The first scanned step at which the best head is at the threshold or above, and the scanned one before it. */
export function onsetOf(
  steps: readonly Step[],
  curves: readonly Curve[],
  threshold: number,
): { readonly at: number; readonly after: number | null } | null {
  let before: number | null = null
  for (let i = 0; i < steps.length; i++) {
    if (!steps[i]!.scan) continue
    if (curves.some((curve) => (curve.values[i] ?? Number.NEGATIVE_INFINITY) >= threshold))
      return { at: i, after: before }
    before = i
  }
  return null
}

export interface Change extends HeadId {
  readonly from: Score
  readonly to: Score
  readonly delta: number
  /** Whether the two intervals do not meet. */
  readonly clear: boolean
}

/** Heads by the size of their change between two steps. */
export function changesOf(from: readonly HeadScores[], to: readonly HeadScores[], score: string): Change[] {
  return to
    .flatMap(({ layer, head, scores }, i): Change[] => {
      const [a, b] = [from[i]?.scores[score], scores[score]]
      if (a?.value == null || b?.value == null) return []
      const clear =
        a.low !== null &&
        a.high !== null &&
        b.low !== null &&
        b.high !== null &&
        (a.high < b.low || b.high < a.low)
      return [{ layer, head, from: a, to: b, delta: b.value - a.value, clear }]
    })
    .sort((x, y) => Math.abs(y.delta) - Math.abs(x.delta))
}
