/**
 * What a repeat is worth to the model: its loss on B the first time that B follows A, and again where it follows a later A.
 * In: the places A B … A of a run, its tokens and losses. Out: two means over the same repeats; null where nothing that
 * repeats goes on as it did before. Pure.
 */
import type { InductionView, RunDetail } from '../../../core/api/contract.ts'

export interface RepeatLoss {
  /** Mean loss in nats on the B of each earliest A B. */
  readonly first: number
  /** And on the B after each later A. */
  readonly again: number
  /** Later places. */
  readonly n: number
}

export function repeatLoss(
  pairs: InductionView['pairs'],
  views: readonly Pick<RunDetail['views'][number], 'id'>[],
  predictions: readonly Pick<RunDetail['predictions'][number], 'loss'>[],
): RepeatLoss | null {
  /** Of each later A that B follows again: its earliest A. */
  const places = new Map<number, number>()
  for (const { query, source, target } of pairs) {
    const next = views[query + 1]
    if (!next || next.id !== views[target]?.id) continue
    places.set(query, Math.min(source, places.get(query) ?? source))
  }
  const again = meanLoss([...places.keys()], predictions)
  const first = meanLoss([...new Set(places.values())], predictions)
  return again === null || first === null ? null : { first, again, n: places.size }
}

function meanLoss(positions: readonly number[], predictions: readonly { loss: number | null }[]) {
  const losses = positions.map((pos) => predictions[pos]?.loss ?? null).filter((loss) => loss !== null)
  return losses.length === 0 ? null : losses.reduce((sum, loss) => sum + loss, 0) / losses.length
}
