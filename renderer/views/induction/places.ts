/**
 * What one head does at each A B … A place. In: the places, the head's pattern. Out: rows with a verdict. Pure.
 * Hit: of all keys but the first position, the later A looks most at this B (or at another B of the same A).
 */
import type { InductionView } from '../../../core/api/contract.ts'
import { type Pattern, rowOf } from '../../api/pattern.ts'

export interface Place {
  readonly index: number
  readonly query: number
  readonly target: number
  readonly weight: number
  /** null while the pattern is not there. */
  readonly hit: boolean | null
}

export function placesOf(view: InductionView, weights: readonly number[], pattern: Pattern | null): Place[] {
  const targets = new Map<number, Set<number>>()
  for (const pair of view.pairs)
    targets.set(pair.query, (targets.get(pair.query) ?? new Set()).add(pair.target))
  const top = new Map<number, number>()
  if (pattern) for (const query of targets.keys()) top.set(query, strongestKey(pattern, query))
  return view.pairs.map((pair, index) => ({
    index,
    query: pair.query,
    target: pair.target,
    weight: weights[index] ?? 0,
    hit: pattern ? targets.get(pair.query)!.has(top.get(pair.query)!) : null,
  }))
}

function strongestKey(pattern: Pattern, query: number): number {
  const row = rowOf(pattern, query)
  let best = 1
  for (let key = 2; key <= query; key++) if (row[key]! > row[best]!) best = key
  return best
}
