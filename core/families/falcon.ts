/**
 * Falcon: three layouts of query_key_value (new architecture: by key/value head, its queries first; multi-query: all
 * queries, one key, one value; else [head][q | k | v]), rotary or ALiBi, one or two LayerNorms in a parallel block, or
 * a serial block. ALiBi is rounded to bfloat16 and scaled like the score, once, as the reference's default attention
 * does (its eager attention adds it twice).
 */
import { z } from 'zod'
import { count, flag, positive } from '../checkpoint/config.ts'
import type { RawConfig } from '../checkpoint/types.ts'
import { HeadscopeError } from '../errors.ts'
import { alibiSlopes } from '../graph/alibi.ts'
import { attention } from '../graph/attention.ts'
import type { Builder, Value } from '../graph/builder.ts'
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
  split,
  want,
  wantLinear,
  wantNorm,
  weights,
} from './parts.ts'
import { readRope } from './rope-config.ts'

const switchKey = (on: boolean) =>
  flag()
    .nullish()
    .transform((value) => value ?? on)

const CONFIG = z.object({
  vocab_size: size().default(65024),
  hidden_size: size().default(4544),
  num_hidden_layers: count(10_000).default(32),
  num_attention_heads: count().default(71),
  num_kv_heads: count().nullish(),
  num_ln_in_parallel_attn: z.union([z.literal(1), z.literal(2)]).nullish(),
  layer_norm_epsilon: positive().default(1e-5),
  alibi: switchKey(false),
  new_decoder_architecture: switchKey(false),
  multi_query: switchKey(true),
  parallel_attn: switchKey(true),
  bias: switchKey(false),
  max_position_embeddings: size().default(2048),
  ffn_hidden_size: size().nullish(),
  activation: z.string().default('gelu'),
  tie_word_embeddings: flag().default(true),
})

export const falcon: Family = { modelTypes: ['falcon'], read }

