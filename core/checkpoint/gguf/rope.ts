/**
 * Rotary settings of a GGUF file as transformers writes them.
 * In: settings and the small tensors of frequency factors. Out: config keys.
 * llama.cpp divides the angle of each frequency by its factor; Llama 3's scaling is stored as those factors alone.
 */
import { HeadscopeError } from '../../errors.ts'
import { readTensor } from '../tensor-data.ts'
import type { RawConfig } from '../types.ts'
import type { GgufHeader } from './header.ts'
import type { Settings } from './metadata.ts'

/** Base, part of each head and scaling. `dHead` is the width of a head. */
export function ropeConfig(header: GgufHeader, s: Settings, dHead: number): RawConfig {
  const theta = s.maybeNumber('rope.freq_base') ?? 10_000
  const dims = s.maybeCount('rope.dimension_count') ?? dHead
  const scaling = scalingOf(header, s, theta, dims)
  return {
    rope_theta: theta,
    ...(dims === dHead ? {} : { partial_rotary_factor: ratio(dims, dHead) }),
    ...(scaling ? { rope_scaling: scaling } : {}),
  }
}

/** part / whole as a number whose product with `whole` is cut to exactly `part`. */
export function ratio(part: number, whole: number): number {
  let value = part / whole
  while (Math.trunc(whole * value) < part) value *= 1 + Number.EPSILON
  return value
}

function scalingOf(header: GgufHeader, s: Settings, theta: number, dims: number): RawConfig | null {
  const type = s.maybeText('rope.scaling.type') ?? 'none'
  const factor = s.maybeNumber('rope.scaling.factor') ?? s.maybeNumber('rope.scale_linear')
  const original = s.maybeCount('rope.scaling.original_context_length')
  const temperature = s.maybeNumber('rope.scaling.attn_factor')
  s.maybeFlag('rope.scaling.finetuned')
  const short = header.tensors.get('rope_factors_short.weight')
  const long = header.tensors.get('rope_factors_long.weight')
  if (short && long) {
    return {
      rope_type: 'longrope',
      short_factor: [...readTensor(short)],
      long_factor: [...readTensor(long)],
      ...(temperature === null ? {} : { attention_factor: temperature }),
      ...(original === null ? {} : { original_max_position_embeddings: original }),
    }
  }
  const freqs = header.tensors.get('rope_freqs.weight')
  if (freqs) return fromFactors([...readTensor(freqs)], theta, dims, s.count('context_length'))
  if (type === 'linear' || (type === 'none' && factor !== null && factor !== 1)) {
    return { rope_type: 'linear', factor: factor ?? 1 }
  }
  if (type === 'none') return null
  if (type === 'yarn' && (temperature === null || temperature === 1)) {
    return {
      rope_type: 'yarn',
      factor: factor ?? 1,
      ...(original === null ? {} : { original_max_position_embeddings: original }),
      ...(s.has('rope.scaling.yarn_beta_fast')
        ? { beta_fast: s.maybeNumber('rope.scaling.yarn_beta_fast') }
        : {}),
      ...(s.has('rope.scaling.yarn_beta_slow')
        ? { beta_slow: s.maybeNumber('rope.scaling.yarn_beta_slow') }
        : {}),
    }
  }
  throw new HeadscopeError(
    'unsupported',
    `${header.label}: the rotary scaling ${type}${temperature === null ? '' : ` with attn_factor ${temperature}`} is not known; this checkpoint cannot be run exactly, so it is not opened.`,
  )
}

/** Factors as Llama 3's published settings make them, else as they are (short and long alike). */
function fromFactors(
  factors: readonly number[],
  theta: number,
  dims: number,
  context: number,
): RawConfig | null {
  if (factors.every((factor) => factor === 1)) return null
  const factor = Math.max(...factors)
  for (const original of [8192, context / factor, context]) {
    const settings = { factor, low: 1, high: 4, original }
    const made = factors.map((_, i) => llama3Factor(theta ** ((-2 * i) / dims), settings))
    if (made.every((value, i) => Math.abs(value - factors[i]!) <= 1e-6 * value)) {
      return {
        rope_type: 'llama3',
        factor,
        low_freq_factor: 1,
        high_freq_factor: 4,
        original_max_position_embeddings: original,
      }
    }
  }
  return {
    rope_type: 'longrope',
    short_factor: factors,
    long_factor: factors,
    attention_factor: 1,
    original_max_position_embeddings: context,
  }
}

/** Divisor of one frequency under Llama 3's scaling (transformers' _compute_llama3_parameters). */
function llama3Factor(
  frequency: number,
  { factor, low, high, original }: { factor: number; low: number; high: number; original: number },
): number {
  const wave = (2 * Math.PI) / frequency
  if (wave < original / high) return 1
  if (wave > original / low) return factor
  const smooth = (original / wave - low) / (high - low)
  return 1 / ((1 - smooth) / factor + smooth)
}
