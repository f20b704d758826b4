/** A weight with two decimals, or two significant digits where it is small: 0.42, 0.031, 0.0072, 7.2e-4, 0. */
export function preciseWeight(weight: number): string {
  if (weight === 0) return '0'
  const size = Math.abs(weight)
  if (size >= 0.0995) return weight.toFixed(2)
  if (size < 0.00095) return weight.toExponential(1)
  return weight.toFixed(size >= 0.00995 ? 3 : 4)
}
