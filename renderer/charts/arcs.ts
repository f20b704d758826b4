/** Arcs over a line of tokens. In: pairs with weights. Out: plain shapes, strongest last (drawn on top). Pure. */

import type { Reading } from './reading.ts'

export interface Arc {
  readonly index: number // of the pair
  readonly from: number // the later token
  readonly to: number // the earlier one
  readonly weight: number
  readonly path: string
  readonly width: number // pixels
  readonly opacity: number
}

/** At most this many are drawn: the strongest. */
export const MOST_ARCS = 600

/**
 * Lays arcs out over tokens `pitch` pixels apart, on a baseline at `height`. An arc rises with its length, up to the
 * top; thickness and opacity are the weight, with a floor so that a miss is still seen.
 */
export function layoutArcs(
  pairs: readonly { query: number; target: number }[],
  weights: readonly number[],
  pitch: number,
  height: number,
): Arc[] {
  const longest = pairs.reduce((n, p) => Math.max(n, Math.abs(p.query - p.target)), 1)
  const thickest = Math.min(4.25, Math.max(1.1, pitch / 4)) // where tokens are narrow, so are arcs
  const crowd = Math.max(1, Math.sqrt(Math.min(pairs.length, MOST_ARCS) / 60))
  return pairs
    .map((pair, index): Arc => {
      const weight = weights[index] ?? 0
      const x1 = (pair.query + 0.5) * pitch
      const x2 = (pair.target + 0.5) * pitch
      const rise =
        Math.max(14, (Math.abs(pair.query - pair.target) / longest) ** 0.7 * (height - 10)) * (4 / 3)
      const lean = (x1 - x2) * 0.12
      return {
        index,
        from: pair.query,
        to: pair.target,
        weight,
        path: `M ${x1} ${height} C ${x1 - lean} ${height - rise}, ${x2 + lean} ${height - rise}, ${x2} ${height}`,
        width: 0.7 + weight * thickest,
        opacity: (0.22 + weight * 0.68) / crowd,
      }
    })
    .sort((a, b) => a.weight - b.weight || a.index - b.index)
    .slice(-MOST_ARCS)
}

export interface Edge {
  readonly query: number
  readonly target: number
  readonly weight: number
}

/** The strongest cells by magnitude, of one query or of all, strongest first. One pass, kept in a list of `most`. */
export function strongestEdges(reading: Reading, most: number, query: number | null): Edge[] {
  const found: Edge[] = []
  let least = 0
  const [from, to] = query === null ? [0, reading.size - 1] : [query, Math.min(query, reading.size - 1)]
  for (let q = from; q <= to; q++) {
    for (let key = 0; key < reading.size; key++) {
      const weight = reading.at(q, key)
      if (weight === null || Math.abs(weight) <= Math.max(least, FAINT * reading.most) || key === q) continue
      found.push({ query: q, target: key, weight })
      if (found.length >= 4 * most) {
        found.sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight))
        found.length = most
        least = Math.abs(found.at(-1)!.weight)
      }
    }
  }
  return found.sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight) || a.query - b.query).slice(0, most)
}

const FAINT = 0.01 // of the scale: arcs that cannot be seen
