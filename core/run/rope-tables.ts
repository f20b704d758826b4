/**
 * Rotary tables from positions: cos and sin of every position in float64, rounded to float32 once. ONNX Runtime has
 * no float64 cosine, so they are made here and fed, once per run; the graph depends on no length.
 *
 * Sources: Su et al. 2104.09864 (rotary), kaiokendev (linear), bloc97 and emozilla (dynamic NTK),
 * Peng et al. 2309.00071 (YaRN), Meta's Llama 3.1 (llama3), Ding et al. 2402.13753 (LongRoPE, as Phi-3 has it).
 */
import { type RopeScaling, type RopeSpec, ropeAttention } from '../graph/model-spec.ts'

export interface RopeTable {
  readonly cos: Float32Array // [rows, dims / 2]
  readonly sin: Float32Array // [rows, dims / 2]
}

/**
 * cos and sin for positions start … start + rows - 1. `length` is the length of the whole run: only dynamic and
 * longrope look at it.
 */
export function ropeTable(rope: RopeSpec, start: number, rows: number, length: number): RopeTable {
  const frequencies = inverseFrequencies(rope, length)
  const factor = ropeAttention(rope)
  const half = frequencies.length
  const cos = new Float32Array(rows * half)
  const sin = new Float32Array(rows * half)
  for (let row = 0; row < rows; row++)
    for (let i = 0; i < half; i++) {
      const angle = (start + row) * frequencies[i]!
      cos[row * half + i] = factor * Math.cos(angle)
      sin[row * half + i] = factor * Math.sin(angle)
    }
  return { cos, sin }
}

/** Whether the frequencies change with the length of the run, so that a shorter run is not a prefix of a longer. */
export function dependsOnLength(rope: RopeSpec): boolean {
  return rope.scaling.type === 'dynamic' || rope.scaling.type === 'longrope'
}

/** Whether runs of two lengths have one table, so that keys of the one serve the other. */
export function sameTable(rope: RopeSpec, a: number, b: number): boolean {
  if (rope.scaling.type === 'dynamic')
    return Math.max(a, rope.scaling.original) === Math.max(b, rope.scaling.original)
  if (rope.scaling.type === 'longrope') return a > rope.scaling.original === b > rope.scaling.original
  return true
}

/** Radians per position of each rotated pair [dims / 2]. */
export function inverseFrequencies(rope: RopeSpec, length: number): Float64Array {
  const { dims, theta, scaling } = rope
  const base = scaling.type === 'dynamic' ? dynamicBase(theta, dims, scaling, length) : theta
  const plain = Float64Array.from({ length: dims / 2 }, (_, i) => base ** (-(2 * i) / dims))
  switch (scaling.type) {
    case 'linear':
      return plain.map((f) => f / scaling.factor)
    case 'llama3':
      return plain.map((f) => llama3(f, scaling))
    case 'yarn':
      return yarn(plain, theta, dims, scaling)
    case 'longrope': {
      const divisors = length > scaling.original ? scaling.long : scaling.short
      return plain.map((f, i) => f / divisors[i]!)
    }
    default:
      return plain
  }
}

// --- Internal helpers ---

function dynamicBase(
  theta: number,
  dims: number,
  { factor, original }: Extract<RopeScaling, { type: 'dynamic' }>,
  length: number,
): number {
  const seen = Math.max(length, original)
  return theta * ((factor * seen) / original - (factor - 1)) ** (dims / (dims - 2))
}

/** Long wavelengths are divided by the factor, short ones kept, those between blended. */
function llama3(frequency: number, s: Extract<RopeScaling, { type: 'llama3' }>): number {
  const wavelength = (2 * Math.PI) / frequency
  if (wavelength < s.original / s.highFactor) return frequency
  if (wavelength > s.original / s.lowFactor) return frequency / s.factor
  const smooth = (s.original / wavelength - s.lowFactor) / (s.highFactor - s.lowFactor)
  return ((1 - smooth) * frequency) / s.factor + smooth * frequency
}

/** A ramp over the dimensions from kept (fast) to divided (slow) frequencies. */
function yarn(
  plain: Float64Array,
  theta: number,
  dims: number,
  s: Extract<RopeScaling, { type: 'yarn' }>,
): Float64Array {
  const dimensionOf = (turns: number) =>
    (dims * Math.log(s.original / (turns * 2 * Math.PI))) / (2 * Math.log(theta))
  let low = dimensionOf(s.betaFast)
  let high = dimensionOf(s.betaSlow)
  if (s.truncate) {
    low = Math.floor(low)
    high = Math.ceil(high)
  }
  low = Math.max(low, 0)
  high = Math.min(high, dims - 1)
  const span = low === high ? 0.001 : high - low
  return plain.map((f, i) => {
    const divided = Math.min(1, Math.max(0, (i - low) / span))
    return (f / s.factor) * divided + f * (1 - divided)
  })
}
