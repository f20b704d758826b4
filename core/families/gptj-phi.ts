/**
 * GPT-J and Phi: attention and MLP read one LayerNorm of one residual, rotary on a part of each head, an unembedding
 * with a bias. They differ in names, in biases, and in how pairs are rotated.
 */
import { z } from 'zod'
import { count, flag, positive } from '../checkpoint/config.ts'
import { attention } from '../graph/attention.ts'
import { embed } from '../graph/embed.ts'
import { linear } from '../graph/linear.ts'
import { mlp } from '../graph/mlp.ts'
import {
  type LayerSpec,
  type ModelSpec,
  PLAIN_LAYER,
  PLAIN_MODEL,
  type RopeSpec,
} from '../graph/model-spec.ts'
import { norm } from '../graph/norm.ts'
import { unembed } from '../graph/unembed.ts'
import { activationOf, divides, readKeys, size } from './config-rules.ts'
import { decoderKeys, decoderRope, decoderSizes } from './decoder-keys.ts'
import { type Family, type FamilyModel, RESIDUAL_ONLY } from './family.ts'
import { add, decoder, gain, layers, type Size, want, wantLinear, wantNorm, weights } from './parts.ts'

const GPTJ = z.object({
  vocab_size: size().default(50400),
  n_positions: size().default(2048),
  n_embd: size().default(4096),
  n_layer: count(10_000).default(28),
  n_head: count().default(16),
  rotary_dim: count().nullable().default(64),
  n_inner: size().nullish(),
  activation_function: z.string().default('gelu_new'),
  layer_norm_epsilon: positive().default(1e-5),
  tie_word_embeddings: flag().default(false),
})

const PHI = z.object({
  ...decoderKeys({
    vocab: 51200,
    width: 2048,
    mlp: 8192,
    layers: 24,
    heads: 32,
    act: 'gelu_new',
    positions: 2048,
    tie: false,
  }),
  layer_norm_eps: positive().default(1e-5),
  qk_layernorm: flag().default(false),
  partial_rotary_factor: z.unknown().optional(),
})

export const gptj: Family = {
  modelTypes: ['gptj'],
  read(config) {
    const { c, warnings } = readKeys('gptj', GPTJ, config, {
      hidden_size: 'n_embd',
      max_position_embeddings: 'n_positions',
      num_attention_heads: 'n_head',
      num_hidden_layers: 'n_layer',
    })
    divides('n_head', c.n_head, 'n_embd', c.n_embd)
    const dHead = c.n_embd / c.n_head
    const dims = c.rotary_dim ?? dHead
    if (dims > dHead || dims % 2 !== 0) divides('rotary_dim', dims, 'an even part of n_embd / n_head', dHead)
    return build({
      family: 'gptj',
      warnings,
      dModel: c.n_embd,
      dVocab: c.vocab_size,
      nCtx: c.n_positions,
      nLayers: c.n_layer,
      nHeads: c.n_head,
      nKvHeads: c.n_head,
      dHead,
      dMlp: c.n_inner ?? 4 * c.n_embd,
      act: activationOf('activation_function', c.activation_function),
      eps: c.layer_norm_epsilon,
      tie: c.tie_word_embeddings,
      rope: { dims, theta: 10_000, interleaved: true, scaling: { type: 'default' } },
      qkLayerNorm: false,
      attentionBias: false,
      names: GPTJ_NAMES,
    })
  },
}

export const phi: Family = {
  modelTypes: ['phi'],
  read(config) {
    const { c, warnings } = readKeys('phi', PHI, config)
    const read = decoderRope(config, c, { partial: 0.5 })
    return build({
      family: 'phi',
      warnings: [...warnings, ...read.warnings],
      ...decoderSizes(c),
      act: activationOf('hidden_act', c.hidden_act),
      eps: c.layer_norm_eps,
      rope: read.rope,
      qkLayerNorm: c.qk_layernorm,
      attentionBias: true,
      names: PHI_NAMES,
    })
  },
}

// --- Internal helpers ---

interface Names {
  readonly prefix: string
  readonly tokens: string
  readonly layer: string
  readonly norm: string
  readonly attention: string
  readonly output: string
  readonly in: string
  readonly out: string
  readonly final: string
}

const GPTJ_NAMES: Names = {
  prefix: 'transformer.',
  tokens: 'wte',
  layer: 'h',
  norm: 'ln_1',
  attention: 'attn',
  output: 'out_proj',
  in: 'mlp.fc_in',
  out: 'mlp.fc_out',
  final: 'ln_f',
}

const PHI_NAMES: Names = {
  prefix: 'model.',
  tokens: 'embed_tokens',
  layer: 'layers',
  norm: 'input_layernorm',
  attention: 'self_attn',
  output: 'dense',
  in: 'mlp.fc1',
  out: 'mlp.fc2',
  final: 'final_layernorm',
}

interface Parallel {
  readonly family: string
  readonly warnings: readonly string[]
  readonly dModel: number
  readonly dVocab: number
  readonly nCtx: number
  readonly nLayers: number
  readonly nHeads: number
  readonly nKvHeads: number
  readonly dHead: number
  readonly dMlp: number
  readonly act: LayerSpec['act']
  readonly eps: number
  readonly tie: boolean
  readonly rope: RopeSpec
  /** LayerNorm of each query and key head. */
  readonly qkLayerNorm: boolean
  readonly attentionBias: boolean
  readonly names: Names
}

