/**
 * Rotary settings as configs write them. transformers 5: `rope_parameters {rope_type, rope_theta, …}`; version 4:
 * `rope_theta` and `rope_scaling {rope_type | type, factor, …}` at top level. Formulas: graph's RopeScaling, made into
 * tables by run/rope-tables.ts.
 */
import { z } from 'zod'
import { parseConfig, positive } from '../checkpoint/config.ts'
import type { RawConfig } from '../checkpoint/types.ts'
import { HeadscopeError } from '../errors.ts'
import type { RopeScaling, RopeSpec } from '../graph/model-spec.ts'
import { size } from './config-rules.ts'

export interface RopeDefaults {
  readonly theta: number
  /** Name of the top-level key that carries theta in version 4 configs. */
  readonly thetaKey: string
  readonly partial: number
  readonly partialKey: string
  readonly dHead: number
  readonly interleaved: boolean
  readonly maxPositions: number
}

/**
 * The rotary settings of a config. Throws `bad-checkpoint` naming the key, or `unsupported` for a rope_type that is
 * not known.
 */
export function readRope(config: RawConfig, defaults: RopeDefaults): RopeSpec {
  const nested = nestedRope(config)
  const flat = parseConfig(
    z.object({
      [defaults.thetaKey]: positive().optional(),
      [defaults.partialKey]: positive().optional(),
      original_max_position_embeddings: size().nullish(),
    }),
    config,
  ) as Record<string, number | null | undefined>
  const own = parseConfig(
    z.object({ rope_theta: positive().nullish(), partial_rotary_factor: positive().nullish() }),
    nested,
    nestedKey(config),
  )
  const theta = own.rope_theta ?? flat[defaults.thetaKey] ?? defaults.theta
  const partial = own.partial_rotary_factor ?? flat[defaults.partialKey] ?? defaults.partial
  const dims = Math.trunc(defaults.dHead * partial)
  if (dims < 2 || dims % 2 !== 0 || dims > defaults.dHead)
    throw new HeadscopeError(
      'bad-checkpoint',
      `config.json: rotary embedding turns pairs, so head_dim × ${defaults.partialKey} must be an even number of 2 or more, but it is ${defaults.dHead} × ${partial} = ${dims}; correct head_dim or ${defaults.partialKey} in config.json.`,
    )
  const original = flat.original_max_position_embeddings ?? undefined
  return {
    dims,
    theta,
    interleaved: defaults.interleaved,
    scaling: readScaling(config, nested, defaults, original),
  }
}

// --- Internal helpers ---

/** Where the sentence says that a key stands. */
function nestedKey(config: RawConfig): string {
  return `config.json, ${isObject(config.rope_parameters) ? 'rope_parameters' : 'rope_scaling'}`
}

/** v5's `rope_parameters`, else v4's `rope_scaling`, else nothing. */
function nestedRope(config: RawConfig): RawConfig {
  const nested = config.rope_parameters ?? config.rope_scaling ?? {}
  if (!isObject(nested))
    throw new HeadscopeError(
      'bad-checkpoint',
      `config.json: ${config.rope_parameters ? 'rope_parameters' : 'rope_scaling'} must be an object or null; correct it in config.json.`,
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
): RopeScaling {
  const type: unknown = nested.rope_type ?? nested.type ?? 'default'
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
    default:
      throw new HeadscopeError(
        'unsupported',
        `${at} asks for the rope_type ${JSON.stringify(type)}, which is not one of default, linear, dynamic, yarn, llama3; this checkpoint cannot be run exactly, so it is not opened.`,
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
