/**
 * Llama: RMSNorm, rotary (plain, linear, dynamic, yarn, llama3), grouped keys and values, gated MLP, optional biases.
 */
import { z } from 'zod'
import { count, flag, parseConfig, positive } from '../checkpoint/config.ts'
import type { RawConfig } from '../checkpoint/types.ts'
import { HeadscopeError } from '../errors.ts'
import { attention } from '../graph/attention.ts'
import { embed } from '../graph/embed.ts'
import { linear } from '../graph/linear.ts'
import { mlp } from '../graph/mlp.ts'
import type { ModelSpec } from '../graph/model-spec.ts'
import { norm } from '../graph/norm.ts'
import { unembed } from '../graph/unembed.ts'
import { activationOf, divides, size } from './config-rules.ts'
import { type Family, type FamilyModel, RESIDUAL_ONLY } from './family.ts'
import { add, gain, layers, type Size, want, wantLinear, wantNorm, weights } from './parts.ts'
import { readRope } from './rope-config.ts'

const CONFIG = z.object({
  vocab_size: size().default(32000),
  hidden_size: size().default(4096),
  intermediate_size: size().default(11008),
  num_hidden_layers: count(10_000).default(32),
  num_attention_heads: count().default(32),
  num_key_value_heads: count().nullish(),
  head_dim: count().nullish(),
  hidden_act: z.string().default('silu'),
  max_position_embeddings: size().default(2048),
  rms_norm_eps: positive().default(1e-6),
  attention_bias: flag().default(false),
  mlp_bias: flag().default(false),
  tie_word_embeddings: flag().default(false),
})

export const llama: Family = { modelTypes: ['llama'], read }

function read(config: RawConfig): FamilyModel {
  const c = parseConfig(CONFIG, config)
  const nHeads = c.num_attention_heads
  const nKvHeads = c.num_key_value_heads ?? nHeads
  if (nKvHeads > nHeads)
    throw new HeadscopeError(
      'bad-checkpoint',
      `config.json: num_key_value_heads ${nKvHeads} is more than num_attention_heads ${nHeads}; correct them in config.json.`,
    )
  divides('num_key_value_heads', nKvHeads, 'num_attention_heads', nHeads)
  if (!c.head_dim) divides('num_attention_heads', nHeads, 'hidden_size', c.hidden_size)
  const dHead = c.head_dim ?? c.hidden_size / nHeads
  const act = activationOf('hidden_act', c.hidden_act)
  const rope = readRope(config, {
    theta: 10_000,
    thetaKey: 'rope_theta',
    partial: 1,
    partialKey: 'partial_rotary_factor',
    dHead,
    interleaved: false,
    maxPositions: c.max_position_embeddings,
  })
  const spec: ModelSpec = {
    family: 'llama',
    dModel: c.hidden_size,
    dVocab: c.vocab_size,
    nCtx: c.max_position_embeddings,
    positional: 'rotary',
    norm: { kind: 'rms', eps: c.rms_norm_eps },
    ropes: [rope],
    tied: c.tie_word_embeddings,
    stacks: [
      {
        name: 'decoder',
        causal: true,
        layers: layers(c.num_hidden_layers, () => ({
          nHeads,
          nKvHeads,
          dHead,
          dMlp: c.intermediate_size,
          act,
          gated: true,
          parallel: false,
          scoreScale: 1 / Math.sqrt(dHead),
          window: null,
          rope: 0,
        })),
      },
    ],
  }

  const d: Size = ['hidden_size', c.hidden_size]
  const queries: Size = ['num_attention_heads · head_dim', nHeads * dHead]
  const keys: Size = ['num_key_value_heads · head_dim', nKvHeads * dHead]
  const mlpWidth: Size = ['intermediate_size', c.intermediate_size]
  const bias = c.attention_bias
  return {
    spec,
    warnings: [],
    state: RESIDUAL_ONLY,
    head: { embedding: 'embed_tokens.weight', own: 'lm_head.weight', tie: c.tie_word_embeddings },
    plan: {
      prefixes: ['model.', ''],
      buffers: [/^layers\.\d+\.self_attn\.rotary_emb\.inv_freq$/, /^rotary_emb\.inv_freq$/],
      wanted: [
        want('embed_tokens.weight', 'embedding', ['vocab_size', c.vocab_size], d),
        ...layers(c.num_hidden_layers, (l) => [
          ...wantNorm(`layers.${l}.input_layernorm`, d, false),
          ...wantLinear(`layers.${l}.self_attn.q_proj`, 'attention', 'out_in', d, queries, bias),
          ...wantLinear(`layers.${l}.self_attn.k_proj`, 'attention', 'out_in', d, keys, bias),
          ...wantLinear(`layers.${l}.self_attn.v_proj`, 'attention', 'out_in', d, keys, bias),
          ...wantLinear(`layers.${l}.self_attn.o_proj`, 'attention', 'out_in', queries, d, bias),
          ...wantNorm(`layers.${l}.post_attention_layernorm`, d, false),
          ...wantLinear(`layers.${l}.mlp.gate_proj`, 'mlp', 'out_in', d, mlpWidth, c.mlp_bias),
          ...wantLinear(`layers.${l}.mlp.up_proj`, 'mlp', 'out_in', d, mlpWidth, c.mlp_bias),
          ...wantLinear(`layers.${l}.mlp.down_proj`, 'mlp', 'out_in', mlpWidth, d, c.mlp_bias),
        ]).flat(),
        ...wantNorm('norm', d, false),
        { ...want('lm_head.weight', 'unembedding', ['vocab_size', c.vocab_size], d), optional: true },
      ],
    },

    outputBias: (l) => (bias ? `layers.${l}.self_attn.o_proj.bias` : null),

    embed: (g) => ({ resid: embed(g, { tokens: 'embed_tokens.weight' }) }),

    block(g, l, { resid }) {
      const layer = spec.stacks[0]!.layers[l]!
      const part = (name: string, on: boolean) => weights(`layers.${l}.${name}`, 'out_in', on)
      const x = g.hook('hook_resid_pre', resid) // [batch, pos, d_model]
      const normed = norm(g, 'ln1', x, spec.norm, gain(`layers.${l}.input_layernorm`, false))
      const q = linear(g, normed, part('self_attn.q_proj', bias), 'd_model') // [batch, pos, head · d_head]
      const k = linear(g, normed, part('self_attn.k_proj', bias), 'd_model') // [batch, pos, kv_head · d_head]
      const v = linear(g, normed, part('self_attn.v_proj', bias), 'd_model') // [batch, pos, kv_head · d_head]
      const attn = g.hook(
        'hook_attn_out',
        attention(g, spec, layer, { q, k, v }, part('self_attn.o_proj', bias)),
      )
      const mid = g.hook('hook_resid_mid', add(g, x, attn))
      const normedMid = norm(g, 'ln2', mid, spec.norm, gain(`layers.${l}.post_attention_layernorm`, false))
      const out = mlp(g, normedMid, act, {
        gate: part('mlp.gate_proj', c.mlp_bias),
        up: part('mlp.up_proj', c.mlp_bias),
        out: part('mlp.down_proj', c.mlp_bias),
      })
      return { resid: g.hook('hook_resid_post', add(g, mid, g.hook('hook_mlp_out', out))) }
    },

    unembed(g, resid, matrix) {
      const normed = norm(g, 'ln_final', resid, spec.norm, gain('norm', false))
      return unembed(g, normed, { weight: matrix, orientation: 'out_in' })
    },
  }
}