function read(config: RawConfig): FamilyModel {
  const { c, warnings } = readKeys('falcon', CONFIG, config, { n_embed: 'hidden_size' })
  const nHeads = c.num_attention_heads
  divides('num_attention_heads', nHeads, 'hidden_size', c.hidden_size)
  const dHead = c.hidden_size / nHeads
  const isNew = c.new_decoder_architecture
  const nKvHeads = isNew ? (c.num_kv_heads ?? nHeads) : c.multi_query ? 1 : nHeads
  divides('num_kv_heads', nKvHeads, 'num_attention_heads', nHeads)
  // The reference has three forms of block; another mixture of these switches has no meaning there.
  if (isNew && !c.parallel_attn)
    throw new HeadscopeError(
      'unsupported',
      'config.json: new_decoder_architecture is on and parallel_attn is off, which is no form of a Falcon block; correct them in config.json.',
    )
  const parallel = isNew || c.parallel_attn
  const twoNorms = parallel && (c.num_ln_in_parallel_attn ?? (isNew ? 2 : 1)) === 2
  if (twoNorms && !isNew)
    throw new HeadscopeError(
      'unsupported',
      'config.json: num_ln_in_parallel_attn is 2 without new_decoder_architecture, which is no form of a Falcon block; correct them in config.json.',
    )
  const act = activationOf('activation', c.activation)
  const dMlp = c.ffn_hidden_size ?? 4 * c.hidden_size
  const scoreScale = 1 / Math.sqrt(dHead)
  const rope = c.alibi ? null : falconRope(config, dHead, c.max_position_embeddings)
  const spec: ModelSpec = {
    ...PLAIN_MODEL,
    family: 'falcon',
    dModel: c.hidden_size,
    dVocab: c.vocab_size,
    nCtx: c.max_position_embeddings,
    positional: c.alibi ? 'alibi' : 'rotary',
    norm: { kind: 'layer', eps: c.layer_norm_epsilon },
    ropes: rope ? [rope.rope] : [],
    tied: c.tie_word_embeddings,
    stacks: decoder(
      layers(c.num_hidden_layers, () => ({
        ...PLAIN_LAYER,
        nHeads,
        nKvHeads,
        dHead,
        dMlp,
        act,
        gated: false,
        parallel,
        scoreScale,
        rope: c.alibi ? null : 0,
        alibi: c.alibi ? { slopes: alibiSlopes(nHeads), bfloat16: true, scale: scoreScale } : null,
      })),
    ),
  }

  const d: Size = ['hidden_size', c.hidden_size]
  const width: Size = ['ffn_hidden_size', dMlp]
  const fusedWidth: Size = ['(heads + 2 · key/value heads) · head_dim', (nHeads + 2 * nKvHeads) * dHead]
  const attnNorm = twoNorms ? 'ln_attn' : 'input_layernorm'
  return {
    spec,
    warnings: [...warnings, ...(rope?.warnings ?? [])],
    state: RESIDUAL_ONLY,
    head: { embedding: 'word_embeddings.weight', own: 'lm_head.weight', tie: c.tie_word_embeddings },
    plan: {
      prefixes: ['transformer.', ''],
      buffers: [/rotary(_emb)?\.inv_freq$/],
      wanted: [
        want('word_embeddings.weight', 'embedding', ['vocab_size', c.vocab_size], d),
        ...layers(c.num_hidden_layers, (l) => [
          ...wantNorm(`h.${l}.${attnNorm}`, d, true),
          ...(twoNorms ? wantNorm(`h.${l}.ln_mlp`, d, true) : []),
          ...(parallel ? [] : wantNorm(`h.${l}.post_attention_layernorm`, d, true)),
          ...wantLinear(
            `h.${l}.self_attention.query_key_value`,
            'attention',
            'out_in',
            d,
            fusedWidth,
            c.bias,
          ),
          ...wantLinear(`h.${l}.self_attention.dense`, 'attention', 'out_in', d, d, c.bias),
          ...wantLinear(`h.${l}.mlp.dense_h_to_4h`, 'mlp', 'out_in', d, width, c.bias),
          ...wantLinear(`h.${l}.mlp.dense_4h_to_h`, 'mlp', 'out_in', width, d, c.bias),
        ]).flat(),
        ...wantNorm('ln_f', d, true),
        { ...want('lm_head.weight', 'unembedding', ['vocab_size', c.vocab_size], d), optional: true },
      ],
    },

    outputBias: (l) => (c.bias ? `h.${l}.self_attention.dense.bias` : null),

    embed: (g) => ({ resid: embed(g, { tokens: 'word_embeddings.weight' }) }),

    block(g, l, { resid }) {
      const layer = spec.stacks[0]!.layers[l]!
      const part = (name: string) => weights(`h.${l}.${name}`, 'out_in', c.bias)
      const normed = (place: string, x: Value, name: string) =>
        norm(g, place, x, spec.norm, gain(`h.${l}.${name}`, true))
      const x = g.hook('hook_resid_pre', resid) // [batch, pos, d_model]
      const read = normed('ln1', x, attnNorm)
      const fused = linear(g, read, part('self_attention.query_key_value'), 'd_model')
      const qkv = nKvHeads === nHeads && !isNew ? headwise(g, fused, nHeads, dHead) : byGroup(g, fused)
      const attn = g.hook('hook_attn_out', attention(g, spec, layer, qkv, part('self_attention.dense')))
      const mid = parallel ? x : g.hook('hook_resid_mid', add(g, x, attn))
      const readMid = !parallel
        ? normed('ln2', mid, 'post_attention_layernorm')
        : twoNorms
          ? normed('ln2', x, 'ln_mlp')
          : read
      const made = mlp(g, readMid, act, { in: part('mlp.dense_h_to_4h'), out: part('mlp.dense_4h_to_h') })
      const out = g.hook('hook_mlp_out', made)
      const sum = parallel ? add(g, add(g, out, attn), x) : add(g, mid, out)
      return { resid: g.hook('hook_resid_post', sum) }
    },

    unembed(g, resid, matrix) {
      const normed = norm(g, 'ln_final', resid, spec.norm, gain('ln_f', true))
      return unembed(g, spec, normed, { weight: matrix, orientation: 'out_in' })
    },
  }

  /** [batch, pos, kv_head · (group + 2) · d_head] → q [.., head, d_head], k and v [.., kv_head, d_head]. */
  function byGroup(g: Builder, fused: Value) {
    const group = nHeads / nKvHeads
    const axes = ['batch', 'pos', 'kv_head', 'd_head'] as const
    const perGroup = g.op('Reshape', [fused, g.ints([0, 0, nKvHeads, (group + 2) * dHead])], axes)
    const [q, k, v] = split(g, perGroup, [group * dHead, dHead, dHead]) as [Value, Value, Value]
    return { q, k, v }
  }
}

// --- Internal helpers ---

function falconRope(config: RawConfig, dHead: number, maxPositions: number) {
  return readRope(config, {
    theta: 10_000,
    thetaKey: 'rope_theta',
    partial: null,
    partialKey: 'partial_rotary_factor',
    dHead,
    interleaved: false,
    maxPositions,
  })
}
