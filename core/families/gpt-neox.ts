/**
 * GPT-NeoX (Pythia and the bundled models): LayerNorm, rotary on a part of each head, fused query_key_value laid out
 * as [head][q | k | v][d_head], parallel or serial residual.
 */
import { z } from 'zod'
import { count, flag, positive } from '../checkpoint/config.ts'
import type { RawConfig } from '../checkpoint/types.ts'
import { attention } from '../graph/attention.ts'
import { embed } from '../graph/embed.ts'
import { linear } from '../graph/linear.ts'
import { mlp } from '../graph/mlp.ts'
import { type ModelSpec, PLAIN_LAYER, PLAIN_MODEL } from '../graph/model-spec.ts'
import { norm } from '../graph/norm.ts'
import { unembed } from '../graph/unembed.ts'
import { activationOf, divides, readKeys, size } from './config-rules.ts'
import { type Family, type FamilyModel, RESIDUAL_ONLY } from './family.ts'
import {
  add,
  decoder,
  gain,
  headwise,
  layers,
  type Size,
  want,
  wantLinear,
  wantNorm,
  weights,
} from './parts.ts'
import { readRope } from './rope-config.ts'

const CONFIG = z.object({
  vocab_size: size().default(50432),
  hidden_size: size().default(6144),
  num_hidden_layers: count(10_000).default(44),
  num_attention_heads: count().default(64),
  intermediate_size: size().default(24576),
  hidden_act: z.string().default('gelu'),
  max_position_embeddings: size().default(2048),
  layer_norm_eps: positive().default(1e-5),
  use_parallel_residual: flag().default(true),
  attention_bias: flag().default(true),
  tie_word_embeddings: flag().default(false),
})

export const gptNeox: Family = { modelTypes: ['gpt_neox'], read }

function read(config: RawConfig): FamilyModel {
  const { c, warnings } = readKeys('gpt_neox', CONFIG, config)
  divides('num_attention_heads', c.num_attention_heads, 'hidden_size', c.hidden_size)
  const nHeads = c.num_attention_heads
  const dHead = c.hidden_size / nHeads
  const act = activationOf('hidden_act', c.hidden_act)
  const { rope, warnings: ropeWarnings } = readRope(config, {
    theta: 10_000,
    thetaKey: 'rotary_emb_base',
    partial: 0.25,
    partialKey: 'rotary_pct',
    dHead,
    interleaved: false,
    maxPositions: c.max_position_embeddings,
  })
  const spec: ModelSpec = {
    ...PLAIN_MODEL,
    family: 'gpt_neox',
    dModel: c.hidden_size,
    dVocab: c.vocab_size,
    nCtx: c.max_position_embeddings,
    positional: 'rotary',
    norm: { kind: 'layer', eps: c.layer_norm_eps },
    ropes: [rope],
    tied: c.tie_word_embeddings,
    stacks: decoder(
      layers(c.num_hidden_layers, () => ({
        ...PLAIN_LAYER,
        nHeads,
        nKvHeads: nHeads,
        dHead,
        dMlp: c.intermediate_size,
        act,
        gated: false,
        parallel: c.use_parallel_residual,
        scoreScale: 1 / Math.sqrt(dHead),
        rope: 0,
      })),
    ),
  }
  const d: Size = ['hidden_size', c.hidden_size]
  const mlpWidth: Size = ['intermediate_size', c.intermediate_size]
  const bias = c.attention_bias
  return {
    spec,
    warnings: [...warnings, ...ropeWarnings],
    state: RESIDUAL_ONLY,
    head: { embedding: 'embed_in.weight', own: 'embed_out.weight', tie: c.tie_word_embeddings },
    plan: {
      prefixes: ['gpt_neox.', ''],
      buffers: [
        /^layers\.\d+\.attention\.(bias|masked_bias|rotary_emb\.inv_freq)$/,
        /^rotary_emb\.inv_freq$/,
      ],
      wanted: [
        want('embed_in.weight', 'embedding', ['vocab_size', c.vocab_size], d),
        ...layers(c.num_hidden_layers, (l) => [
          ...wantNorm(`layers.${l}.input_layernorm`, d, true),
          ...wantLinear(
            `layers.${l}.attention.query_key_value`,
            'attention',
            'out_in',
            d,
            ['3 · hidden_size', 3 * c.hidden_size],
            bias,
          ),
          ...wantLinear(`layers.${l}.attention.dense`, 'attention', 'out_in', d, d, bias),
          ...wantNorm(`layers.${l}.post_attention_layernorm`, d, true),
          ...wantLinear(`layers.${l}.mlp.dense_h_to_4h`, 'mlp', 'out_in', d, mlpWidth, true),
          ...wantLinear(`layers.${l}.mlp.dense_4h_to_h`, 'mlp', 'out_in', mlpWidth, d, true),
        ]).flat(),
        ...wantNorm('final_layer_norm', d, true),
        {
          ...want('embed_out.weight', 'unembedding', ['vocab_size', c.vocab_size], d),
          optional: true,
        },
      ],
    },

    outputBias: (l) => (bias ? `layers.${l}.attention.dense.bias` : null),

    embed: (g) => ({ resid: embed(g, { tokens: 'embed_in.weight' }) }),

    block(g, l, { resid }) {
      const layer = spec.stacks[0]!.layers[l]!
      const x = g.hook('hook_resid_pre', resid) // [batch, pos, d_model]
      const normed = norm(g, 'ln1', x, spec.norm, gain(`layers.${l}.input_layernorm`, true))
      const fused = linear(
        g,
        normed,
        weights(`layers.${l}.attention.query_key_value`, 'out_in', bias),
        'd_model',
      )
      const output = weights(`layers.${l}.attention.dense`, 'out_in', bias)
      const attn = g.hook(
        'hook_attn_out',
        attention(g, spec, layer, headwise(g, fused, nHeads, dHead), output),
      )
      const mid = layer.parallel ? x : g.hook('hook_resid_mid', add(g, x, attn))
      const normedMid = norm(g, 'ln2', mid, spec.norm, gain(`layers.${l}.post_attention_layernorm`, true))
      const out = g.hook(
        'hook_mlp_out',
        mlp(g, normedMid, act, {
          in: weights(`layers.${l}.mlp.dense_h_to_4h`, 'out_in', true),
          out: weights(`layers.${l}.mlp.dense_4h_to_h`, 'out_in', true),
        }),
      )
      const sum = layer.parallel ? add(g, add(g, out, attn), x) : add(g, mid, out)
      return { resid: g.hook('hook_resid_post', sum) }
    },

    unembed(g, resid, matrix) {
      const normed = norm(g, 'ln_final', resid, spec.norm, gain('final_layer_norm', true))
      return unembed(g, spec, normed, { weight: matrix, orientation: 'out_in' })
    },
  }
}
