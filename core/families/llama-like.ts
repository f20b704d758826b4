/**
 * The block that most decoders since 2023 share: rotary positions, grouped keys and values, a gated MLP, names that
 * begin with `model.layers.N.self_attn`. What a member does otherwise is a switch below; llama.ts, gemma.ts and moe.ts
 * say how each config sets them.
 */
import type { RawConfig } from '../checkpoint/types.ts'
import { attention, type QkNorm, type QkNormWeights } from '../graph/attention.ts'
import type { Builder, Value } from '../graph/builder.ts'
import { embed } from '../graph/embed.ts'
import { experts } from '../graph/experts.ts'
import { type LinearWeights, linear } from '../graph/linear.ts'
import { mlp } from '../graph/mlp.ts'
import {
  type Activation,
  type ExpertsSpec,
  type LayerSpec,
  type ModelSpec,
  type NormSpec,
  PLAIN_LAYER,
  PLAIN_MODEL,
  type RopeSpec,
} from '../graph/model-spec.ts'
import { type NormWeights, norm } from '../graph/norm.ts'
import { scaled } from '../graph/scale.ts'
import { unembed } from '../graph/unembed.ts'
import { expertPart, expertTensors } from './expert-tensors.ts'
import { type FamilyModel, RESIDUAL_ONLY } from './family.ts'
import { add, bare, decoder, gain, layers, type Size, want, wantLinear, wantNorm, weights } from './parts.ts'

/** What one config asks for. */
export interface Switches {
  readonly family: string
  readonly config: RawConfig
  readonly warnings: readonly string[]
  readonly dModel: number
  readonly dVocab: number
  readonly nCtx: number
  readonly nLayers: number
  readonly nHeads: number
  readonly nKvHeads: number
  readonly dHead: number
  readonly dMlp: number
  readonly act: Activation
  readonly tie: boolean
  readonly ropes: readonly RopeSpec[]
  /** Index of each layer's rope; null: this layer knows no positions. Absent: rope 0 everywhere. */
  readonly ropeOf?: (layer: number) => number | null
  /** Keys that each layer sees; null: all. Absent: all everywhere. */
  readonly windowOf?: (layer: number) => number | null
  readonly norm: NormSpec
  /** Parameters of the norms. */
  readonly normParameters: 'gain' | 'gain+bias' | 'none'
  /** Where norms stand, as LayerSpec says; never `sum`. */
  readonly norms?: 'before' | 'after' | 'both'
  /** Attention and MLP read one norm of one residual. */
  readonly parallel?: boolean
  readonly biases?: { readonly qkv?: boolean; readonly out?: boolean; readonly mlp?: boolean }
  /** `plain`: c_fc, activation, c_proj. `fused`: gate and up in one matrix, gate first. */
  readonly mlp?: 'gated' | 'plain' | 'fused'
  /** Queries, keys and values in one matrix, in this order. */
  readonly fusedQkv?: boolean
  /** `rows`: over each head, with one gain a head, as one tensor or (`lists`) as a list of tensors. */
  readonly qkNorm?: {
    readonly over: 'head' | 'projection' | 'rows' | 'lists'
    readonly name: string
    readonly bias: boolean
  }
  readonly scoreScale?: number
  readonly clip?: number | null
  readonly softcap?: number | null
  readonly embedScale?: number
  readonly residualScale?: number
  readonly logits?: ModelSpec['logits']
  readonly expertsOf?: (layer: number) => ExpertsSpec | null
  /** How files name the experts. */
  readonly expertNames?: 'mixtral' | 'qwen'
}

