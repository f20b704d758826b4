/**
 * OPT: learned positions from row 2 on, ReLU, LayerNorm before attention and MLP (`do_layer_norm_before`) or on each
 * sum (OPT-350m, whose token embeddings are also narrower than its residual stream).
 */
import { z } from 'zod'
import { count, flag } from '../checkpoint/config.ts'
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
import { add, bare, decoder, gain, layers, type Size, want, wantLinear, wantNorm, weights } from './parts.ts'

const CONFIG = z.object({
  vocab_size: size().default(50272),
  hidden_size: size().default(768),
  num_hidden_layers: count(10_000).default(12),
  ffn_dim: size().default(3072),
  max_position_embeddings: size().default(2048),
  do_layer_norm_before: flag().default(true),
  _remove_final_layer_norm: flag().default(false),
  word_embed_proj_dim: size().nullish(),
  num_attention_heads: count().default(12),
  activation_function: z.string().default('relu'),
  enable_bias: flag().default(true),
  layer_norm_elementwise_affine: flag().default(true),
  tie_word_embeddings: flag().default(true),
})

/** Rows of the position table that no position uses. */
const OFFSET = 2

export const opt: Family = { modelTypes: ['opt'], read }

function read(config: RawConfig): FamilyModel {
  const { c, warnings } = readKeys('opt', CONFIG, config)
  divides('num_attention_heads', c.num_attention_heads, 'hidden_size', c.hidden_size)
  const dHead = c.hidden_size / c.num_attention_heads
  const narrow = c.word_embed_proj_dim ?? c.hidden_size
  const projected = narrow !== c.hidden_size
  const act = activationOf('activation_function', c.activation_function)
  const before = c.do_layer_norm_before
  const finalNorm = before && !c._remove_final_layer_norm
  const affine = c.layer_norm_elementwise_affine
  const spec: ModelSpec = {
    ...PLAIN_MODEL,
    family: 'opt',
    dModel: c.hidden_size,
    dVocab: c.vocab_size,
    nCtx: c.max_position_embeddings,
    positional: 'learned',
    norm: { kind: 'layer', eps: 1e-5 },
    tied: c.tie_word_embeddings,
    stacks: decoder(
      layers(c.num_hidden_layers, () => ({
        ...PLAIN_LAYER,
        nHeads: c.num_attention_heads,
        nKvHeads: c.num_attention_heads,
        dHead,
        dMlp: c.ffn_dim,
        act,
        gated: false,
        scoreScale: 1 / Math.sqrt(dHead),
        norms: before ? ('before' as const) : ('sum' as const),
      })),
    ),
  }

  const d: Size = ['hidden_size', c.hidden_size]
  const width: Size = ['ffn_dim', c.ffn_dim]
  const words: Size = ['word_embed_proj_dim', narrow]
  const rows: Size = ['max_position_embeddings + 2', c.max_position_embeddings + OFFSET]
  const bias = c.enable_bias
  const normWeights = (name: string) => (affine ? gain(name, true) : bare(c.hidden_size))
  const wantNormAt = (name: string) => (affine ? wantNorm(name, d, true) : [])
  const attnNorm = (l: number) => normWeights(`layers.${l}.self_attn_layer_norm`)
  const mlpNorm = (l: number) => normWeights(`layers.${l}.final_layer_norm`)
  return {
    spec,
    warnings,
    state: RESIDUAL_ONLY,
    head: { embedding: 'embed_tokens.weight', own: 'lm_head.weight', tie: c.tie_word_embeddings },
    plan: {
      prefixes: ['model.decoder.', 'decoder.', ''],
      buffers: [],
      wanted: [
        want('embed_tokens.weight', 'embedding', ['vocab_size', c.vocab_size], words),
        want('embed_positions.weight', 'positional', rows, d),
        ...(projected
          ? [
              want('project_in.weight', 'embedding', d, words),
              want('project_out.weight', 'unembedding', words, d),
            ]
          : []),
        ...layers(c.num_hidden_layers, (l) => [
          ...['q_proj', 'k_proj', 'v_proj', 'out_proj'].flatMap((name) =>
            wantLinear(`layers.${l}.self_attn.${name}`, 'attention', 'out_in', d, d, bias),
          ),
          ...wantNormAt(`layers.${l}.self_attn_layer_norm`),
          ...wantLinear(`layers.${l}.fc1`, 'mlp', 'out_in', d, width, bias),
          ...wantLinear(`layers.${l}.fc2`, 'mlp', 'out_in', width, d, bias),
          ...wantNormAt(`layers.${l}.final_layer_norm`),
        ]).flat(),
        ...(finalNorm ? wantNormAt('final_layer_norm') : []),
        { ...want('lm_head.weight', 'unembedding', ['vocab_size', c.vocab_size], words), optional: true },
      ],
    },

    outputBias: (l) => (bias ? `layers.${l}.self_attn.out_proj.bias` : null),
    ...(before ? {} : { sumNorms: (l: number) => ({ mid: attnNorm(l), post: mlpNorm(l) }) }),

    embed: (g) => ({
      resid: embed(g, {
        tokens: 'embed_tokens.weight',
        project: projected ? weights('project_in', 'out_in', false) : undefined,
        positions: 'embed_positions.weight',
        offset: OFFSET,
      }),
    }),

    block(g, l, { resid }) {
      const layer = spec.stacks[0]!.layers[l]!
      const part = (name: string) => weights(`layers.${l}.${name}`, 'out_in', bias)
      const x = g.hook('hook_resid_pre', resid) // [batch, pos, d_model]
      const read = before ? norm(g, 'ln1', x, spec.norm, attnNorm(l)) : x
      const q = linear(g, read, part('self_attn.q_proj'), 'd_model') // [batch, pos, head · d_head]
      const k = linear(g, read, part('self_attn.k_proj'), 'd_model')
      const v = linear(g, read, part('self_attn.v_proj'), 'd_model')
      const mixed = attention(g, spec, layer, { q, k, v }, part('self_attn.out_proj'))
      const sum = add(g, x, g.hook('hook_attn_out', mixed))
      const mid = g.hook('hook_resid_mid', before ? sum : norm(g, 'ln1', sum, spec.norm, attnNorm(l)))
      const readMid = before ? norm(g, 'ln2', mid, spec.norm, mlpNorm(l)) : mid
      const out = g.hook('hook_mlp_out', mlp(g, readMid, act, { in: part('fc1'), out: part('fc2') }))
      const end = add(g, mid, out)
      return { resid: g.hook('hook_resid_post', before ? end : norm(g, 'ln2', end, spec.norm, mlpNorm(l))) }
    },

    unembed(g, resid, matrix) {
      const normed = finalNorm
        ? norm(g, 'ln_final', resid, spec.norm, normWeights('final_layer_norm'))
        : resid
      const narrowed = projected
        ? linear(g, normed, weights('project_out', 'out_in', false), 'd_model')
        : normed
      return unembed(g, spec, narrowed, { weight: matrix, orientation: 'out_in' })
    },
  }
}
