/**
 * Config → switches of Gemma 1, 2 and 3: gains of 1 + w, embeddings times sqrt(hidden_size), tanh GELU; from Gemma 2 on
 * norms before and after, soft-caps, and a scale of its own; Gemma 3 has two ropes and norms queries and keys. The
 * embedding factor is exact in float32 (the reference rounds it to bfloat16 only when it runs in bfloat16).
 */
import { z } from 'zod'
import { flag, positive } from '../checkpoint/config.ts'
import type { RawConfig } from '../checkpoint/types.ts'
import { HeadscopeError } from '../errors.ts'
import { activationOf, contradiction, readKeys, refuse, size } from './config-rules.ts'
import {
  type DecoderConfig,
  decoderKeys,
  decoderRope,
  decoderSizes,
  eitherName,
  layerTypes,
  layerTypesKey,
  windowKey,
  windowsOf,
} from './decoder-keys.ts'
import type { Family } from './family.ts'
import { llamaLike, type Switches } from './llama-like.ts'

const GEMMA = {
  vocab: 256000,
  width: 3072,
  mlp: 24576,
  layers: 28,
  heads: 16,
  kvHeads: 16,
  headDim: 256,
  positions: 8192,
  tie: true,
}
const TANH = 'gelu_pytorch_tanh'
const SHARED = {
  rms_norm_eps: positive().default(1e-6),
  attention_bias: flag().default(false),
  use_bidirectional_attention: flag().nullish(),
  hidden_activation: z.string().nullish(),
}

export const gemma: Family = {
  modelTypes: ['gemma'],
  read(config) {
    const keys = z.object({ ...decoderKeys({ ...GEMMA, act: TANH }), ...SHARED })
    const { c, warnings } = readKeys('gemma', keys, config)
    const read = decoderRope(config, c)
    // The first Gemma files say "gelu" and mean its tanh form.
    const meaning = (name: unknown) => (name === 'gelu' ? 'gelu_tanh' : name === TANH ? 'gelu_tanh' : name)
    const contradicted = eitherName(config, 'hidden_activation', 'hidden_act', meaning)
    const named = c.hidden_activation ? 'hidden_activation' : 'hidden_act'
    const act = c[named] === 'gelu' ? TANH : c[named]!
    return llamaLike({
      family: 'gemma',
      ...gemmaCommon(config, c),
      act: activationOf(named, act),
      ropes: [read.rope],
      warnings: [...warnings, ...contradicted, ...read.warnings],
    })
  },
}

export const gemma2: Family = {
  modelTypes: ['gemma2'],
  read(config) {
    const keys = z.object({
      ...decoderKeys({ ...GEMMA, width: 2304, mlp: 9216, layers: 26, heads: 8, kvHeads: 4 }),
      ...SHARED,
      query_pre_attn_scalar: positive().default(256),
      sliding_window: windowKey().default(4096),
      layer_types: layerTypesKey(),
      final_logit_softcapping: positive().nullable().default(30),
      attn_logit_softcapping: positive().nullable().default(50),
    })
    const { c, warnings } = readKeys('gemma2', keys, config)
    const read = decoderRope(config, c)
    const types = layerTypes(c.layer_types, c.num_hidden_layers, (l) =>
      l % 2 ? 'full_attention' : 'sliding_attention',
    )
    return llamaLike({
      family: 'gemma2',
      ...gemmaCommon(config, c),
      ...sandwich(c, config),
      ropes: [read.rope],
      windowOf: windowsOf(types, c.sliding_window),
      softcap: c.attn_logit_softcapping,
      logits: { scale: 1, softcap: c.final_logit_softcapping },
      warnings: [...warnings, ...activationWarning(c, config), ...read.warnings],
    })
  },
}

