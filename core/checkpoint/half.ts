/** float32 of every F16 bit pattern, [65536]: one look-up decodes a half. Cost: 256 kB, made once when loaded. */
export const HALVES: Float32Array = (() => {
  const table = new Float32Array(65536)
  for (let bits = 0; bits < 65536; bits++) {
    const sign = bits & 0x8000 ? -1 : 1
    const exponent = (bits >> 10) & 31
    const fraction = bits & 1023
    if (exponent === 31) table[bits] = fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY
    else if (exponent === 0) table[bits] = sign * fraction * 2 ** -24
    else table[bits] = sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
  }
  return table
})()
