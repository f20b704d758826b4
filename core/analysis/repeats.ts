/** A B … A → B places in any ids. */

/** `query`: the later A; `source`: an earlier A; `target`: the B after it. */
export interface RepeatPair {
  readonly query: number
  readonly source: number
  readonly target: number
}

/**
 * Every pair of a token with an earlier copy of itself whose successor lies before it: M(q) = {j + 1 : j < q,
 * t_j = t_q, j + 1 < q}. In the order of the queries, then of the targets.
 */
export function repeatPairs(ids: readonly number[]): RepeatPair[] {
  const seen = new Map<number, number[]>()
  const pairs: RepeatPair[] = []
  ids.forEach((id, query) => {
    const earlier = seen.get(id) ?? []
    for (const source of earlier) if (source + 1 < query) pairs.push({ query, source, target: source + 1 })
    earlier.push(query)
    seen.set(id, earlier)
  })
  return pairs
}

/** M(q) of every query that has one, in order. */
export function targetsByQuery(ids: readonly number[]): Map<number, number[]> {
  const targets = new Map<number, number[]>()
  for (const { query, target } of repeatPairs(ids)) {
    const known = targets.get(query)
    if (known) known.push(target)
    else targets.set(query, [target])
  }
  return targets
}