/** The model of these switches. */
export function llamaLike(s: Switches): FamilyModel {
  const norms = s.norms ?? 'before'
  const biases = { qkv: false, out: false, mlp: false, ...s.biases }
  const mlpKind = s.mlp ?? 'gated'
  const spec: ModelSpec = {
    ...PLAIN_MODEL,
    family: s.family,
    dModel: s.dModel,
    dVocab: s.dVocab,
    nCtx: s.nCtx,
    positional: 'rotary',
    norm: s.norm,
    ropes: s.ropes,
    tied: s.tie,
    embedScale: s.embedScale ?? 1,
    logits: s.logits ?? PLAIN_MODEL.logits,
    stacks: decoder(layers(s.nLayers, (l) => layerOf(s, l))),
  }

  const queries = s.nHeads * s.dHead
  const keys = s.nKvHeads * s.dHead
  const withBias = s.normParameters === 'gain+bias'
  const normAt = (name: string): NormWeights =>
    s.normParameters === 'none' ? bare(s.dModel) : gain(name, withBias)
  /** What stands where: the names of the norms depend on how many there are. */
  const preMlp = norms === 'both' ? 'pre_feedforward_layernorm' : 'post_attention_layernorm'

  return {
    spec,
    warnings: s.warnings,
    state: RESIDUAL_ONLY,
    head: { embedding: 'embed_tokens.weight', own: 'lm_head.weight', tie: s.tie },
    plan: {
      prefixes: ['model.', ''],
      buffers: [/^layers\.\d+\.self_attn\.rotary_emb\.inv_freq$/, /^rotary_emb\.inv_freq$/],
      wanted: tensors(s, norms, preMlp, biases, mlpKind),
    },
    outputBias: (l) => (biases.out ? `layers.${l}.self_attn.o_proj.bias` : null),
    ...(norms === 'before'
      ? {}
      : { outputNorm: (l: number) => normAt(`layers.${l}.post_attention_layernorm`) }),

    embed: (g) => ({ resid: embed(g, { tokens: 'embed_tokens.weight', scale: spec.embedScale }) }),

    block(g, l, { resid }) {
      const layer = spec.stacks[0]!.layers[l]!
      const at = (name: string) => `layers.${l}.${name}`
      const normed = (place: string, x: Value, name: string) => norm(g, place, x, spec.norm, normAt(at(name)))
      const x = g.hook('hook_resid_pre', resid) // [batch, pos, d_model]

      const read = norms === 'after' ? x : normed('ln1', x, 'input_layernorm')
      const qkv = projections(g, read, l) // each [batch, pos, heads · d_head]
      const output = weights(at('self_attn.o_proj'), 'out_in', biases.out)
      const mixed = attention(g, spec, layer, qkv, output, qkNormOf(s, l))
      const given = norms === 'before' ? mixed : normed('ln1_post', mixed, 'post_attention_layernorm')
      const attn = g.hook('hook_attn_out', scaled(g, given, layer.residualScale))

      const mid = layer.parallel ? x : g.hook('hook_resid_mid', add(g, x, attn))
      const readMid = layer.parallel ? read : norms === 'after' ? mid : normed('ln2', mid, preMlp)
      const made = layer.experts
        ? experts(g, readMid, s.dModel, s.act, layer.experts, expertPart(s, l, layer.experts))
        : mlp(g, readMid, s.act, mlpWeights(l))
      const added = norms === 'before' ? made : normed('ln2_post', made, 'post_feedforward_layernorm')
      const out = g.hook('hook_mlp_out', scaled(g, added, layer.residualScale))
      const sum = layer.parallel ? add(g, add(g, x, attn), out) : add(g, mid, out)
      return { resid: g.hook('hook_resid_post', sum) }
    },

    unembed(g, resid, matrix) {
      const normed = norm(g, 'ln_final', resid, spec.norm, normAt('norm'))
      return unembed(g, spec, normed, { weight: matrix, orientation: 'out_in' })
    },
  }

  /** Queries, keys and values of three matrices, or of three parts of one. */
  function projections(g: Builder, x: Value, l: number) {
    const part = (name: string, rows: readonly [number, number]): LinearWeights =>
      s.fusedQkv
        ? { ...weights(`layers.${l}.self_attn.qkv_proj`, 'out_in', biases.qkv), rows }
        : weights(`layers.${l}.self_attn.${name}`, 'out_in', biases.qkv)
    return {
      q: linear(g, x, part('q_proj', [0, queries]), 'd_model'),
      k: linear(g, x, part('k_proj', [queries, queries + keys]), 'd_model'),
      v: linear(g, x, part('v_proj', [queries + keys, queries + 2 * keys]), 'd_model'),
    }
  }

  function mlpWeights(l: number) {
    const part = (name: string) => weights(`layers.${l}.mlp.${name}`, 'out_in', biases.mlp)
    if (mlpKind === 'plain') return { in: part('c_fc'), out: part('c_proj') }
    const out = part('down_proj')
    if (mlpKind === 'gated') return { gate: part('gate_proj'), up: part('up_proj'), out }
    const both = part('gate_up_proj')
    return { gate: { ...both, rows: [0, s.dMlp] }, up: { ...both, rows: [s.dMlp, 2 * s.dMlp] }, out } as const
  }
}

// --- Internal helpers ---

function layerOf(s: Switches, l: number): LayerSpec {
  const over = s.qkNorm?.over
  const expertsHere = s.expertsOf?.(l) ?? null
  return {
    ...PLAIN_LAYER,
    nHeads: s.nHeads,
    nKvHeads: s.nKvHeads,
    dHead: s.dHead,
    dMlp: expertsHere?.dMlp ?? s.dMlp,
    act: s.act,
    gated: s.mlp !== 'plain',
    parallel: s.parallel ?? false,
    scoreScale: s.scoreScale ?? 1 / Math.sqrt(s.dHead),
    window: s.windowOf?.(l) ?? null,
    rope: s.ropeOf ? s.ropeOf(l) : 0,
    qkNorm: over === undefined ? null : over === 'projection' ? 'projection' : 'head',
    clip: s.clip ?? null,
    softcap: s.softcap ?? null,
    residualScale: s.residualScale ?? 1,
    norms: s.norms ?? 'before',
    experts: expertsHere,
  }
}

