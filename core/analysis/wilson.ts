/** Interval of a share (Wilson 1927, score interval), for counts that are too few or too extreme for a bootstrap. */

const Z = 1.959964 // 95 %

/** The 95 % interval of `hits` of `n`; n is 1 or more. */
export function wilson(hits: number, n: number): { low: number; high: number } {
  const share = hits / n
  const scale = 1 + Z ** 2 / n
  const centre = (share + Z ** 2 / (2 * n)) / scale
  const half = (Z / scale) * Math.sqrt((share * (1 - share)) / n + Z ** 2 / (4 * n * n))
  return { low: Math.max(0, centre - half), high: Math.min(1, centre + half) }
}
