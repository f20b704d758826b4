/** BLOOM: ALiBi, a LayerNorm after the embedding, fused query_key_value as [head][q | k | v][d_head], tanh GELU. */
import { z } from 'zod'
import { count, flag, positive } from '../checkpoint/config.ts'
import type { RawConfig } from '../checkpoint/types.ts'
import { alibiSlopes } from '../graph/alibi.ts'
import { attention } from '../graph/attention.ts'
import { embed } from '../graph/embed.ts'
import { linear } from '../graph/linear.ts'
import { mlp } from '../graph/mlp.ts'
import { type ModelSpec, PLAIN_LAYER, PLAIN_MODEL } from '../graph/model-spec.ts'
import { norm } from '../graph/norm.ts'
import { unembed } from '../graph/unembed.ts'
import { divides, readKeys, refuse, size } from './config-rules.ts'
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

const CONFIG = z.object({
  vocab_size: size().default(250880),
  hidden_size: size().default(64),
  n_layer: count(10_000).default(2),
  n_head: count().default(8),
  layer_norm_epsilon: positive().default(1e-5),
  apply_residual_connection_post_layernorm: flag().default(false),
  seq_length: size().default(2048),
  tie_word_embeddings: flag().default(true),
})

export const bloom: Family = { modelTypes: ['bloom'], read }

function read(config: RawConfig): FamilyModel {
  const { c, warnings } = readKeys('bloom', CONFIG, config, {
    n_embed: 'hidden_size',
    num_hidden_layers: 'n_layer',
    num_attention_heads: 'n_head',
  })
  divides('n_head', c.n_head, 'hidden_size', c.hidden_size)
  refuse(
    c.apply_residual_connection_post_layernorm,
    'apply_residual_connection_post_layernorm',
    'blocks are run with residuals around their norms',
  )
  const dHead = c.hidden_size / c.n_head
  const dMlp = 4 * c.hidden_size
  const spec: ModelSpec = {
    ...PLAIN_MODEL,
    family: 'bloom',
    dModel: c.hidden_size,
    dVocab: c.vocab_size,
    nCtx: c.seq_length,
    positional: 'alibi',
    norm: { kind: 'layer', eps: c.layer_norm_epsilon },
    tied: c.tie_word_embeddings,
    stacks: decoder(
      layers(c.n_layer, () => ({
        ...PLAIN_LAYER,
        nHeads: c.n_head,
        nKvHeads: c.n_head,
        dHead,
        dMlp,
        act: 'gelu_tanh' as const,
        gated: false,
        scoreScale: 1 / Math.sqrt(dHead),
        alibi: { slopes: alibiSlopes(c.n_head), bfloat16: false, scale: 1 },
      })),
    ),
  }

  const d: Size = ['hidden_size', c.hidden_size]
  const width: Size = ['4 · hidden_size', dMlp]
  return {
    spec,
    warnings,
    state: RESIDUAL_ONLY,
    head: { embedding: 'word_embeddings.weight', own: 'lm_head.weight', tie: c.tie_word_embeddings },
    plan: {
      prefixes: ['transformer.', ''],
      buffers: [],
      wanted: [
        want('word_embeddings.weight', 'embedding', ['vocab_size', c.vocab_size], d),
        ...wantNorm('word_embeddings_layernorm', d, true),
        ...layers(c.n_layer, (l) => [
          ...wantNorm(`h.${l}.input_layernorm`, d, true),
          ...wantLinear(
            `h.${l}.self_attention.query_key_value`,
            'attention',
            'out_in',
            d,
            ['3 · hidden_size', 3 * c.hidden_size],
            true,
          ),
          ...wantLinear(`h.${l}.self_attention.dense`, 'attention', 'out_in', d, d, true),
          ...wantNorm(`h.${l}.post_attention_layernorm`, d, true),
          ...wantLinear(`h.${l}.mlp.dense_h_to_4h`, 'mlp', 'out_in', d, width, true),
          ...wantLinear(`h.${l}.mlp.dense_4h_to_h`, 'mlp', 'out_in', width, d, true),
        ]).flat(),
        ...wantNorm('ln_f', d, true),
        { ...want('lm_head.weight', 'unembedding', ['vocab_size', c.vocab_size], d), optional: true },
      ],
    },

    outputBias: (l) => `h.${l}.self_attention.dense.bias`,

    embed: (g) => ({
      resid: embed(g, {
        tokens: 'word_embeddings.weight',
        norm: { spec: spec.norm, weights: gain('word_embeddings_layernorm', true) },
      }),
    }),

    block(g, l, { resid }) {
      const layer = spec.stacks[0]!.layers[l]!
      const part = (name: string) => weights(`h.${l}.${name}`, 'out_in', true)
      const x = g.hook('hook_resid_pre', resid) // [batch, pos, d_model]
      const normed = norm(g, 'ln1', x, spec.norm, gain(`h.${l}.input_layernorm`, true))
      const fused = linear(g, normed, part('self_attention.query_key_value'), 'd_model') // [batch, pos, 3 d_model]
      const qkv = headwise(g, fused, c.n_head, dHead)
      const attn = g.hook('hook_attn_out', attention(g, spec, layer, qkv, part('self_attention.dense')))
      const mid = g.hook('hook_resid_mid', add(g, x, attn))
      const normedMid = norm(g, 'ln2', mid, spec.norm, gain(`h.${l}.post_attention_layernorm`, true))
      const out = mlp(g, normedMid, layer.act, {
        in: part('mlp.dense_h_to_4h'),
        out: part('mlp.dense_4h_to_h'),
      })
      return { resid: g.hook('hook_resid_post', add(g, mid, g.hook('hook_mlp_out', out))) }
    },

    unembed(g, resid, matrix) {
      const normed = norm(g, 'ln_final', resid, spec.norm, gain('ln_f', true))
      return unembed(g, spec, normed, { weight: matrix, orientation: 'out_in' })
    },
  }
}
