/** Config → switches of the dense llama-like families. Defaults and rules are those of transformers 5.24. */
import { z } from 'zod'
import { flag, positive } from '../checkpoint/config.ts'
import type { RawConfig } from '../checkpoint/types.ts'
import { HeadscopeError } from '../errors.ts'
import { activationOf, readKeys } from './config-rules.ts'
import {
  decoderKeys,
  decoderRope,
  decoderSizes,
  layerTypes,
  layerTypesKey,
  windowKey,
  windowsOf,
} from './decoder-keys.ts'
import type { Family } from './family.ts'
import { llamaLike } from './llama-like.ts'

const off = () => flag().default(false)
const RMS = { rms_norm_eps: positive().default(1e-6) }
const LLAMA = { vocab: 32000, width: 4096, mlp: 11008, layers: 32, heads: 32, positions: 2048, tie: false }
const MISTRAL = { ...LLAMA, mlp: 14336, kvHeads: 8, positions: 131072 }
const QWEN = { ...LLAMA, vocab: 151936, mlp: 22016, kvHeads: 32, positions: 32768 }
const OLMO = { ...LLAMA, vocab: 50304 }

/** Llama: RMSNorm before, optional biases, every rope scaling. */
export const llama = family('llama', (config) => {
  const keys = z.object({ ...decoderKeys(LLAMA), ...RMS, attention_bias: off(), mlp_bias: off() })
  const { c, warnings } = readKeys('llama', keys, config)
  return {
    ...common(config, c, warnings),
    biases: { qkv: c.attention_bias, out: c.attention_bias, mlp: c.mlp_bias },
  }
})

/** Mistral: a window in every layer. */
export const mistral = family('mistral', (config) => {
  const keys = z.object({ ...decoderKeys(MISTRAL), ...RMS, sliding_window: windowKey().default(4096) })
  const { c, warnings } = readKeys('mistral', keys, config)
  return { ...common(config, c, warnings), windowOf: () => c.sliding_window || null }
})

/** Qwen 2: biases on queries, keys and values only; windows from max_window_layers on, where they are in use. */
export const qwen2 = family('qwen2', (config) => {
  const { c, warnings } = readKeys(
    'qwen2',
    z.object({ ...decoderKeys(QWEN), ...RMS, ...QWEN_WINDOWS }),
    config,
  )
  return { ...common(config, c, warnings), biases: { qkv: true }, windowOf: qwenWindows(c) }
})

/** Qwen 3: RMSNorm over each query and key head. */
export const qwen3 = family('qwen3', (config) => {
  const keys = z.object({
    ...decoderKeys({ ...QWEN, headDim: 128 }),
    ...RMS,
    ...QWEN_WINDOWS,
    attention_bias: off(),
  })
  const { c, warnings } = readKeys('qwen3', keys, config)
  return {
    ...common(config, c, warnings),
    biases: { qkv: c.attention_bias, out: c.attention_bias },
    qkNorm: { over: 'head', name: 'norm', bias: false },
    windowOf: qwenWindows(c),
  }
})

/** Granite: Llama with multipliers on embedding, scores, what blocks add, and logits. */
export const granite = family('granite', (config) => {
  const one = () => positive().default(1)
  const keys = z.object({
    ...decoderKeys(LLAMA),
    ...RMS,
    attention_bias: off(),
    mlp_bias: off(),
    embedding_multiplier: one(),
    attention_multiplier: one(),
    residual_multiplier: one(),
    logits_scaling: one(),
  })
  const { c, warnings } = readKeys('granite', keys, config)
  return {
    ...common(config, c, warnings),
    biases: { qkv: c.attention_bias, out: c.attention_bias, mlp: c.mlp_bias },
    embedScale: c.embedding_multiplier,
    scoreScale: c.attention_multiplier,
    residualScale: c.residual_multiplier,
    logits: { scale: 1 / c.logits_scaling, softcap: null },
  }
})

