/**
 * Fixed positions (Vaswani et al. 1706.03762) as Marian lays them out: the sines of all frequencies, then the cosines.
 * In float64, rounded to float32 once.
 */

/** [1, rows, width] for positions start … start + rows - 1. */
export function sinusoidTable(
  start: number,
  rows: number,
  width: number,
): { data: Float32Array; shape: number[] } {
  const data = new Float32Array(rows * width)
  const sines = Math.ceil(width / 2)
  for (let row = 0; row < rows; row++)
    for (let i = 0; i < width; i++) {
      const pair = i < sines ? i : i - sines
      const angle = (start + row) / 10_000 ** ((2 * pair) / width)
      data[row * width + i] = i < sines ? Math.sin(angle) : Math.cos(angle)
    }
  return { data, shape: [1, rows, width] }
}
