/**
 * Rotary settings as configs write them. transformers 5: `rope_parameters {rope_type, rope_theta, …}`; version 4:
 * `rope_theta` and `rope_scaling {rope_type | type, factor, …}` at top level. Formulas: graph's RopeScaling, made into
 * tables by run/rope-tables.ts. Which value wins where they differ is the reference's rule: `rope_scaling` over
 * `rope_parameters`, what stands inside over what stands at top level (but `original_max_position_embeddings` at top
 * level first).
 */
import { z } from 'zod'
import { parseConfig, positive } from '../checkpoint/config.ts'
import type { RawConfig } from '../checkpoint/types.ts'
import { HeadscopeError } from '../errors.ts'
import type { RopeScaling, RopeSpec } from '../graph/model-spec.ts'
import { contradiction, size } from './config-rules.ts'

export interface RopeDefaults {
  readonly theta: number
  /** Name of the top-level key that carries theta in version 4 configs. */
  readonly thetaKey: string
  /** Share of each head that is rotated; null: all of it, and another share is refused. */
  readonly partial: number | null
  readonly partialKey: string
  readonly dHead: number
  readonly interleaved: boolean
  readonly maxPositions: number
  /** Names that mean longrope in this family (Phi-3: su, yarn). */
  readonly longropeNames?: readonly string[]
}

export interface ReadRope {
  readonly rope: RopeSpec
  readonly warnings: readonly string[]
}

/**
 * The rotary settings of a config. Throws `bad-checkpoint` naming the key, or `unsupported` for a rope_type that is
 * not known.
 */
export function readRope(config: RawConfig, defaults: RopeDefaults): ReadRope {
  const warnings: string[] = []
  const nested = nestedRope(config, warnings)
  const flat = parseConfig(
    z.object({
      [defaults.thetaKey]: positive().nullish(),
      [defaults.partialKey]: positive().nullish(),
      original_max_position_embeddings: size().nullish(),
    }),
    config,
  ) as Record<string, number | null | undefined>
  const own = parseConfig(
    z.object({ rope_theta: positive().nullish(), partial_rotary_factor: positive().nullish() }),
    nested,
    nestedKey(config),
  )
  const pick = (within: number | null | undefined, innerKey: string, outerKey: string, absent: number) => {
    const outer = flat[outerKey]
    if (within && outer && within !== outer) warnings.push(contradiction(innerKey, within, outerKey, outer))
    return within ?? outer ?? absent
  }
  const { thetaKey, partialKey } = defaults
  const theta = pick(own.rope_theta, `${innerName(config)}.rope_theta`, thetaKey, defaults.theta)
  const { partial_rotary_factor: inner } = own
  if (defaults.partial === null && inner && inner !== 1)
    throw new HeadscopeError(
      'unsupported',
      `${nestedKey(config)}: partial_rotary_factor is ${inner}, but this family rotates whole heads; this checkpoint cannot be run exactly, so it is not opened.`,
    )
  const partialName = `${innerName(config)}.partial_rotary_factor`
  const partial = defaults.partial === null ? 1 : pick(inner, partialName, partialKey, defaults.partial)
  const dims = Math.trunc(defaults.dHead * partial)
  if (dims < 2 || dims % 2 !== 0 || dims > defaults.dHead)
    throw new HeadscopeError(
      'bad-checkpoint',
      `config.json: rotary embedding turns pairs, so head_dim × ${defaults.partialKey} must be an even number of 2 or more, but it is ${defaults.dHead} × ${partial} = ${dims}; correct head_dim or ${defaults.partialKey} in config.json.`,
    )
  const original = flat.original_max_position_embeddings ?? undefined
  const scaling = readScaling(config, nested, defaults, original, dims)
  return { rope: { dims, theta, interleaved: defaults.interleaved, scaling }, warnings }
}

// --- Internal helpers ---

/** `rope_scaling` where it says something, else `rope_parameters`. */
function innerName(config: RawConfig): 'rope_scaling' | 'rope_parameters' {
  const says = isObject(config.rope_scaling) && Object.keys(config.rope_scaling).length > 0
  return says || !isObject(config.rope_parameters) ? 'rope_scaling' : 'rope_parameters'
}

/** Where the sentence says that a key stands. */
function nestedKey(config: RawConfig): string {
  return `config.json, ${innerName(config)}`
}