/** SmolLM 3: some layers know no positions. */
export const smollm3 = family('smollm3', (config) => {
  const keys = z.object({
    ...decoderKeys({
      ...LLAMA,
      vocab: 128256,
      width: 2048,
      layers: 36,
      heads: 16,
      kvHeads: 4,
      positions: 32768,
      tie: true,
    }),
    ...RMS,
    attention_bias: off(),
    mlp_bias: off(),
    no_rope_layers: z.array(z.union([z.literal(0), z.literal(1)])).nullish(),
    no_rope_layer_interval: z.int().positive().default(4),
    use_sliding_window: off(),
    sliding_window: windowKey(),
    layer_types: layerTypesKey(),
  })
  const { c, warnings } = readKeys('smollm3', keys, config)
  const n = c.num_hidden_layers
  const rotary =
    c.no_rope_layers ??
    Array.from({ length: n }, (_, l) => ((l + 1) % c.no_rope_layer_interval === 0 ? 0 : 1))
  if (rotary.length !== n)
    throw new HeadscopeError(
      'bad-checkpoint',
      `config.json: no_rope_layers names ${rotary.length} layers, but num_hidden_layers is ${n}; correct them in config.json.`,
    )
  const windowed = c.use_sliding_window && c.sliding_window
  const types = layerTypes(c.layer_types, n, (l) =>
    windowed && !rotary[l] ? 'sliding_attention' : 'full_attention',
  )
  return {
    ...common(config, c, warnings, { theta: 2_000_000 }),
    biases: { qkv: c.attention_bias, out: c.attention_bias, mlp: c.mlp_bias },
    ropeOf: (l) => (rotary[l] ? 0 : null),
    windowOf: windowsOf(types, c.sliding_window),
  }
})

/** Phi 3: fused projections, a window, and longrope. */
export const phi3 = family('phi3', (config) => {
  const keys = z.object({
    ...decoderKeys({ ...LLAMA, vocab: 32064, width: 3072, mlp: 8192, positions: 4096 }),
    rms_norm_eps: positive().default(1e-5),
    sliding_window: windowKey(),
    partial_rotary_factor: z.unknown().optional(),
    original_max_position_embeddings: z.unknown().optional(),
  })
  const { c, warnings } = readKeys('phi3', keys, config)
  const original = config.original_max_position_embeddings ?? 4096 // the reference's default for this family
  const named = { ...config, original_max_position_embeddings: original }
  const switches = common(named, c, warnings, { partial: 1, longropeNames: ['su', 'yarn'] })
  const { type } = switches.ropes[0]!.scaling
  if (type !== 'default' && type !== 'longrope')
    throw new HeadscopeError(
      'unsupported',
      `config.json asks for the rope_type ${type}, but phi3 has default and longrope only; this checkpoint cannot be run exactly, so it is not opened.`,
    )
  return { ...switches, fusedQkv: true, mlp: 'fused', windowOf: () => c.sliding_window || null }
})

/** OLMo: LayerNorm without parameters; queries, keys and values may be cut. */
export const olmo = family('olmo', (config) => {
  const keys = z.object({ ...decoderKeys(OLMO), attention_bias: off(), clip_qkv: positive().nullish() })
  const { c, warnings } = readKeys('olmo', keys, config)
  return {
    ...common(config, { ...c, rms_norm_eps: 1e-5 }, warnings),
    norm: { kind: 'layer', eps: 1e-5 },
    normParameters: 'none',
    biases: { qkv: c.attention_bias, out: c.attention_bias },
    clip: c.clip_qkv ?? null,
  }
})

/** OLMo 2: norms after attention and MLP instead of before, and over whole queries and keys. */
export const olmo2 = family('olmo2', (config) => {
  const keys = z.object({
    ...decoderKeys(OLMO),
    rms_norm_eps: positive().default(1e-5),
    attention_bias: off(),
  })
  const { c, warnings } = readKeys('olmo2', keys, config)
  return {
    ...common(config, c, warnings),
    norms: 'after',
    biases: { qkv: c.attention_bias, out: c.attention_bias },
    qkNorm: { over: 'projection', name: 'norm', bias: false },
  }
})

/** StableLM: LayerNorm, rotary on a part of each head, serial or parallel, optional LayerNorm of each head. */
export const stablelm = family('stablelm', (config) => {
  const keys = z.object({
    ...decoderKeys({ ...LLAMA, vocab: 50304, width: 2560, mlp: 6912, kvHeads: 32, positions: 4096 }),
    layer_norm_eps: positive().default(1e-5),
    use_qkv_bias: off(),
    qk_layernorm: off(),
    use_parallel_residual: off(),
    partial_rotary_factor: z.unknown().optional(),
  })
  const { c, warnings } = readKeys('stablelm', keys, config)
  return {
    ...common(config, { ...c, rms_norm_eps: c.layer_norm_eps }, warnings, { partial: 0.25 }),
    norm: { kind: 'layer', eps: c.layer_norm_eps },
    normParameters: 'gain+bias',
    parallel: c.use_parallel_residual,
    biases: { qkv: c.use_qkv_bias },
    ...(c.qk_layernorm ? { qkNorm: { over: 'lists', name: 'layernorm', bias: false } } : {}),
  }
})

