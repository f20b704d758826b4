/** Config → switches of the llama-like families with experts. Defaults and rules are those of transformers 5.24. */
import { z } from 'zod'
import { count, flag, positive } from '../checkpoint/config.ts'
import { HeadscopeError } from '../errors.ts'
import type { ExpertsSpec } from '../graph/model-spec.ts'
import { readKeys, size } from './config-rules.ts'
import { decoderKeys, layerTypes, layerTypesKey, windowKey, windowsOf } from './decoder-keys.ts'
import type { Family } from './family.ts'
import { common } from './llama.ts'
import { llamaLike } from './llama-like.ts'

const off = () => flag().default(false)
const QWEN = { vocab: 151936, width: 2048, layers: 24, heads: 16, positions: 32768, tie: false }
/** Which layers have experts: every `decoder_sparse_step`-th, but not those named. */
const SPARSE = {
  decoder_sparse_step: z.int().positive().default(1),
  mlp_only_layers: z.array(z.int()).nullish(),
}

/** Mixtral: experts in every layer, weights divided by their sum. */
export const mixtral: Family = {
  modelTypes: ['mixtral'],
  read(config) {
    const keys = z.object({
      ...decoderKeys({
        vocab: 32000,
        width: 4096,
        mlp: 14336,
        layers: 32,
        heads: 32,
        kvHeads: 8,
        positions: 131072,
        tie: false,
      }),
      rms_norm_eps: positive().default(1e-5),
      sliding_window: windowKey(),
      num_experts_per_tok: count().default(2),
      num_local_experts: count().default(8),
      num_experts: z.unknown().optional(),
    })
    const { c, warnings } = readKeys('mixtral', keys, config, { num_experts: 'num_local_experts' })
    const experts = checked({
      count: c.num_local_experts,
      used: c.num_experts_per_tok,
      dMlp: c.intermediate_size,
      renormalize: true,
      shared: null,
    })
    return llamaLike({
      family: 'mixtral',
      ...common(config, c, warnings, { theta: 1_000_000 }),
      windowOf: () => c.sliding_window || null,
      expertsOf: () => experts,
      expertNames: 'mixtral',
    })
  },
}

/** Qwen 2 MoE: beside the chosen experts, one that every token passes behind a gate. */
export const qwen2Moe: Family = {
  modelTypes: ['qwen2_moe'],
  read(config) {
    const keys = z.object({
      ...decoderKeys({ ...QWEN, mlp: 5632, kvHeads: 16 }),
      ...SPARSE,
      rms_norm_eps: positive().default(1e-6),
      qkv_bias: flag().default(true),
      use_sliding_window: off(),
      sliding_window: windowKey().default(4096),
      max_window_layers: z.int().nonnegative().default(28),
      layer_types: layerTypesKey(),
      moe_intermediate_size: size().default(1408),
      shared_expert_intermediate_size: size().default(5632),
      num_experts_per_tok: count().default(4),
      num_experts: count().default(60),
      norm_topk_prob: off(),
    })
    const { c, warnings } = readKeys('qwen2_moe', keys, config)
    const experts = checked({
      count: c.num_experts,
      used: c.num_experts_per_tok,
      dMlp: c.moe_intermediate_size,
      renormalize: c.norm_topk_prob,
      shared: c.shared_expert_intermediate_size,
    })
    const window = c.use_sliding_window ? c.sliding_window : null
    const types = layerTypes(c.layer_types, c.num_hidden_layers, (l) =>
      window && l % 2 === 0 && l < c.max_window_layers ? 'sliding_attention' : 'full_attention',
    )
    return llamaLike({
      family: 'qwen2_moe',
      ...common(config, c, warnings),
      biases: { qkv: c.qkv_bias },
      windowOf: windowsOf(types, window),
      expertsOf: sparse(c, experts),
      expertNames: 'qwen',
    })
  },
}

/** Qwen 3 MoE: RMSNorm over each query and key head, no shared expert. */
export const qwen3Moe: Family = {
  modelTypes: ['qwen3_moe'],
  read(config) {
    const keys = z.object({
      ...decoderKeys({ ...QWEN, mlp: 6144, heads: 32, kvHeads: 4 }),
      ...SPARSE,
      rms_norm_eps: positive().default(1e-6),
      attention_bias: off(),
      use_sliding_window: off(),
      sliding_window: windowKey().default(4096),
      moe_intermediate_size: size().default(768),
      num_experts_per_tok: count().default(8),
      num_experts: count().default(128),
      num_local_experts: z.unknown().optional(),
      norm_topk_prob: off(),
    })
    const { c, warnings } = readKeys('qwen3_moe', keys, config, { num_local_experts: 'num_experts' })
    const experts = checked({
      count: c.num_experts,
      used: c.num_experts_per_tok,
      dMlp: c.moe_intermediate_size,
      renormalize: c.norm_topk_prob,
      shared: null,
    })
    const window = c.use_sliding_window ? c.sliding_window || null : null
    return llamaLike({
      family: 'qwen3_moe',
      ...common(config, c, warnings),
      biases: { qkv: c.attention_bias, out: c.attention_bias },
      qkNorm: { over: 'head', name: 'norm', bias: false },
      windowOf: () => window,
      expertsOf: sparse(c, experts),
      expertNames: 'qwen',
    })
  },
}

/** OLMoE: RMSNorm over whole queries and keys, then the clip. */
export const olmoe: Family = {
  modelTypes: ['olmoe'],
  read(config) {
    const keys = z.object({
      ...decoderKeys({
        vocab: 50304,
        width: 2048,
        mlp: 2048,
        layers: 16,
        heads: 16,
        positions: 4096,
        tie: false,
      }),
      rms_norm_eps: positive().default(1e-5),
      attention_bias: off(),
      clip_qkv: positive().nullish(),
      num_experts_per_tok: count().default(8),
      num_experts: count().default(64),
      num_local_experts: z.unknown().optional(),
      norm_topk_prob: off(),
    })
    const { c, warnings } = readKeys('olmoe', keys, config, { num_local_experts: 'num_experts' })
    const experts = checked({
      count: c.num_experts,
      used: c.num_experts_per_tok,
      dMlp: c.intermediate_size,
      renormalize: c.norm_topk_prob,
      shared: null,
    })
    return llamaLike({
      family: 'olmoe',
      ...common(config, c, warnings),
      biases: { qkv: c.attention_bias, out: c.attention_bias },
      qkNorm: { over: 'projection', name: 'norm', bias: false },
      clip: c.clip_qkv ?? null,
      expertsOf: () => experts,
      expertNames: 'qwen',
    })
  },
}

// --- Internal helpers ---

/** Throws `bad-checkpoint` when a token would use more experts than there are. */
function checked(spec: ExpertsSpec): ExpertsSpec {
  if (spec.used <= spec.count) return spec
  throw new HeadscopeError(
    'bad-checkpoint',
    `config.json: num_experts_per_tok is ${spec.used}, but there are ${spec.count} experts; correct them in config.json.`,
  )
}

function sparse(
  c: {
    readonly decoder_sparse_step: number
    readonly mlp_only_layers?: readonly number[] | null | undefined
  },
  experts: ExpertsSpec,
) {
  return (l: number) =>
    (l + 1) % c.decoder_sparse_step === 0 && !c.mlp_only_layers?.includes(l) ? experts : null
}