/** v5's `rope_parameters` or v4's `rope_scaling`, or nothing. */
function nestedRope(config: RawConfig, warnings: string[]): RawConfig {
  for (const key of ['rope_scaling', 'rope_parameters']) {
    const value = config[key]
    if (value !== undefined && value !== null && !isObject(value))
      throw new HeadscopeError(
        'bad-checkpoint',
        `config.json: ${key} must be an object or null; correct it in config.json.`,
      )
  }
  const nested = (config[innerName(config)] ?? {}) as RawConfig
  const other = config.rope_parameters
  if (
    innerName(config) === 'rope_scaling' &&
    isObject(other) &&
    JSON.stringify(other) !== JSON.stringify(nested)
  )
    warnings.push(contradiction('rope_scaling', nested, 'rope_parameters', other))
  const perLayer = ['full_attention', 'sliding_attention'].find((key) => isObject(nested[key]))
  if (perLayer)
    throw new HeadscopeError(
      'unsupported',
      `${nestedKey(config)} holds settings of its own for ${perLayer}, which this family does not have; this checkpoint cannot be run exactly, so it is not opened.`,
    )
  return nested
}

function isObject(value: unknown): value is RawConfig {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function readScaling(
  config: RawConfig,
  nested: RawConfig,
  defaults: RopeDefaults,
  outerOriginal: number | undefined,
  dims: number,
): RopeScaling {
  const named: unknown = nested.rope_type ?? nested.type ?? 'default'
  const type = defaults.longropeNames?.includes(String(named)) ? 'longrope' : named
  const at = nestedKey(config)
  const factor = () => parseConfig(z.object({ factor: positive() }), nested, at).factor
  const original = () =>
    outerOriginal ??
    parseConfig(z.object({ original_max_position_embeddings: size().nullish() }), nested, at)
      .original_max_position_embeddings ??
    defaults.maxPositions
  switch (type) {
    case 'default':
      return { type: 'default' }
    case 'linear':
      return { type: 'linear', factor: factor() }
    case 'dynamic':
      return { type: 'dynamic', factor: factor(), original: defaults.maxPositions }
    case 'llama3': {
      const own = parseConfig(
        z.object({ low_freq_factor: positive(), high_freq_factor: positive() }),
        nested,
        at,
      )
      return {
        type: 'llama3',
        factor: factor(),
        lowFactor: own.low_freq_factor,
        highFactor: own.high_freq_factor,
        original: original(),
      }
    }
    case 'yarn':
      return readYarn(nested, at, original(), defaults)
    case 'longrope':
      return readLongrope(nested, at, original(), defaults, dims)
    default:
      throw new HeadscopeError(
        'unsupported',
        `${at} asks for the rope_type ${JSON.stringify(type)}, which is not one of default, linear, dynamic, yarn, llama3, longrope; this checkpoint cannot be run exactly, so it is not opened.`,
      )
  }
}

/** YaRN's temperature: 0.1 · mscale · ln(factor) + 1 (Peng et al. 2023, 2309.00071, section 3.4). */
function yarnScale(factor: number, mscale: number): number {
  return factor <= 1 ? 1 : 0.1 * mscale * Math.log(factor) + 1
}

function readYarn(nested: RawConfig, at: string, original: number, defaults: RopeDefaults): RopeScaling {
  const own = parseConfig(
    z.object({
      factor: positive().nullish(),
      attention_factor: positive().nullish(),
      mscale: z.number().nullish(),
      mscale_all_dim: z.number().nullish(),
      beta_fast: positive().nullish(),
      beta_slow: positive().nullish(),
      truncate: z.boolean().nullish(),
    }),
    nested,
    at,
  )
  const factor = own.factor ?? defaults.maxPositions / original
  const attention =
    own.attention_factor ??
    (own.mscale && own.mscale_all_dim
      ? yarnScale(factor, own.mscale) / yarnScale(factor, own.mscale_all_dim)
      : yarnScale(factor, 1))
  return {
    type: 'yarn',
    factor,
    original,
    betaFast: own.beta_fast ?? 32,
    betaSlow: own.beta_slow ?? 1,
    attention,
    truncate: own.truncate ?? true,
  }
}

/** One divisor per frequency, for short and for long runs; cos and sin grow by sqrt(1 + ln factor / ln original). */
function readLongrope(
  nested: RawConfig,
  at: string,
  original: number,
  defaults: RopeDefaults,
  dims: number,
): RopeScaling {
  const divisors = z
    .array(positive())
    .length(dims / 2, `must be ${dims / 2} numbers above 0, one per rotated pair`)
  const own = parseConfig(
    z.object({
      factor: positive().nullish(),
      attention_factor: positive().nullish(),
      short_factor: divisors,
      long_factor: divisors,
    }),
    nested,
    at,
  )
  const factor = own.factor ?? defaults.maxPositions / original
  const attention =
    own.attention_factor ?? (factor <= 1 ? 1 : Math.sqrt(1 + Math.log(factor) / Math.log(original)))
  return { type: 'longrope', short: own.short_factor, long: own.long_factor, original, attention }
}
