/** Config keys that the llama-like families share, and the rules between them. Defaults are the reference's. */
import { z } from 'zod'
import { count, flag } from '../checkpoint/config.ts'
import type { RawConfig } from '../checkpoint/types.ts'
import { HeadscopeError } from '../errors.ts'
import { contradiction, divides, size } from './config-rules.ts'
import { type ReadRope, type RopeDefaults, readRope } from './rope-config.ts'

export interface DecoderDefaults {
  readonly vocab: number
  readonly width: number
  readonly mlp: number
  readonly layers: number
  readonly heads: number
  /** A number where the reference has one for an absent key; null there always means as many as heads. */
  readonly kvHeads?: number
  readonly headDim?: number
  readonly act?: string
  readonly positions: number
  readonly tie: boolean
}

/** The keys themselves. */
export function decoderKeys(d: DecoderDefaults) {
  return {
    vocab_size: size().default(d.vocab),
    hidden_size: size().default(d.width),
    intermediate_size: size().default(d.mlp),
    num_hidden_layers: count(10_000).default(d.layers),
    num_attention_heads: count().default(d.heads),
    num_key_value_heads: d.kvHeads ? count().nullable().default(d.kvHeads) : count().nullish(),
    head_dim: d.headDim ? count().nullable().default(d.headDim) : count().nullish(),
    hidden_act: z.string().default(d.act ?? 'silu'),
    max_position_embeddings: size().default(d.positions),
    tie_word_embeddings: flag().default(d.tie),
  }
}

/** What decoderKeys gives. */
export interface DecoderConfig {
  readonly vocab_size: number
  readonly hidden_size: number
  readonly intermediate_size: number
  readonly num_hidden_layers: number
  readonly num_attention_heads: number
  readonly num_key_value_heads?: number | null | undefined
  readonly head_dim?: number | null | undefined
  readonly max_position_embeddings: number
  readonly tie_word_embeddings: boolean
}

/** Sizes of a decoder. Throws `bad-checkpoint` where heads do not divide. */
export function decoderSizes(c: DecoderConfig) {
  const nHeads = c.num_attention_heads
  const nKvHeads = c.num_key_value_heads ?? nHeads
  if (nKvHeads > nHeads)
    throw new HeadscopeError(
      'bad-checkpoint',
      `config.json: num_key_value_heads ${nKvHeads} is more than num_attention_heads ${nHeads}; correct them in config.json.`,
    )
  divides('num_key_value_heads', nKvHeads, 'num_attention_heads', nHeads)
  if (!c.head_dim) divides('num_attention_heads', nHeads, 'hidden_size', c.hidden_size)
  return {
    dModel: c.hidden_size,
    dVocab: c.vocab_size,
    nCtx: c.max_position_embeddings,
    nLayers: c.num_hidden_layers,
    nHeads,
    nKvHeads,
    dHead: c.head_dim ?? c.hidden_size / nHeads,
    dMlp: c.intermediate_size,
    tie: c.tie_word_embeddings,
  }
}

/** A rope over whole heads, or over `partial` of them, from the usual keys. */
export function decoderRope(
  config: RawConfig,
  c: DecoderConfig,
  own: Partial<Pick<RopeDefaults, 'theta' | 'partial' | 'interleaved' | 'longropeNames'>> = {},
): ReadRope {
  return readRope(config, {
    theta: 10_000,
    thetaKey: 'rope_theta',
    partial: null,
    partialKey: 'partial_rotary_factor',
    dHead: decoderSizes(c).dHead,
    interleaved: false,
    maxPositions: c.max_position_embeddings,
    ...own,
  })
}

export type LayerType = 'full_attention' | 'sliding_attention'

/**
 * `layer_types` of a config, or what the family's older keys mean. Throws `bad-checkpoint` for a list of another length,
 * `unsupported` for another kind of layer.
 */
export function layerTypes(
  given: readonly unknown[] | null | undefined,
  count: number,
  otherwise: (layer: number) => LayerType,
): LayerType[] {
  if (!given) return Array.from({ length: count }, (_, layer) => otherwise(layer))
  if (given.length !== count)
    throw new HeadscopeError(
      'bad-checkpoint',
      `config.json: layer_types names ${given.length} layers, but num_hidden_layers is ${count}; correct them in config.json.`,
    )
  return given.map((type) => {
    if (type === 'full_attention' || type === 'sliding_attention') return type
    throw new HeadscopeError(
      'unsupported',
      `config.json: layer_types names ${JSON.stringify(type)}, which is not one of full_attention, sliding_attention; this checkpoint cannot be run exactly, so it is not opened.`,
    )
  })
}

/** Windows of layers by type. Throws `bad-checkpoint` when a sliding layer has no window. */
export function windowsOf(
  types: readonly LayerType[],
  window: number | null | undefined,
): (layer: number) => number | null {
  if (types.includes('sliding_attention') && !window)
    throw new HeadscopeError(
      'bad-checkpoint',
      'config.json: layer_types names sliding_attention, but sliding_window says no width; give sliding_window a number of keys.',
    )
  return (layer) => (types[layer] === 'sliding_attention' ? window! : null)
}

/** Schema of `layer_types`. */
export function layerTypesKey() {
  return z.array(z.unknown()).nullish()
}

/** Schema of a window: a number of keys; null and 0: none. */
export function windowKey() {
  return z
    .union([count(Number.MAX_SAFE_INTEGER), z.literal(0)], { error: 'a whole number of keys, or null' })
    .nullish()
}

/** The activation's name under two keys: `winner` counts where it is given; a warning where they mean different things. */
export function eitherName(
  config: RawConfig,
  winner: string,
  loser: string,
  meaning: (name: unknown) => unknown,
): string[] {
  const [first, second] = [config[winner], config[loser]]
  if (first === undefined || first === null || second === undefined || second === null) return []
  return meaning(first) === meaning(second) ? [] : [contradiction(winner, first, loser, second)]
}
