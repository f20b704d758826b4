/**
 * BERT as a masked language model: every token sees every token, token types, a LayerNorm after the embedding and on
 * each sum, and an unembedding behind a dense layer. The logits are those of BertForMaskedLM.
 */
import { z } from 'zod'
import { count, flag, oneOf, positive } from '../checkpoint/config.ts'
import type { RawConfig, WantedTensor } from '../checkpoint/types.ts'
import { attention } from '../graph/attention.ts'
import { embed } from '../graph/embed.ts'
import { linear } from '../graph/linear.ts'
import { activation, mlp } from '../graph/mlp.ts'
import { type ModelSpec, PLAIN_LAYER, PLAIN_MODEL } from '../graph/model-spec.ts'
import { norm } from '../graph/norm.ts'
import { unembed } from '../graph/unembed.ts'
import { activationOf, divides, readKeys, refuse, size } from './config-rules.ts'
import { type Family, type FamilyModel, RESIDUAL_ONLY } from './family.ts'
import { add, gain, layers, type Size, want, wantLinear, wantNorm, weights } from './parts.ts'

const CONFIG = z.object({
  vocab_size: size().default(30522),
  hidden_size: size().default(768),
  num_hidden_layers: count(10_000).default(12),
  num_attention_heads: count().default(12),
  intermediate_size: size().default(3072),
  hidden_act: z.string().default('gelu'),
  max_position_embeddings: size().default(512),
  type_vocab_size: size().default(2),
  layer_norm_eps: positive().default(1e-12),
  position_embedding_type: oneOf('absolute').default('absolute'),
  is_decoder: flag().default(false),
  add_cross_attention: flag().default(false),
  tie_word_embeddings: flag().default(true),
})

export const bert: Family = { modelTypes: ['bert'], read }

