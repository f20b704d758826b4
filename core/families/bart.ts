/**
 * BART (Lewis et al. 1910.13461) and Marian (Junczys-Dowmunt et al. 1804.00344): an encoder and a decoder of blocks
 * that norm each sum, biases everywhere, and a bias of the logits. BART has learned positions from row 2 on and a norm
 * after the embedding; Marian has fixed sinusoidal positions, no such norm, and may have a vocabulary for each side.
 */
import { z } from 'zod'
import { count, flag } from '../checkpoint/config.ts'
import type { RawConfig } from '../checkpoint/types.ts'
import { attention } from '../graph/attention.ts'
import type { Builder, Value } from '../graph/builder.ts'
import { crossAttention, MEMORY } from '../graph/cross-attention.ts'
import { embed } from '../graph/embed.ts'
import { linear } from '../graph/linear.ts'
import { mlp } from '../graph/mlp.ts'
import { type ModelSpec, PLAIN_LAYER, PLAIN_MODEL, type StackSpec } from '../graph/model-spec.ts'
import { norm } from '../graph/norm.ts'
import { unembed } from '../graph/unembed.ts'
import { activationOf, divides, readKeys, refuse, size } from './config-rules.ts'
import { needsBoth, tokenId } from './encoder-decoder.ts'
import { type Family, type FamilyModel, RESIDUAL_ONLY, type StackModel } from './family.ts'
import { add, gain, layers, type Size, want, wantLinear, wantNorm, weights } from './parts.ts'

const SHARED_KEYS = {
  max_position_embeddings: size().default(1024),
  d_model: size().default(1024),
  encoder_layers: count(10_000).default(12),
  encoder_ffn_dim: size().default(4096),
  encoder_attention_heads: count().default(16),
  decoder_layers: count(10_000).default(12),
  decoder_ffn_dim: size().default(4096),
  decoder_attention_heads: count().default(16),
  activation_function: z.string().default('gelu'),
  scale_embedding: flag().default(false),
  is_encoder_decoder: flag().default(true),
  is_decoder: flag().default(false),
  tie_word_embeddings: flag().default(true),
  // Switches of older code that the reference no longer has; each has one value that it computes.
  normalize_before: flag().default(false),
  add_final_layer_norm: flag().default(false),
  add_bias_logits: flag().nullish(),
}

const BART = z.object({
  ...SHARED_KEYS,
  vocab_size: size().default(50265),
  decoder_start_token_id: tokenId().default(2),
  normalize_embedding: flag().default(true),
  static_position_embeddings: flag().default(false),
})

const MARIAN = z.object({
  ...SHARED_KEYS,
  vocab_size: size().default(58101),
  decoder_vocab_size: size().nullish(),
  decoder_start_token_id: tokenId().default(58100),
  share_encoder_decoder_embeddings: flag().default(true),
  normalize_embedding: flag().default(false),
  static_position_embeddings: flag().default(true),
})

/** Rows of BART's position table that no position uses. */
const OFFSET = 2

export const bart: Family = {
  modelTypes: ['bart'],
  read(config: RawConfig): FamilyModel {
    const { c, warnings } = readKeys('bart', BART, config)
    refuse(!c.normalize_embedding, 'normalize_embedding = false', 'BART norms its embedding')
    refuse(c.static_position_embeddings, 'static_position_embeddings', 'BART learns its positions')
    return build('bart', c, warnings, { sourceVocab: c.vocab_size, vocab: c.vocab_size, shared: true })
  },
}

export const marian: Family = {
  modelTypes: ['marian'],
  read(config: RawConfig): FamilyModel {
    const { c, warnings } = readKeys('marian', MARIAN, config)
    refuse(c.normalize_embedding, 'normalize_embedding', 'Marian does not norm its embedding')
    refuse(!c.static_position_embeddings, 'static_position_embeddings = false', 'Marian has fixed positions')
    const shared = c.share_encoder_decoder_embeddings
    const vocab = shared ? c.vocab_size : (c.decoder_vocab_size ?? c.vocab_size)
    return build('marian', c, warnings, { sourceVocab: c.vocab_size, vocab, shared })
  },
}