export const gemma3: Family = {
  modelTypes: ['gemma3_text'],
  read(config) {
    const keys = z.object({
      ...decoderKeys({
        ...GEMMA,
        vocab: 262208,
        width: 2304,
        mlp: 9216,
        layers: 26,
        heads: 8,
        kvHeads: 4,
        positions: 131072,
      }),
      ...SHARED,
      query_pre_attn_scalar: positive().default(256),
      sliding_window: windowKey().default(4096),
      sliding_window_pattern: size().nullish(),
      layer_types: layerTypesKey(),
      final_logit_softcapping: positive().nullish(),
      attn_logit_softcapping: positive().nullish(),
    })
    const { c, warnings } = readKeys('gemma3_text', keys, config)
    const pattern = c.sliding_window_pattern ?? 6
    const byPattern = (l: number) => ((l + 1) % pattern ? 'sliding_attention' : 'full_attention')
    const types = layerTypes(c.layer_types, c.num_hidden_layers, byPattern)
    if (c.sliding_window_pattern && types.some((type, l) => type !== byPattern(l)))
      warnings.push(contradiction('layer_types', c.layer_types, 'sliding_window_pattern', pattern))
    // The reference reads attn_logit_softcapping for this family, but its attention does not apply it.
    if (c.attn_logit_softcapping)
      warnings.push(
        `config.json: attn_logit_softcapping is ${c.attn_logit_softcapping}, but Gemma 3's attention has no soft-cap; it is not applied.`,
      )
    const { global, local } = twoRopes(config)
    const ropes = [decoderRope(global, c, { theta: 1_000_000 }), decoderRope(local, c)]
    return llamaLike({
      family: 'gemma3_text',
      ...gemmaCommon(config, c),
      ...sandwich(c, config),
      ropes: ropes.map(({ rope }) => rope),
      ropeOf: (l) => (types[l] === 'full_attention' ? 0 : 1),
      windowOf: windowsOf(types, c.sliding_window),
      qkNorm: { over: 'head', name: 'norm', bias: false },
      logits: { scale: 1, softcap: c.final_logit_softcapping ?? null },
      warnings: [...warnings, ...activationWarning(c, config), ...ropes.flatMap((read) => read.warnings)],
    })
  },
}

// --- Internal helpers ---

type GemmaConfig = DecoderConfig & {
  readonly rms_norm_eps: number
  readonly attention_bias: boolean
  readonly use_bidirectional_attention?: boolean | null | undefined
  readonly hidden_activation?: string | null | undefined
}

function gemmaCommon(config: RawConfig, c: GemmaConfig) {
  refuse(
    c.use_bidirectional_attention === true,
    'use_bidirectional_attention',
    'this family is run as a causal decoder',
  )
  return {
    config,
    ...decoderSizes(c),
    norm: { kind: 'rms', eps: c.rms_norm_eps, gainMinusOne: true },
    normParameters: 'gain',
    biases: { qkv: c.attention_bias, out: c.attention_bias },
    embedScale: Math.fround(Math.sqrt(c.hidden_size)),
  } satisfies Partial<Switches>
}

/** Gemma 2 and 3: norms before and after, their own scale of scores. */
function sandwich(c: GemmaConfig & { readonly query_pre_attn_scalar: number }, config: RawConfig) {
  const named =
    c.hidden_activation || typeof config.hidden_act !== 'string' ? 'hidden_activation' : 'hidden_act'
  return {
    norms: 'both',
    act: activationOf(named, c.hidden_activation ?? TANH),
    scoreScale: c.query_pre_attn_scalar ** -0.5,
  } satisfies Partial<Switches>
}

/** hidden_act is no key of Gemma 2 and 3: where it says something else, hidden_activation (or its default) counts. */
function activationWarning(c: GemmaConfig, config: RawConfig): string[] {
  const act = c.hidden_activation ?? TANH
  if (config.hidden_act === undefined || config.hidden_act === null || config.hidden_act === act) return []
  return [contradiction('hidden_activation', act, 'hidden_act', config.hidden_act)]
}

/**
 * The config as each of the two ropes sees it. Version 5: `rope_parameters {full_attention, sliding_attention}`;
 * version 4: `rope_theta` and `rope_scaling` are the global rope's, `rope_local_base_freq` is the local one's.
 */
function twoRopes(config: RawConfig) {
  const nested = (config.rope_parameters ?? {}) as RawConfig
  const flat = Object.keys(nested).filter((key) => key !== 'full_attention' && key !== 'sliding_attention')
  if (flat.length > 0)
    throw new HeadscopeError(
      'bad-checkpoint',
      `config.json, rope_parameters holds ${flat[0]}, but for this family it must hold full_attention and sliding_attention, each with its own rope_theta; correct it in config.json.`,
    )
  const { rope_theta, rope_scaling, rope_local_base_freq } = config
  const global = {
    ...(nested.full_attention as object | undefined),
    ...(rope_scaling as object | null | undefined),
  }
  return {
    global: { rope_parameters: global, rope_theta },
    local: { rope_parameters: nested.sliding_attention ?? {}, rope_theta: rope_local_base_freq },
  }
}
