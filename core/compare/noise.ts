/** Is a mean difference more than the noise of the sequences, when many heads are looked at together? */

/** What float32 and its order of sums may do to a score. */
const ROUNDING = 1e-4
const FEWEST = 5

/** True where the mean is beyond z standard errors, z for 5 % over `tests` two-sided tests (Bonferroni). */
export function clearBeyond(values: readonly number[], tests: number): boolean {
  const n = values.length
  if (n < FEWEST) return false
  const mean = values.reduce((sum, value) => sum + value, 0) / n
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1)
  const z = normalQuantile(1 - 0.05 / (2 * tests))
  return Number.isFinite(mean) && Math.abs(mean) >= ROUNDING && Math.abs(mean) > z * Math.sqrt(variance / n)
}

/** The x with Φ(x) = p, by bisection on the complementary error function; p in (0, 1). */
export function normalQuantile(p: number): number {
  let [low, high] = [-12, 12]
  for (let i = 0; i < 80; i++) {
    const middle = (low + high) / 2
    if (normalTail(-middle) < p) low = middle
    else high = middle
  }
  return (low + high) / 2
}

// --- Internal helpers ---

/** 1 − Φ(x) = ½ erfc(x / √2); erfc as in Abramowitz and Stegun 7.1.26 fails in the tails, so a continued fraction. */
function normalTail(x: number): number {
  if (x < 0) return 1 - normalTail(-x)
  if (x < 3) {
    // Series of Φ about 0.
    let term = x
    let sum = x
    for (let k = 1; k < 100; k++) {
      term *= (-x * x) / (2 * k)
      sum += term / (2 * k + 1)
    }
    return 0.5 - sum / Math.sqrt(2 * Math.PI)
  }
  let fraction = x
  for (let k = 60; k > 0; k--) fraction = x + k / fraction
  return Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI) / fraction
}