function build(s: Parallel): FamilyModel {
  const { names } = s
  const spec: ModelSpec = {
    ...PLAIN_MODEL,
    family: s.family,
    dModel: s.dModel,
    dVocab: s.dVocab,
    nCtx: s.nCtx,
    positional: 'rotary',
    norm: { kind: 'layer', eps: s.eps },
    ropes: [s.rope],
    tied: s.tie,
    stacks: decoder(
      layers(s.nLayers, () => ({
        ...PLAIN_LAYER,
        nHeads: s.nHeads,
        nKvHeads: s.nKvHeads,
        dHead: s.dHead,
        dMlp: s.dMlp,
        act: s.act,
        gated: false,
        parallel: true,
        scoreScale: 1 / Math.sqrt(s.dHead),
        rope: 0,
        qkNorm: s.qkLayerNorm ? ('head' as const) : null,
      })),
    ),
  }

  const d: Size = ['hidden_size', s.dModel]
  const queries: Size = ['heads · head_dim', s.nHeads * s.dHead]
  const keys: Size = ['num_key_value_heads · head_dim', s.nKvHeads * s.dHead]
  const width: Size = ['MLP width', s.dMlp]
  const vocab: Size = ['vocab_size', s.dVocab]
  const at = (l: number, name: string) => `${names.layer}.${l}.${name}`
  const inAttention = (l: number, name: string) => at(l, `${names.attention}.${name}`)
  const bias = s.attentionBias
  return {
    spec,
    warnings: s.warnings,
    state: RESIDUAL_ONLY,
    head: { embedding: `${names.tokens}.weight`, own: 'lm_head.weight', tie: s.tie },
    plan: {
      prefixes: [names.prefix, ''],
      buffers: [/^h\.\d+\.attn\.(bias|masked_bias|embed_positions)$/, /rotary_emb\.inv_freq$/],
      wanted: [
        want(`${names.tokens}.weight`, 'embedding', vocab, d),
        ...layers(s.nLayers, (l) => [
          ...wantNorm(at(l, names.norm), d, true),
          ...wantLinear(inAttention(l, 'q_proj'), 'attention', 'out_in', d, queries, bias),
          ...wantLinear(inAttention(l, 'k_proj'), 'attention', 'out_in', d, keys, bias),
          ...wantLinear(inAttention(l, 'v_proj'), 'attention', 'out_in', d, keys, bias),
          ...wantLinear(inAttention(l, names.output), 'attention', 'out_in', queries, d, bias),
          ...(s.qkLayerNorm
            ? ['q_layernorm', 'k_layernorm'].flatMap((name) =>
                wantNorm(inAttention(l, name), ['head_dim', s.dHead], true),
              )
            : []),
          ...wantLinear(at(l, names.in), 'mlp', 'out_in', d, width, true),
          ...wantLinear(at(l, names.out), 'mlp', 'out_in', width, d, true),
        ]).flat(),
        ...wantNorm(names.final, d, true),
        { ...want('lm_head.weight', 'unembedding', vocab, d), optional: true },
        want('lm_head.bias', 'bias', vocab),
      ],
    },

    outputBias: (l) => (bias ? `${inAttention(l, names.output)}.bias` : null),

    embed: (g) => ({ resid: embed(g, { tokens: `${names.tokens}.weight` }) }),

    block(g, l, { resid }) {
      const layer = spec.stacks[0]!.layers[l]!
      const part = (name: string) => weights(inAttention(l, name), 'out_in', bias)
      const x = g.hook('hook_resid_pre', resid) // [batch, pos, d_model]
      const normed = norm(g, 'ln1', x, spec.norm, gain(at(l, names.norm), true))
      const q = linear(g, normed, part('q_proj'), 'd_model') // [batch, pos, head · d_head]
      const k = linear(g, normed, part('k_proj'), 'd_model') // [batch, pos, kv_head · d_head]
      const v = linear(g, normed, part('v_proj'), 'd_model')
      const qkNorm = s.qkLayerNorm
        ? {
            spec: spec.norm,
            q: gain(inAttention(l, 'q_layernorm'), true),
            k: gain(inAttention(l, 'k_layernorm'), true),
          }
        : undefined
      const attn = g.hook('hook_attn_out', attention(g, spec, layer, { q, k, v }, part(names.output), qkNorm))
      const made = mlp(g, normed, s.act, {
        in: weights(at(l, names.in), 'out_in', true),
        out: weights(at(l, names.out), 'out_in', true),
      })
      const out = g.hook('hook_mlp_out', made)
      return { resid: g.hook('hook_resid_post', add(g, add(g, attn, out), x)) }
    },

    unembed(g, resid, matrix) {
      const normed = norm(g, 'ln_final', resid, spec.norm, gain(names.final, true))
      return unembed(g, spec, normed, { weight: matrix, bias: 'lm_head.bias', orientation: 'out_in' })
    },
  }
}
