/** A weight with two decimals, or two significant digits where it is small: 0.42, 0.031, 0.0072, 7.2e-4, 0. */
export function preciseWeight(weight: number): string {
  if (weight === 0) return '0'
  const size = Math.abs(weight)
  if (size >= 0.0995) return weight.toFixed(2)
  if (size < 0.00095) return weight.toExponential(1)
  return weight.toFixed(size >= 0.00995 ? 3 : 4)
}

/** With its sign: +0.156, −0.004. */
export function signed(x: number, digits = 3): string {
  return `${x < 0 ? '−' : '+'}${Math.abs(x).toFixed(digits)}`
}

/** A signed number with as many digits as it needs: +0.42, −0.0072, +7.2e-4, 0. */
export function signedWeight(x: number): string {
  return x === 0 ? '0' : `${x < 0 ? '−' : '+'}${preciseWeight(Math.abs(x))}`
}

/** A count with commas, `527,872`. By hand: the first `toLocaleString` of a window takes 17 ms. */
export function grouped(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',')
}