function qkNormOf(s: Switches, l: number): QkNorm | undefined {
  if (!s.qkNorm) return undefined
  const { over, name, bias } = s.qkNorm
  const of = (letter: 'q' | 'k', heads: number): QkNormWeights => {
    const tensor = `layers.${l}.self_attn.${letter}_${name}`
    if (over === 'rows') return { rows: [`${tensor}.weight`] }
    if (over === 'lists') return { rows: layers(heads, (head) => `${tensor}.norms.${head}.weight`) }
    return gain(tensor, bias)
  }
  return { spec: s.norm, q: of('q', s.nHeads), k: of('k', s.nKvHeads) }
}

function tensors(
  s: Switches,
  norms: 'before' | 'after' | 'both',
  preMlp: string,
  biases: { readonly qkv: boolean; readonly out: boolean; readonly mlp: boolean },
  mlpKind: 'gated' | 'plain' | 'fused',
) {
  const d: Size = ['hidden_size', s.dModel]
  const queries: Size = ['num_attention_heads · head_dim', s.nHeads * s.dHead]
  const keys: Size = ['num_key_value_heads · head_dim', s.nKvHeads * s.dHead]
  const all: Size = ['(num_attention_heads + 2 · num_key_value_heads) · head_dim', queries[1] + 2 * keys[1]]
  const width: Size = ['intermediate_size', s.dMlp]
  const wantNormAt = (name: string) =>
    s.normParameters === 'none' ? [] : wantNorm(name, d, s.normParameters === 'gain+bias')
  const wantMlp = (at: string) => {
    const part = (name: string, from: Size, to: Size) =>
      wantLinear(`${at}.${name}`, 'mlp', 'out_in', from, to, biases.mlp)
    if (mlpKind === 'plain') return [...part('c_fc', d, width), ...part('c_proj', width, d)]
    if (mlpKind === 'gated')
      return [...part('gate_proj', d, width), ...part('up_proj', d, width), ...part('down_proj', width, d)]
    return [...part('gate_up_proj', d, ['2 · intermediate_size', 2 * s.dMlp]), ...part('down_proj', width, d)]
  }
  const wantQk = (at: string, letter: 'q' | 'k', heads: Size) => {
    if (!s.qkNorm) return []
    const { over, name, bias } = s.qkNorm
    const tensor = `${at}.${letter}_${name}`
    const dHead: Size = ['head_dim', s.dHead]
    const count = letter === 'q' ? s.nHeads : s.nKvHeads
    if (over === 'rows') return [want(`${tensor}.weight`, 'norm', ['heads', count], dHead)]
    if (over === 'lists')
      return layers(count, (head) => want(`${tensor}.norms.${head}.weight`, 'norm', dHead))
    return wantNorm(tensor, over === 'head' ? dHead : heads, bias)
  }
  const layer = (l: number) => {
    const at = `layers.${l}.self_attn`
    const project = (name: string, to: Size) =>
      wantLinear(`${at}.${name}`, 'attention', 'out_in', d, to, biases.qkv)
    const here = s.expertsOf?.(l)
    return [
      ...(norms === 'after' ? [] : wantNormAt(`layers.${l}.input_layernorm`)),
      ...(s.fusedQkv
        ? project('qkv_proj', all)
        : [...project('q_proj', queries), ...project('k_proj', keys), ...project('v_proj', keys)]),
      ...wantQk(at, 'q', queries),
      ...wantQk(at, 'k', keys),
      ...wantLinear(`${at}.o_proj`, 'attention', 'out_in', queries, d, biases.out),
      ...(s.parallel && norms === 'before' ? [] : wantNormAt(`layers.${l}.post_attention_layernorm`)),
      ...(norms === 'both' ? wantNormAt(`layers.${l}.${preMlp}`) : []),
      ...(here ? expertTensors(s, l, here, d) : wantMlp(`layers.${l}.mlp`)),
      ...(norms === 'before' ? [] : wantNormAt(`layers.${l}.post_feedforward_layernorm`)),
    ]
  }
  return [
    want('embed_tokens.weight', 'embedding', ['vocab_size', s.dVocab], d),
    ...layers(s.nLayers, layer).flat(),
    ...wantNormAt('norm'),
    { ...want('lm_head.weight', 'unembedding', ['vocab_size', s.dVocab], d), optional: true },
  ]
}