/** StarCoder 2: LayerNorm, plain MLP, biases everywhere, a window. */
export const starcoder2 = family('starcoder2', (config) => {
  const keys = z.object({
    ...decoderKeys({
      ...LLAMA,
      vocab: 49152,
      width: 3072,
      mlp: 12288,
      layers: 30,
      heads: 24,
      kvHeads: 2,
      act: 'gelu_pytorch_tanh',
      positions: 4096,
      tie: true,
    }),
    norm_epsilon: positive().default(1e-5),
    use_bias: flag().default(true),
    sliding_window: windowKey(),
  })
  const { c, warnings } = readKeys('starcoder2', keys, config)
  return {
    ...common(config, { ...c, rms_norm_eps: c.norm_epsilon }, warnings),
    norm: { kind: 'layer', eps: c.norm_epsilon },
    normParameters: 'gain+bias',
    mlp: 'plain',
    biases: { qkv: c.use_bias, out: c.use_bias, mlp: c.use_bias },
    windowOf: () => c.sliding_window || null,
  }
})

/** Cohere: LayerNorm without bias, interleaved rotary, parallel, scaled logits, optional norm of each head. */
export const cohere = family('cohere', (config) => {
  const keys = z.object({
    ...decoderKeys({
      ...LLAMA,
      vocab: 256000,
      width: 8192,
      mlp: 22528,
      layers: 40,
      heads: 64,
      positions: 8192,
      tie: true,
    }),
    layer_norm_eps: positive().default(1e-5),
    attention_bias: off(),
    logit_scale: positive().default(0.0625),
    use_qk_norm: off(),
  })
  const { c, warnings } = readKeys('cohere', keys, config)
  return {
    ...common(config, { ...c, rms_norm_eps: c.layer_norm_eps }, warnings, {
      theta: 500_000,
      interleaved: true,
    }),
    norm: { kind: 'layer', eps: c.layer_norm_eps },
    parallel: true,
    biases: { qkv: c.attention_bias, out: c.attention_bias },
    logits: { scale: c.logit_scale, softcap: null },
    ...(c.use_qk_norm ? { qkNorm: { over: 'rows', name: 'norm', bias: false } } : {}),
  }
})

// --- Internal helpers ---

type Common = Parameters<typeof decoderSizes>[0] & {
  readonly hidden_act: string
  readonly rms_norm_eps: number
}
type Switched = Parameters<typeof llamaLike>[0]

function family(modelType: string, switches: (config: RawConfig) => Omit<Switched, 'family'>): Family {
  return { modelTypes: [modelType], read: (config) => llamaLike({ family: modelType, ...switches(config) }) }
}

/** What most of them share: sizes, one rope, RMSNorm with a gain. */
export function common(
  config: RawConfig,
  c: Common,
  warnings: readonly string[],
  rope: Parameters<typeof decoderRope>[2] = {},
) {
  const read = decoderRope(config, c, rope)
  return {
    config,
    ...decoderSizes(c),
    act: activationOf('hidden_act', c.hidden_act),
    norm: { kind: 'rms', eps: c.rms_norm_eps },
    normParameters: 'gain',
    ropes: [read.rope],
    warnings: [...warnings, ...read.warnings],
  } satisfies Omit<Switched, 'family'>
}

const QWEN_WINDOWS = {
  use_sliding_window: off(),
  sliding_window: windowKey().default(4096),
  max_window_layers: z.int().nonnegative().default(28),
  layer_types: layerTypesKey(),
}

/** Windows where they are in use: as layer_types says, else from max_window_layers on. */
function qwenWindows(c: {
  readonly num_hidden_layers: number
  readonly use_sliding_window: boolean
  readonly sliding_window?: number | null | undefined
  readonly max_window_layers: number
  readonly layer_types?: readonly unknown[] | null | undefined
}) {
  const window = c.use_sliding_window ? c.sliding_window : null
  const types = layerTypes(c.layer_types, c.num_hidden_layers, (l) =>
    window && l >= c.max_window_layers ? 'sliding_attention' : 'full_attention',
  )
  return windowsOf(types, window)
}
