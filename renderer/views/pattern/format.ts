/** A weight with two decimals, or two significant digits where it is small: 0.42, 0.031, 0.00072, 0. */
export function preciseWeight(weight: number): string {
  if (weight === 0) return '0'
  if (Math.abs(weight) >= 0.0995) return weight.toFixed(2)
  if (Math.abs(weight) < 1e-6) return weight.toExponential(1)
  const digits = 1 - Math.floor(Math.log10(Math.abs(weight)))
  return weight.toFixed(Math.min(8, digits))
}
