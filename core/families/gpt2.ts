/** GPT-2: learned positions, LayerNorm before attention and MLP, Conv1D weights [in, out], tied unembedding. */
import { z } from 'zod'
import { count, flag, positive } from '../checkpoint/config.ts'
import type { RawConfig } from '../checkpoint/types.ts'
import { attention } from '../graph/attention.ts'
import type { Value } from '../graph/builder.ts'
import { embed } from '../graph/embed.ts'
import { linear } from '../graph/linear.ts'
import { mlp } from '../graph/mlp.ts'
import { type ModelSpec, PLAIN_LAYER, PLAIN_MODEL } from '../graph/model-spec.ts'
import { norm } from '../graph/norm.ts'
import { unembed } from '../graph/unembed.ts'
import { activationOf, divides, readKeys, refuse, size } from './config-rules.ts'
import { type Family, type FamilyModel, RESIDUAL_ONLY } from './family.ts'
import { add, decoder, gain, layers, type Size, split, want, wantLinear, wantNorm, weights } from './parts.ts'

const CONFIG = z.object({
  vocab_size: size().default(50257),
  n_positions: size().default(1024),
  n_embd: size().default(768),
  n_layer: count(10_000).default(12),
  n_head: count().default(12),
  n_inner: size().nullish(),
  activation_function: z.string().default('gelu_new'),
  layer_norm_epsilon: positive().default(1e-5),
  scale_attn_weights: flag().default(true),
  scale_attn_by_inverse_layer_idx: flag().default(false),
  add_cross_attention: flag().default(false),
  tie_word_embeddings: flag().default(true),
})

const ALIASES = {
  hidden_size: 'n_embd',
  max_position_embeddings: 'n_positions',
  num_attention_heads: 'n_head',
  num_hidden_layers: 'n_layer',
}

export const gpt2: Family = { modelTypes: ['gpt2'], read }

function read(config: RawConfig): FamilyModel {
  const { c, warnings } = readKeys('gpt2', CONFIG, config, ALIASES)
  divides('n_head', c.n_head, 'n_embd', c.n_embd)
  refuse(c.add_cross_attention, 'add_cross_attention', 'this decoder would need an encoder beside it')
  const dHead = c.n_embd / c.n_head
  const dMlp = c.n_inner ?? 4 * c.n_embd
  const act = activationOf('activation_function', c.activation_function)
  const spec: ModelSpec = {
    ...PLAIN_MODEL,
    family: 'gpt2',
    dModel: c.n_embd,
    dVocab: c.vocab_size,
    nCtx: c.n_positions,
    positional: 'learned',
    norm: { kind: 'layer', eps: c.layer_norm_epsilon },
    tied: c.tie_word_embeddings,
    stacks: decoder(
      layers(c.n_layer, (layer) => ({
        ...PLAIN_LAYER,
        nHeads: c.n_head,
        nKvHeads: c.n_head,
        dHead,
        dMlp,
        act,
        gated: false,
        scoreScale:
          (c.scale_attn_weights ? 1 / Math.sqrt(dHead) : 1) /
          (c.scale_attn_by_inverse_layer_idx ? layer + 1 : 1),
      })),
    ),
  }

  const d: Size = ['n_embd', c.n_embd]
  const mlpWidth: Size = [c.n_inner ? 'n_inner' : '4 · n_embd', dMlp]
  return {
    spec,
    warnings,
    state: RESIDUAL_ONLY,
    head: { embedding: 'wte.weight', own: 'lm_head.weight', tie: c.tie_word_embeddings },
    plan: {
      prefixes: ['', 'transformer.'],
      buffers: [/^h\.\d+\.attn\.(bias|masked_bias)$/],
      wanted: [
        want('wte.weight', 'embedding', ['vocab_size', c.vocab_size], d),
        want('wpe.weight', 'positional', ['n_positions', c.n_positions], d),
        ...layers(c.n_layer, (l) => [
          ...wantNorm(`h.${l}.ln_1`, d, true),
          ...wantLinear(`h.${l}.attn.c_attn`, 'attention', 'in_out', d, ['3 · n_embd', 3 * c.n_embd], true),
          ...wantLinear(`h.${l}.attn.c_proj`, 'attention', 'in_out', d, d, true),
          ...wantNorm(`h.${l}.ln_2`, d, true),
          ...wantLinear(`h.${l}.mlp.c_fc`, 'mlp', 'in_out', d, mlpWidth, true),
          ...wantLinear(`h.${l}.mlp.c_proj`, 'mlp', 'in_out', mlpWidth, d, true),
        ]).flat(),
        ...wantNorm('ln_f', d, true),
        { ...want('lm_head.weight', 'unembedding', ['vocab_size', c.vocab_size], d), optional: true },
      ],
    },

    outputBias: (l) => `h.${l}.attn.c_proj.bias`,

    embed: (g) => ({ resid: embed(g, { tokens: 'wte.weight', positions: 'wpe.weight' }) }),

    block(g, l, { resid }) {
      const layer = spec.stacks[0]!.layers[l]!
      const x = g.hook('hook_resid_pre', resid) // [batch, pos, d_model]
      const normed = norm(g, 'ln1', x, spec.norm, gain(`h.${l}.ln_1`, true))
      const qkv = linear(g, normed, weights(`h.${l}.attn.c_attn`, 'in_out', true), 'd_model') // [batch, pos, 3 d_model]
      const [q, k, v] = split(g, qkv, [c.n_embd, c.n_embd, c.n_embd]) as [Value, Value, Value]
      const output = weights(`h.${l}.attn.c_proj`, 'in_out', true)
      const attn = g.hook('hook_attn_out', attention(g, spec, layer, { q, k, v }, output))
      const mid = g.hook('hook_resid_mid', add(g, x, attn))
      const normedMid = norm(g, 'ln2', mid, spec.norm, gain(`h.${l}.ln_2`, true))
      const out = mlp(g, normedMid, act, {
        in: weights(`h.${l}.mlp.c_fc`, 'in_out', true),
        out: weights(`h.${l}.mlp.c_proj`, 'in_out', true),
      })
      return { resid: g.hook('hook_resid_post', add(g, mid, g.hook('hook_mlp_out', out))) }
    },

    unembed(g, resid, matrix) {
      const normed = norm(g, 'ln_final', resid, spec.norm, gain('ln_f', true))
      return unembed(g, spec, normed, { weight: matrix, orientation: 'out_in' })
    },
  }
}
