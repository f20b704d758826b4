/** The rate of hits of a head over places in text. In: rows by window. Out: share, n and interval. Pure. */
import { meanScore } from './bootstrap.ts'
import { noScore } from './scores/score.ts'
import type { Score } from './types.ts'
import { wilson } from './wilson.ts'

/** Share of hits: the interval is a bootstrap over windows from five on, Wilson's over places below. */
export function rateOf(
  rows: readonly { readonly window: number; readonly hit: boolean }[],
  fewest: number,
  seed: number,
): Score {
  const n = rows.length
  if (n < fewest) return noScore(`n = ${n}, needs ${fewest} places`, n, n)
  const hits = rows.filter((row) => row.hit).length
  const byWindow = new Map<number, { hits: number; n: number }>()
  for (const { window, hit } of rows) {
    const counts = byWindow.get(window) ?? { hits: 0, n: 0 }
    byWindow.set(window, { hits: counts.hits + (hit ? 1 : 0), n: counts.n + 1 })
  }
  const value = hits / n
  if (byWindow.size < 5) return { value, n, rows: n, ...wilson(hits, n) }
  const counts = [...byWindow.values()]
  const mean = n / counts.length
  // The ratio of sums, linearised about its value: each window's share of the deviation, so that means can be drawn.
  const { low, high } = meanScore(
    counts.map((c) => value + (c.hits - value * c.n) / mean),
    n,
    seed,
  )
  return { value, n, rows: n, low: clamp(low), high: clamp(high) }
}

// --- Internal helpers ---

function clamp(value: number | null): number | null {
  return value === null ? null : Math.min(1, Math.max(0, value))
}