// --- Internal helpers ---

type Keys = z.output<z.ZodObject<typeof SHARED_KEYS>> & { readonly decoder_start_token_id: number }

interface Vocabularies {
  readonly sourceVocab: number
  readonly vocab: number
  /** One table for both sides. */
  readonly shared: boolean
}

function build(
  family: 'bart' | 'marian',
  c: Keys,
  warnings: readonly string[],
  { sourceVocab, vocab, shared }: Vocabularies,
): FamilyModel {
  needsBoth(c)
  refuse(c.normalize_before, 'normalize_before', 'this family norms each sum')
  refuse(c.add_final_layer_norm, 'add_final_layer_norm', 'this family has no norm after its last block')
  const act = activationOf('activation_function', c.activation_function)
  const learned = family === 'bart'
  const stack = (name: StackSpec['name'], depth: number, nHeads: number, dMlp: number): StackSpec => {
    divides(`${name}_attention_heads`, nHeads, 'd_model', c.d_model)
    return {
      name,
      causal: name === 'decoder',
      layers: layers(depth, () => ({
        ...PLAIN_LAYER,
        nHeads,
        nKvHeads: nHeads,
        dHead: c.d_model / nHeads,
        dMlp,
        act,
        gated: false,
        scoreScale: 1 / Math.sqrt(c.d_model / nHeads),
        norms: 'sum' as const,
      })),
    }
  }
  const spec: ModelSpec = {
    ...PLAIN_MODEL,
    family,
    dModel: c.d_model,
    dVocab: vocab,
    nCtx: c.max_position_embeddings,
    positional: learned ? 'learned' : 'sinusoidal',
    norm: { kind: 'layer', eps: 1e-5 },
    tied: c.tie_word_embeddings,
    embedScale: c.scale_embedding ? Math.sqrt(c.d_model) : 1,
    stacks: [
      stack('encoder', c.encoder_layers, c.encoder_attention_heads, c.encoder_ffn_dim),
      stack('decoder', c.decoder_layers, c.decoder_attention_heads, c.decoder_ffn_dim),
    ],
    encoderDecoder: { start: c.decoder_start_token_id, sourceVocab },
  }
  const [encoder, decoder] = spec.stacks as [StackSpec, StackSpec]

  const d: Size = ['d_model', c.d_model]
  const rows: Size = ['max_position_embeddings + 2', c.max_position_embeddings + OFFSET]
  const table = (side: StackSpec['name']) =>
    shared ? 'model.shared.weight' : `model.${side}.embed_tokens.weight`
  const wantAttention = (at: string) => [
    ...['q_proj', 'k_proj', 'v_proj', 'out_proj'].flatMap((part) =>
      wantLinear(`${at}.${part}`, 'attention', 'out_in', d, d, true),
    ),
    ...wantNorm(`${at}_layer_norm`, d, true),
  ]
  const wantStack = ({ name: side, layers: own }: StackSpec) => {
    const width: Size = [`${side}_ffn_dim`, own[0]!.dMlp]
    return [
      ...(learned
        ? [
            want(`model.${side}.embed_positions.weight`, 'positional', rows, d),
            ...wantNorm(`model.${side}.layernorm_embedding`, d, true),
          ]
        : []),
      ...own.flatMap((_, l) => [
        ...wantAttention(`model.${side}.layers.${l}.self_attn`),
        ...(side === 'decoder' ? wantAttention(`model.decoder.layers.${l}.encoder_attn`) : []),
        ...wantLinear(`model.${side}.layers.${l}.fc1`, 'mlp', 'out_in', d, width, true),
        ...wantLinear(`model.${side}.layers.${l}.fc2`, 'mlp', 'out_in', width, d, true),
        ...wantNorm(`model.${side}.layers.${l}.final_layer_norm`, d, true),
      ]),
    ]
  }

  const stackModel = (own: StackSpec): StackModel => {
    const at = (l: number, name: string) => `model.${own.name}.layers.${l}.${name}`
    const normAt = (l: number, name: string) => gain(at(l, `${name}_layer_norm`), true)
    return {
      state: RESIDUAL_ONLY,
      outputBias: (l) => `${at(l, 'self_attn.out_proj')}.bias`,
      crossOutputBias: (l) => `${at(l, 'encoder_attn.out_proj')}.bias`,
      sumNorms: (l) => ({
        mid: normAt(l, 'self_attn'),
        cross: normAt(l, 'encoder_attn'),
        post: normAt(l, 'final'),
      }),
      embed: (g) => ({
        resid: embed(g, {
          tokens: table(own.name),
          scale: spec.embedScale,
          ...(learned
            ? {
                positions: `model.${own.name}.embed_positions.weight`,
                offset: OFFSET,
                norm: { spec: spec.norm, weights: gain(`model.${own.name}.layernorm_embedding`, true) },
              }
            : { sinusoids: true }),
        }),
      }),
      block(g, l, state) {
        const layer = own.layers[l]!
        const part = (name: string) => weights(at(l, name), 'out_in', true)
        const projected = (from: Value, keys: Value, name: string) => ({
          q: linear(g, from, part(`${name}.q_proj`), 'd_model'), // [batch, pos, head · d_head]
          k: linear(g, keys, part(`${name}.k_proj`), 'd_model'),
          v: linear(g, keys, part(`${name}.v_proj`), 'd_model'),
        })
        const x = g.hook('hook_resid_pre', state.resid) // [batch, pos, d_model]
        const mixed = attention(g, spec, layer, projected(x, x, 'self_attn'), part('self_attn.out_proj'))
        const sum = add(g, x, g.hook('hook_attn_out', mixed))
        let mid = g.hook('hook_resid_mid', norm(g, 'ln1', sum, spec.norm, normAt(l, 'self_attn')))
        if (own.name === 'decoder') {
          const met = projected(mid, state[MEMORY]!, 'encoder_attn')
          const looked = crossAttention(g, layer, met, part('encoder_attn.out_proj'))
          const both = add(g, mid, g.hook('hook_cross_attn_out', looked))
          const normed = norm(g, 'ln_cross', both, spec.norm, normAt(l, 'encoder_attn'))
          mid = g.hook('hook_resid_mid_cross', normed)
        }
        const out = g.hook('hook_mlp_out', dense(g, mid, part))
        const end = norm(g, 'ln2', add(g, mid, out), spec.norm, normAt(l, 'final'))
        return { resid: g.hook('hook_resid_post', end) }
      },
    }
  }
  const dense = (g: Builder, x: Value, part: (name: string) => ReturnType<typeof weights>) =>
    mlp(g, x, act, { in: part('fc1'), out: part('fc2') })

  return {
    spec,
    warnings,
    ...stackModel(decoder),
    encoder: { ...stackModel(encoder), memory: (_, resid) => resid },
    head: { embedding: table('decoder'), own: 'lm_head.weight', tie: c.tie_word_embeddings },
    plan: {
      prefixes: [''],
      // Copies of the shared table; Marian's positions are a formula.
      buffers: [
        ...(shared ? [/^model\.(encoder|decoder)\.embed_tokens\.weight$/] : [/^model\.shared\.weight$/]),
        ...(learned ? [] : [/^model\.(encoder|decoder)\.embed_positions\.weight$/]),
        /^model\.(encoder|decoder)\.version$/,
      ],
      wanted: [
        want(table('encoder'), 'embedding', ['vocab_size', sourceVocab], d),
        ...(shared ? [] : [want(table('decoder'), 'embedding', ['decoder_vocab_size', vocab], d)]),
        ...spec.stacks.flatMap(wantStack),
        { ...want('lm_head.weight', 'unembedding', ['vocab_size', vocab], d), optional: true },
        want('final_logits_bias', 'bias', ['1', 1], ['vocab_size', vocab]),
      ],
    },
    unembed: (g, resid, matrix) =>
      unembed(g, spec, resid, { weight: matrix, bias: 'final_logits_bias', orientation: 'out_in' }),
  }
}
