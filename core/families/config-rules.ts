/** Rules between config keys that families share, each with its sentence. */
import type { ZodObject, ZodRawShape, ZodType, z } from 'zod'
import { count, parseConfig } from '../checkpoint/config.ts'
import type { RawConfig } from '../checkpoint/types.ts'
import { HeadscopeError } from '../errors.ts'
import type { Activation } from '../graph/model-spec.ts'

/** A width, a vocabulary, a number of positions: any whole number; whether the tensors agree is checked on the file. */
export function size(): ZodType<number> {
  return count(Number.MAX_SAFE_INTEGER)
}

/** Names that configs give to activations, and what they compute in the reference implementation. */
const ACTIVATIONS = new Map<string, Activation>([
  ['relu', 'relu'],
  ['gelu', 'gelu'],
  ['gelu_python', 'gelu'],
  ['gelu_new', 'gelu_tanh'],
  ['gelu_fast', 'gelu_tanh'],
  ['gelu_accurate', 'gelu_tanh'],
  ['gelu_pytorch_tanh', 'gelu_tanh'],
  ['gelu_python_tanh', 'gelu_tanh'],
  ['silu', 'silu'],
  ['swish', 'silu'],
])

/** Throws `unsupported` for an activation that is not known, naming the known ones. */
export function activationOf(key: string, name: string): Activation {
  const found = ACTIVATIONS.get(name)
  if (found) return found
  throw new HeadscopeError(
    'unsupported',
    `config.json: ${key} is "${name}", which is not one of ${[...ACTIVATIONS.keys()].join(', ')}; this checkpoint cannot be run exactly, so it is not opened.`,
  )
}

/** Throws `bad-checkpoint` unless `part` divides `whole`. */
export function divides(partKey: string, part: number, wholeKey: string, whole: number): void {
  if (whole % part === 0) return
  throw new HeadscopeError(
    'bad-checkpoint',
    `config.json: ${partKey} ${part} does not divide ${wholeKey} ${whole}; correct them in config.json.`,
  )
}

/** Throws `unsupported` when a switch that changes the maths is on. */
export function refuse(on: boolean, key: string, why: string): void {
  if (!on) return
  throw new HeadscopeError(
    'unsupported',
    `config.json: ${key} is on, but ${why}; this checkpoint cannot be run exactly, so it is not opened.`,
  )
}

/** A warning about two keys that say different things, and which one won. */
export function contradiction(winner: string, value: unknown, loser: string, other: unknown): string {
  return `config.json contradicts itself: ${winner} is ${JSON.stringify(value)} and ${loser} is ${JSON.stringify(other)}; ${winner} counts.`
}

/**
 * Values of `own`, read with the family's schema. `aliases`: other spellings of a key, used where the key is absent.
 * Throws `bad-checkpoint` for a broken rule, and `unsupported` for a switch of another family that is on here:
 * ignoring it could give other numbers than its author meant.
 */
export function readKeys<S extends ZodRawShape>(
  family: string,
  schema: ZodObject<S>,
  raw: RawConfig,
  aliases: Readonly<Record<string, string>> = {},
): { readonly c: z.output<ZodObject<S>>; readonly warnings: string[] } {
  const named: Record<string, unknown> = { ...raw }
  const warnings: string[] = []
  for (const [alias, key] of Object.entries(aliases)) {
    if (raw[alias] === undefined || raw[alias] === null) continue
    if (raw[key] === undefined || raw[key] === null) named[key] = raw[alias]
    else if (raw[key] !== raw[alias]) warnings.push(contradiction(key, raw[key], alias, raw[alias]))
  }
  const known = new Set(Object.keys(schema.shape))
  for (const [key, neutral] of Object.entries(SWITCHES)) {
    const value = raw[key]
    if (known.has(key) || value === undefined || value === null || isEmpty(value)) continue
    if (typeof neutral === 'function' ? neutral(value, raw) : neutral.includes(value)) continue
    throw new HeadscopeError(
      'unsupported',
      `config.json: ${key} is ${JSON.stringify(value).slice(0, 60)}, but ${family} has no such switch, and ignoring it could change every number; remove it from config.json if it is left over.`,
    )
  }
  return { c: parseConfig(schema as unknown as ZodType<z.output<ZodObject<S>>>, named), warnings }
}

// --- Internal helpers ---

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

type Neutral = readonly unknown[] | ((value: unknown, config: RawConfig) => boolean)

/** Switches that change the maths in some family, with the values that change nothing. */
const SWITCHES: Readonly<Record<string, Neutral>> = {
  add_cross_attention: [false],
  alibi: [false],
  apply_residual_connection_post_layernorm: [false],
  attention_chunk_size: [],
  attention_multiplier: [],
  attention_sinks: [false],
  attn_logit_softcapping: [],
  attn_temperature_tuning: [false, 0],
  clip_qkv: [],
  do_layer_norm_before: [true],
  embedding_multiplier: [1],
  final_logit_softcapping: [],
  is_encoder_decoder: [false],
  key_multiplier: [1],
  kv_lora_rank: [],
  layer_types: (value) => Array.isArray(value) && value.every((type) => type === 'full_attention'),
  lm_head_multiplier: [1],
  logit_scale: [1],
  logits_scaling: [1],
  mlp_only_layers: [],
  n_routed_experts: [0],
  new_decoder_architecture: [false],
  no_rope_layers: [],
  normalize_embedding: [false],
  num_experts: [0],
  num_local_experts: [0],
  parallel_attn: [false],
  partial_rotary_factor: [1],
  q_lora_rank: [],
  qk_layernorm: [false],
  qk_norm: [false],
  quantization_config: [],
  query_pre_attn_scalar: [],
  residual_multiplier: [1],
  rope_interleaved: [false],
  routed_scaling_factor: [1],
  scale_attn_by_inverse_layer_idx: [false],
  scale_attn_weights: [true],
  scale_depth: [],
  scale_emb: [1],
  scale_embedding: [false],
  sliding_window: (value, config) => value === 0 || config.use_sliding_window === false,
  use_bidirectional_attention: [false],
  use_mrope: [false],
  use_parallel_residual: [false],
  use_qk_norm: [false],
  use_sliding_window: [false],
}
