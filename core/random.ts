/** Seeded random numbers: the same seed gives the same draws on every machine. */

export interface Random {
  /** Uniform in [0, 1), 32 bits. */
  next(): number
  /** Uniform whole number in [0, n). */
  below(n: number): number
}

/** xoshiro128** (Blackman and Vigna 2018, public domain), its state filled by splitmix32 from the seed. */
export function createRandom(seed: number): Random {
  let mix = seed >>> 0
  const splitmix = () => {
    mix = (mix + 0x9e3779b9) >>> 0
    let z = mix
    z = Math.imul(z ^ (z >>> 16), 0x85ebca6b)
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35)
    return (z ^ (z >>> 16)) >>> 0
  }
  let [a, b, c, d] = [splitmix(), splitmix(), splitmix(), splitmix()]
  const rotate = (x: number, k: number) => ((x << k) | (x >>> (32 - k))) >>> 0
  const bits = () => {
    const result = Math.imul(rotate(Math.imul(b, 5) >>> 0, 7), 9) >>> 0
    const t = (b << 9) >>> 0
    c = (c ^ a) >>> 0
    d = (d ^ b) >>> 0
    b = (b ^ c) >>> 0
    a = (a ^ d) >>> 0
    c = (c ^ t) >>> 0
    d = rotate(d, 11)
    return result
  }
  const random: Random = {
    next: () => bits() / 2 ** 32,
    below: (n) => Math.floor(random.next() * n),
  }
  return random
}