function read(config: RawConfig): FamilyModel {
  const { c, warnings } = readKeys('bert', CONFIG, config)
  refuse(c.is_decoder, 'is_decoder', 'this family is run as a bidirectional encoder')
  refuse(c.add_cross_attention, 'add_cross_attention', 'this family is run as a bidirectional encoder')
  const nHeads = c.num_attention_heads
  divides('num_attention_heads', nHeads, 'hidden_size', c.hidden_size)
  const dHead = c.hidden_size / nHeads
  const act = activationOf('hidden_act', c.hidden_act)
  const spec: ModelSpec = {
    ...PLAIN_MODEL,
    family: 'bert',
    dModel: c.hidden_size,
    dVocab: c.vocab_size,
    nCtx: c.max_position_embeddings,
    positional: 'learned',
    norm: { kind: 'layer', eps: c.layer_norm_eps },
    tied: c.tie_word_embeddings,
    tokenTypes: c.type_vocab_size,
    headTransform: true,
    stacks: [
      {
        name: 'encoder',
        causal: false,
        layers: layers(c.num_hidden_layers, () => ({
          ...PLAIN_LAYER,
          nHeads,
          nKvHeads: nHeads,
          dHead,
          dMlp: c.intermediate_size,
          act,
          gated: false,
          scoreScale: 1 / Math.sqrt(dHead),
          norms: 'sum' as const,
        })),
      },
    ],
  }

  const d: Size = ['hidden_size', c.hidden_size]
  const width: Size = ['intermediate_size', c.intermediate_size]
  const vocab: Size = ['vocab_size', c.vocab_size]
  const at = (l: number, name: string) => `encoder.layer.${l}.${name}`
  const midNorm = (l: number) => gain(at(l, 'attention.output.LayerNorm'), true)
  const endNorm = (l: number) => gain(at(l, 'output.LayerNorm'), true)
  const head = 'cls.predictions'
  // Two names for one bias while weights are tied; apart, the decoder's own counts.
  const [bias, otherBias] = c.tie_word_embeddings ? ['bias', 'decoder.bias'] : ['decoder.bias', 'bias']
  return {
    spec,
    warnings,
    state: RESIDUAL_ONLY,
    head: {
      embedding: 'embeddings.word_embeddings.weight',
      own: `${head}.decoder.weight`,
      tie: c.tie_word_embeddings,
    },
    plan: {
      prefixes: ['bert.', ''],
      // The pooler and the next-sentence head make no token logits.
      buffers: [
        /^embeddings\.position_ids$/,
        /^pooler\./,
        /^cls\.seq_relationship\./,
        new RegExp(`^${head}.${otherBias}$`),
      ],
      wanted: [
        want('embeddings.word_embeddings.weight', 'embedding', vocab, d),
        want(
          'embeddings.position_embeddings.weight',
          'positional',
          ['max_position_embeddings', c.max_position_embeddings],
          d,
        ),
        want(
          'embeddings.token_type_embeddings.weight',
          'embedding',
          ['type_vocab_size', c.type_vocab_size],
          d,
        ),
        ...wantOldNorm('embeddings.LayerNorm', d),
        ...layers(c.num_hidden_layers, (l) => [
          ...['query', 'key', 'value'].flatMap((name) =>
            wantLinear(at(l, `attention.self.${name}`), 'attention', 'out_in', d, d, true),
          ),
          ...wantLinear(at(l, 'attention.output.dense'), 'attention', 'out_in', d, d, true),
          ...wantOldNorm(at(l, 'attention.output.LayerNorm'), d),
          ...wantLinear(at(l, 'intermediate.dense'), 'mlp', 'out_in', d, width, true),
          ...wantLinear(at(l, 'output.dense'), 'mlp', 'out_in', width, d, true),
          ...wantOldNorm(at(l, 'output.LayerNorm'), d),
        ]).flat(),
        ...wantLinear(`${head}.transform.dense`, 'unembedding', 'out_in', d, d, true),
        ...wantOldNorm(`${head}.transform.LayerNorm`, d),
        { ...want(`${head}.decoder.weight`, 'unembedding', vocab, d), optional: true },
        want(`${head}.${bias}`, 'bias', vocab),
      ],
    },

    outputBias: (l) => `${at(l, 'attention.output.dense')}.bias`,
    sumNorms: (l) => ({ mid: midNorm(l), post: endNorm(l) }),

    embed: (g) => ({
      resid: embed(g, {
        tokens: 'embeddings.word_embeddings.weight',
        types: 'embeddings.token_type_embeddings.weight',
        positions: 'embeddings.position_embeddings.weight',
        norm: { spec: spec.norm, weights: gain('embeddings.LayerNorm', true) },
      }),
    }),

    block(g, l, { resid }) {
      const layer = spec.stacks[0]!.layers[l]!
      const part = (name: string) => weights(at(l, name), 'out_in', true)
      const x = g.hook('hook_resid_pre', resid) // [batch, pos, d_model]
      const q = linear(g, x, part('attention.self.query'), 'd_model') // [batch, pos, head · d_head]
      const k = linear(g, x, part('attention.self.key'), 'd_model')
      const v = linear(g, x, part('attention.self.value'), 'd_model')
      const attn = g.hook(
        'hook_attn_out',
        attention(g, spec, layer, { q, k, v }, part('attention.output.dense')),
      )
      const mid = g.hook('hook_resid_mid', norm(g, 'ln1', add(g, x, attn), spec.norm, midNorm(l)))
      const made = mlp(g, mid, act, { in: part('intermediate.dense'), out: part('output.dense') })
      const out = g.hook('hook_mlp_out', made)
      return { resid: g.hook('hook_resid_post', norm(g, 'ln2', add(g, mid, out), spec.norm, endNorm(l))) }
    },

    unembed(g, resid, matrix) {
      const dense = activation(
        g,
        linear(g, resid, weights(`${head}.transform.dense`, 'out_in', true), 'd_model'),
        act,
      )
      const normed = norm(g, 'mlm_head.ln', dense, spec.norm, gain(`${head}.transform.LayerNorm`, true))
      return unembed(g, spec, normed, { weight: matrix, bias: `${head}.${bias}`, orientation: 'out_in' })
    },
  }
}

// --- Internal helpers ---

/** A LayerNorm whose gain and bias the first BERT files call gamma and beta. */
function wantOldNorm(name: string, width: Size): WantedTensor[] {
  return wantNorm(name, width, true).map((tensor) => ({
    ...tensor,
    formerly: tensor.name.replace(/weight$/, 'gamma').replace(/bias$/, 'beta'),
  }))
}
