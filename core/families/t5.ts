/**
 * T5 (Raffel et al. 1910.10683), v1.1 and Flan-T5: an encoder and a decoder of pre-norm blocks with RMSNorm, no biases,
 * no factor on the scores, and a bias by distance whose table block 0 of each stack holds. The tied unembedding is scaled by
 * 1/√d_model (v1.1 has its own and no scale).
 */
import { z } from 'zod'
import { count, flag, positive } from '../checkpoint/config.ts'
import type { RawConfig } from '../checkpoint/types.ts'
import { attention } from '../graph/attention.ts'
import type { Builder, Value } from '../graph/builder.ts'
import { crossAttention, MEMORY } from '../graph/cross-attention.ts'
import { embed } from '../graph/embed.ts'
import { linear } from '../graph/linear.ts'
import { mlp } from '../graph/mlp.ts'
import { type ModelSpec, PLAIN_LAYER, PLAIN_MODEL, type StackSpec } from '../graph/model-spec.ts'
import { norm } from '../graph/norm.ts'
import { relativeBias } from '../graph/relative-bias.ts'
import { unembed } from '../graph/unembed.ts'
import { activationOf, readKeys, size } from './config-rules.ts'
import { needsBoth, tokenId } from './encoder-decoder.ts'
import { type BlockState, type Family, type FamilyModel, RESIDUAL_ONLY, type StackModel } from './family.ts'
import { add, gain, layers, type Size, want, wantLinear, wantNorm, weights } from './parts.ts'

const CONFIG = z.object({
  vocab_size: size().default(32128),
  d_model: size().default(512),
  d_kv: size().default(64),
  d_ff: size().default(2048),
  num_layers: count(10_000).default(6),
  num_decoder_layers: count(10_000).nullish(),
  num_heads: count().default(8),
  relative_attention_num_buckets: count().default(32),
  relative_attention_max_distance: count().default(128),
  n_positions: size().default(512),
  layer_norm_epsilon: positive().default(1e-6),
  feed_forward_proj: z.string().default('relu'),
  is_encoder_decoder: flag().default(true),
  is_decoder: flag().default(false),
  pad_token_id: tokenId().default(0),
  decoder_start_token_id: tokenId().nullish(),
  tie_word_embeddings: flag().default(true),
  // Written by transformers 5, which keeps it apart from tied weights; before, untied meant unscaled.
  scale_decoder_outputs: flag().nullish(),
})

const EMBEDDING = 'shared.weight'

export const t5: Family = { modelTypes: ['t5'], read }

