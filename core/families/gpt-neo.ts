/** GPT-Neo: GPT-2's block with Linear weights, scores that are not scaled, and layers that see only a window. */
import { z } from 'zod'
import { count, flag, positive } from '../checkpoint/config.ts'
import type { RawConfig } from '../checkpoint/types.ts'
import { HeadscopeError } from '../errors.ts'
import { attention } from '../graph/attention.ts'
import { embed } from '../graph/embed.ts'
import { linear } from '../graph/linear.ts'
import { mlp } from '../graph/mlp.ts'
import { type ModelSpec, PLAIN_LAYER, PLAIN_MODEL } from '../graph/model-spec.ts'
import { norm } from '../graph/norm.ts'
import { unembed } from '../graph/unembed.ts'
import { activationOf, contradiction, divides, readKeys, size } from './config-rules.ts'
import { type Family, type FamilyModel, RESIDUAL_ONLY } from './family.ts'
import { add, decoder, gain, layers, type Size, want, wantLinear, wantNorm, weights } from './parts.ts'

const KIND = z.enum(['global', 'local'])
const CONFIG = z.object({
  vocab_size: size().default(50257),
  max_position_embeddings: size().default(2048),
  hidden_size: size().default(2048),
  num_layers: count(10_000).default(24),
  num_heads: count().default(16),
  intermediate_size: size().nullish(),
  window_size: size().default(256),
  activation_function: z.string().default('gelu_new'),
  layer_norm_epsilon: positive().default(1e-5),
  attention_types: z
    .array(z.tuple([z.array(KIND), z.int().nonnegative()]))
    .default([[['global', 'local'], 12]]),
  attention_layers: z.array(KIND).nullish(),
  tie_word_embeddings: flag().default(true),
})

export const gptNeo: Family = { modelTypes: ['gpt_neo'], read }

function read(config: RawConfig): FamilyModel {
  const { c, warnings } = readKeys('gpt_neo', CONFIG, config, {
    num_hidden_layers: 'num_layers',
    num_attention_heads: 'num_heads',
  })
  divides('num_heads', c.num_heads, 'hidden_size', c.hidden_size)
  const kinds = c.attention_types.flatMap(([group, times]) => layers(times, () => group).flat())
  if (kinds.length !== c.num_layers)
    throw new HeadscopeError(
      'bad-checkpoint',
      `config.json: attention_types names ${kinds.length} layers, but num_layers is ${c.num_layers}; correct them in config.json.`,
    )
  if (c.attention_layers && c.attention_layers.join() !== kinds.join())
    warnings.push(contradiction('attention_types', c.attention_types, 'attention_layers', c.attention_layers))
  const dHead = c.hidden_size / c.num_heads
  const dMlp = c.intermediate_size ?? 4 * c.hidden_size
  const act = activationOf('activation_function', c.activation_function)
  const spec: ModelSpec = {
    ...PLAIN_MODEL,
    family: 'gpt_neo',
    dModel: c.hidden_size,
    dVocab: c.vocab_size,
    nCtx: c.max_position_embeddings,
    positional: 'learned',
    norm: { kind: 'layer', eps: c.layer_norm_epsilon },
    tied: c.tie_word_embeddings,
    stacks: decoder(
      kinds.map((kind) => ({
        ...PLAIN_LAYER,
        nHeads: c.num_heads,
        nKvHeads: c.num_heads,
        dHead,
        dMlp,
        act,
        gated: false,
        scoreScale: 1,
        window: kind === 'local' ? c.window_size : null,
      })),
    ),
  }

  const d: Size = ['hidden_size', c.hidden_size]
  const mlpWidth: Size = [c.intermediate_size ? 'intermediate_size' : '4 · hidden_size', dMlp]
  return {
    spec,
    warnings,
    state: RESIDUAL_ONLY,
    head: { embedding: 'wte.weight', own: 'lm_head.weight', tie: c.tie_word_embeddings },
    plan: {
      prefixes: ['transformer.', ''],
      buffers: [/^h\.\d+\.attn\.attention\.(bias|masked_bias)$/],
      wanted: [
        want('wte.weight', 'embedding', ['vocab_size', c.vocab_size], d),
        want('wpe.weight', 'positional', ['max_position_embeddings', c.max_position_embeddings], d),
        ...layers(c.num_layers, (l) => [
          ...wantNorm(`h.${l}.ln_1`, d, true),
          ...['q_proj', 'k_proj', 'v_proj'].flatMap((name) =>
            wantLinear(`h.${l}.attn.attention.${name}`, 'attention', 'out_in', d, d, false),
          ),
          ...wantLinear(`h.${l}.attn.attention.out_proj`, 'attention', 'out_in', d, d, true),
          ...wantNorm(`h.${l}.ln_2`, d, true),
          ...wantLinear(`h.${l}.mlp.c_fc`, 'mlp', 'out_in', d, mlpWidth, true),
          ...wantLinear(`h.${l}.mlp.c_proj`, 'mlp', 'out_in', mlpWidth, d, true),
        ]).flat(),
        ...wantNorm('ln_f', d, true),
        { ...want('lm_head.weight', 'unembedding', ['vocab_size', c.vocab_size], d), optional: true },
      ],
    },

    outputBias: (l) => `h.${l}.attn.attention.out_proj.bias`,

    embed: (g) => ({ resid: embed(g, { tokens: 'wte.weight', positions: 'wpe.weight' }) }),

    block(g, l, { resid }) {
      const layer = spec.stacks[0]!.layers[l]!
      const part = (name: string, bias: boolean) => weights(`h.${l}.${name}`, 'out_in', bias)
      const x = g.hook('hook_resid_pre', resid) // [batch, pos, d_model]
      const normed = norm(g, 'ln1', x, spec.norm, gain(`h.${l}.ln_1`, true))
      const q = linear(g, normed, part('attn.attention.q_proj', false), 'd_model') // [batch, pos, head · d_head]
      const k = linear(g, normed, part('attn.attention.k_proj', false), 'd_model')
      const v = linear(g, normed, part('attn.attention.v_proj', false), 'd_model')
      const mixed = attention(g, spec, layer, { q, k, v }, part('attn.attention.out_proj', true))
      const attn = g.hook('hook_attn_out', mixed)
      const mid = g.hook('hook_resid_mid', add(g, x, attn))
      const normedMid = norm(g, 'ln2', mid, spec.norm, gain(`h.${l}.ln_2`, true))
      const out = mlp(g, normedMid, act, { in: part('mlp.c_fc', true), out: part('mlp.c_proj', true) })
      return { resid: g.hook('hook_resid_post', add(g, mid, g.hook('hook_mlp_out', out))) }
    },

    unembed(g, resid, matrix) {
      const normed = norm(g, 'ln_final', resid, spec.norm, gain('ln_f', true))
      return unembed(g, spec, normed, { weight: matrix, orientation: 'out_in' })
    },
  }
}