function read(config: RawConfig): FamilyModel {
  const { c, warnings } = readKeys('t5', CONFIG, config)
  needsBoth(c)
  const gated = c.feed_forward_proj.startsWith('gated-')
  const name = gated ? c.feed_forward_proj.slice('gated-'.length) : c.feed_forward_proj
  // "gated-gelu" has always meant the tanh form.
  const act = activationOf('feed_forward_proj', gated && name === 'gelu' ? 'gelu_new' : name)
  const stack = (stackName: StackSpec['name'], causal: boolean, depth: number): StackSpec => ({
    name: stackName,
    causal,
    relative: {
      buckets: c.relative_attention_num_buckets,
      maxDistance: c.relative_attention_max_distance,
    },
    layers: layers(depth, () => ({
      ...PLAIN_LAYER,
      nHeads: c.num_heads,
      nKvHeads: c.num_heads,
      dHead: c.d_kv,
      dMlp: c.d_ff,
      act,
      gated,
      scoreScale: 1,
    })),
  })
  const spec: ModelSpec = {
    ...PLAIN_MODEL,
    family: 't5',
    dModel: c.d_model,
    dVocab: c.vocab_size,
    nCtx: c.n_positions,
    positional: 'relative',
    norm: { kind: 'rms', eps: c.layer_norm_epsilon },
    tied: c.tie_word_embeddings,
    logits: {
      scale: (c.scale_decoder_outputs ?? c.tie_word_embeddings) ? c.d_model ** -0.5 : 1,
      softcap: null,
    },
    stacks: [
      stack('encoder', false, c.num_layers),
      stack('decoder', true, c.num_decoder_layers ?? c.num_layers),
    ],
    encoderDecoder: {
      start: c.decoder_start_token_id ?? c.pad_token_id,
      sourceVocab: c.vocab_size,
    },
  }

  const d: Size = ['d_model', c.d_model]
  const heads: Size = ['num_heads · d_kv', c.num_heads * c.d_kv]
  const width: Size = ['d_ff', c.d_ff]
  const vocab: Size = ['vocab_size', c.vocab_size]
  const buckets: Size = ['relative_attention_num_buckets', c.relative_attention_num_buckets]
  const inputs = gated ? ['wi_0', 'wi_1'] : ['wi']
  const plainLinear = (tensor: string) => weights(tensor, 'out_in', false)

  const wantAttention = (at: string) => [
    ...['q', 'k', 'v'].flatMap((part) => wantLinear(`${at}.${part}`, 'attention', 'out_in', d, heads, false)),
    ...wantLinear(`${at}.o`, 'attention', 'out_in', heads, d, false),
  ]
  const wantStack = ({ name: side, layers: own }: StackSpec) => [
    want(distanceTable(side), 'positional', buckets, ['num_heads', c.num_heads]),
    ...own.flatMap((_, l) => [
      ...wantAttention(`${side}.block.${l}.layer.0.SelfAttention`),
      ...wantNorm(`${side}.block.${l}.layer.0.layer_norm`, d, false),
      ...(side === 'decoder'
        ? [
            ...wantAttention(`${side}.block.${l}.layer.1.EncDecAttention`),
            ...wantNorm(`${side}.block.${l}.layer.1.layer_norm`, d, false),
          ]
        : []),
      ...inputs.flatMap((part) =>
        wantLinear(`${mlpAt(side, l)}.DenseReluDense.${part}`, 'mlp', 'out_in', d, width, false),
      ),
      ...wantLinear(`${mlpAt(side, l)}.DenseReluDense.wo`, 'mlp', 'out_in', width, d, false),
      ...wantNorm(`${mlpAt(side, l)}.layer_norm`, d, false),
    ]),
    ...wantNorm(`${side}.final_layer_norm`, d, false),
  ]

  /** Embedding and blocks of one stack. */
  const stackModel = (own: StackSpec): StackModel => ({
    state: RESIDUAL_ONLY,
    outputBias: () => null,
    crossOutputBias: () => null,
    embed: (g) => ({ resid: embed(g, { tokens: EMBEDDING }) }),
    block(g, l, state): BlockState {
      const layer = own.layers[l]!
      const at = (part: string) => `${own.name}.block.${l}.layer.${part}`
      const x = g.hook('hook_resid_pre', state.resid) // [batch, pos, d_model]
      // Block 0 owns the table; every block looks it up, so that its state is the residual stream alone.
      const distances = relativeBias(g, own.relative!, own.causal, distanceTable(own.name))
      const projected = (from: Value, keys: Value, name: string) => ({
        q: linear(g, from, plainLinear(`${name}.q`), 'd_model'), // [batch, pos, head · d_head]
        k: linear(g, keys, plainLinear(`${name}.k`), 'd_model'),
        v: linear(g, keys, plainLinear(`${name}.v`), 'd_model'),
      })
      const self = at('0.SelfAttention')
      const readSelf = norm(g, 'ln1', x, spec.norm, gain(at('0.layer_norm'), false))
      const parts = projected(readSelf, readSelf, self)
      const mixed = attention(g, spec, layer, parts, plainLinear(`${self}.o`), undefined, distances)
      let mid = g.hook('hook_resid_mid', add(g, x, g.hook('hook_attn_out', mixed)))
      if (own.name === 'decoder') {
        const cross = at('1.EncDecAttention')
        const readCross = norm(g, 'ln_cross', mid, spec.norm, gain(at('1.layer_norm'), false))
        const met = projected(readCross, state[MEMORY]!, cross)
        const looked = crossAttention(g, layer, met, plainLinear(`${cross}.o`))
        mid = g.hook('hook_resid_mid_cross', add(g, mid, g.hook('hook_cross_attn_out', looked)))
      }
      const readMid = norm(g, 'ln2', mid, spec.norm, gain(`${mlpAt(own.name, l)}.layer_norm`, false))
      const out = g.hook('hook_mlp_out', dense(g, readMid, `${mlpAt(own.name, l)}.DenseReluDense`))
      return { resid: g.hook('hook_resid_post', add(g, mid, out)) }
    },
  })
  const dense = (g: Builder, x: Value, at: string) =>
    mlp(
      g,
      x,
      act,
      gated
        ? {
            gate: plainLinear(`${at}.wi_0`),
            up: plainLinear(`${at}.wi_1`),
            out: plainLinear(`${at}.wo`),
          }
        : { in: plainLinear(`${at}.wi`), out: plainLinear(`${at}.wo`) },
    )

  const [encoder, decoder] = spec.stacks as [StackSpec, StackSpec]
  return {
    spec,
    warnings,
    ...stackModel(decoder),
    encoder: {
      ...stackModel(encoder),
      memory: (g, resid) => norm(g, 'ln_final', resid, spec.norm, gain('encoder.final_layer_norm', false)),
    },
    head: { embedding: EMBEDDING, own: 'lm_head.weight', tie: c.tie_word_embeddings },
    plan: {
      prefixes: [''],
      // Copies of the shared table, and a bias of cross-attention that no version of the model reads.
      buffers: [
        /^(encoder|decoder)\.embed_tokens\.weight$/,
        /^decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight$/,
      ],
      wanted: [
        want(EMBEDDING, 'embedding', vocab, d),
        ...spec.stacks.flatMap(wantStack),
        { ...want('lm_head.weight', 'unembedding', vocab, d), optional: true },
      ],
    },
    unembed(g, resid, matrix) {
      const normed = norm(g, 'decoder.ln_final', resid, spec.norm, gain('decoder.final_layer_norm', false))
      return unembed(g, spec, normed, { weight: matrix, orientation: 'out_in' })
    },
  }
}

// --- Internal helpers ---

function distanceTable(side: StackSpec['name']): string {
  return `${side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight`
}

function mlpAt(side: StackSpec['name'], layer: number): string {
  return `${side}.block.${layer}.layer.${side === 'decoder' ? 2 : 1}`
}
