/**
 * Attention, decomposed so that every step can be read and replaced. Positions are data: query and key positions
 * enter through cos/sin and the additive bias [batch, one, query, key], past keys and values through inputs, so that
 * prefill, decode, restart, chunks, windows and padding are this one graph.
 *
 * Hooks, in order: attn.hook_q, hook_k, hook_v [batch, pos, head|kv_head, d_head] (after bias and clip, before QK-norm
 * and rotary), hook_rot_q, hook_rot_k (what meets in the score), hook_attn_scores [batch, head, query, key] (scaled,
 * with ALiBi, capped, masked), hook_pattern, hook_z [batch, pos, head, d_head], hook_result [batch, pos, head, d_model]
 * (without b_O).
 */
import { addAlibi } from './alibi.ts'
import type { Axis } from './axes.ts'
import type { Builder, Value } from './builder.ts'
import { type LinearWeights, linear } from './linear.ts'
import type { LayerSpec, ModelSpec, NormSpec } from './model-spec.ts'
import { innerNorm, type NormWeights } from './norm.ts'
import { rotate } from './rotary.ts'
import { clipped, softCapped } from './scale.ts'

const Q = ['batch', 'pos', 'head', 'd_head'] as const
const KV = ['batch', 'pos', 'kv_head', 'd_head'] as const
const Q_T = ['batch', 'head', 'pos', 'd_head'] as const
const KV_T = ['batch', 'kv_head', 'pos', 'd_head'] as const
const SCORES = ['batch', 'head', 'query', 'key'] as const
const CROSS_SCORES = ['batch', 'head', 'query', 'source'] as const

/** What a block's attention reads beside its input. */
export interface AttentionInputs {
  readonly bias: Value // [batch, one, query, key]
  readonly pastK: Value // [batch, kv_head, pos, d_head], rotated
  readonly pastV: Value // [batch, kv_head, pos, d_head]
}

/** Norms of queries and keys; the layer's `qkNorm` says over what. */
export interface QkNorm {
  readonly spec: NormSpec
  readonly q: QkNormWeights
  readonly k: QkNormWeights
}

/** `rows`: one gain a head, each a tensor [d_head], or one tensor [heads, d_head]. */
export type QkNormWeights = NormWeights | { readonly rows: readonly string[] }

/** Declares the inputs of a block's attention. */
export function attentionInputs(g: Builder): AttentionInputs {
  return {
    bias: g.input('bias', 'f32', ['batch', 'one', 'query', 'key']),
    pastK: g.input('past_k', 'f32', KV_T),
    pastV: g.input('past_v', 'f32', KV_T),
  }
}

/**
 * Projected queries, keys, values [batch, pos, heads · d_head] → what is added to the residual [batch, pos, d_model].
 * The results `k` and `v` hold past and new rows: the next chunk's or step's past.
 */
export function attention(
  g: Builder,
  spec: ModelSpec,
  layer: LayerSpec,
  projected: { readonly q: Value; readonly k: Value; readonly v: Value },
  output: LinearWeights,
  qkNorm?: QkNorm,
  /** A bias by distance [one, head, query, key], added before the mask (T5). */
  distances?: Value,
): Value {
  const inputs = attentionInputs(g)
  // Where queries and keys are normed (OLMoE), their clip stands after the norm.
  const clip = qkNorm ? null : layer.clip
  const q = g.hook('attn.hook_q', splitHeads(g, clipped(g, projected.q, clip), layer.nHeads, layer.dHead, Q))
  const k = g.hook(
    'attn.hook_k',
    splitHeads(g, clipped(g, projected.k, clip), layer.nKvHeads, layer.dHead, KV),
  )
  const v = g.hook(
    'attn.hook_v',
    splitHeads(g, clipped(g, projected.v, layer.clip), layer.nKvHeads, layer.dHead, KV),
  )
  const normedQ = qkNorm
    ? clipped(g, normHeads(g, q, qkNorm.spec, qkNorm.q, layer, layer.nHeads), layer.clip)
    : q
  const normedK = qkNorm
    ? clipped(g, normHeads(g, k, qkNorm.spec, qkNorm.k, layer, layer.nKvHeads), layer.clip)
    : k
  const rotQ = g.hook('attn.hook_rot_q', rotate(g, normedQ, spec, layer, layer.nHeads))
  const rotK = g.hook('attn.hook_rot_k', rotate(g, normedK, spec, layer, layer.nKvHeads))

  const keys = g.op('Concat', [inputs.pastK, headsFirst(g, rotK, KV_T)], KV_T, { attributes: { axis: 2n } })
  const values = g.op('Concat', [inputs.pastV, headsFirst(g, v, KV_T)], KV_T, { attributes: { axis: 2n } })
  g.result('k', keys)
  g.result('v', values)

  return attend(g, layer, 'attn', { q: rotQ, keys, values, bias: inputs.bias, distances }, output)
}

/** What meets in one attention, after everything that is done to queries and keys. */
interface Meeting {
  readonly q: Value // [batch, pos, head, d_head]
  readonly keys: Value // [batch, kv_head, pos | source, d_head]
  readonly values: Value // [batch, kv_head, pos | source, d_head]
  readonly bias: Value // [batch, one, query | one, key | source]
  readonly distances?: Value | undefined // [one, head, query, key]
}

/**
 * Scores, softmax, weighted values, output projection. `at` is what the hooks are called by. Hooks: hook_attn_scores,
 * hook_pattern, hook_z, hook_result.
 */
export function attend(
  g: Builder,
  layer: LayerSpec,
  at: 'attn' | 'cross_attn',
  { q, keys, values, bias, distances }: Meeting,
  output: LinearWeights,
): Value {
  const axes: readonly Axis[] = at === 'attn' ? SCORES : CROSS_SCORES
  const products = grouped(g, layer, headsFirst(g, q, Q_T), axes, (rows, out) =>
    g.op('FusedMatMul', [rows, keys], out, {
      domain: 'com.microsoft',
      attributes: { transA: 0n, transB: 1n, alpha: layer.scoreScale },
    }),
  )
  const placed = layer.alibi ? addAlibi(g, products, layer.alibi) : products
  const capped = softCapped(g, placed, layer.softcap)
  const distant = distances ? g.op('Add', [capped, distances], axes) : capped
  const scores = g.hook(`${at}.hook_attn_scores`, g.op('Add', [distant, bias], axes))
  const pattern = g.hook(`${at}.hook_pattern`, g.op('Softmax', [scores], axes, { attributes: { axis: -1n } }))
  const mixed = grouped(g, layer, pattern, Q_T, (rows, out) => g.op('MatMul', [rows, values], out))
  const z = g.hook(`${at}.hook_z`, g.op('Transpose', [mixed], Q, { attributes: { perm: [0n, 2n, 1n, 3n] } }))
  return project(g, layer, at, z, output)
}

/** x [batch, rows, heads · d_head] → [batch, rows, heads, d_head]. */
export function splitHeads(g: Builder, x: Value, heads: number, dHead: number, axes: readonly Axis[]): Value {
  return g.op('Reshape', [x, g.ints([0, 0, heads, dHead])], axes)
}

/** x [batch, rows, heads, d_head] → [batch, heads, rows, d_head]. */
export function headsFirst(g: Builder, x: Value, axes: readonly Axis[]): Value {
  return g.op('Transpose', [x], axes, { attributes: { perm: [0n, 2n, 1n, 3n] } })
}

// --- Internal helpers ---

/** x [batch, pos, heads, d_head], normed over each head or over all heads together. */
function normHeads(
  g: Builder,
  x: Value,
  spec: NormSpec,
  weights: QkNormWeights,
  layer: LayerSpec,
  heads: number,
): Value {
  if ('rows' in weights) {
    const gains = weights.rows.map((tensor) => g.weight(tensor, ['head', 'd_head']))
    const joined =
      gains.length > 1 ? g.op('Concat', gains, ['head', 'd_head'], { attributes: { axis: 0n } }) : gains[0]!
    const perHead = g.op('Reshape', [joined, g.ints([heads, layer.dHead])], ['head', 'd_head'])
    return innerNorm(g, x, spec, { gain: null, width: layer.dHead }, perHead)
  }
  if (layer.qkNorm === 'head') return innerNorm(g, x, spec, weights)
  const flat = g.op('Reshape', [x, g.ints([0, 0, heads * layer.dHead])], ['batch', 'pos', 'd_model'])
  return g.op('Reshape', [innerNorm(g, flat, spec, weights), g.ints([0, 0, heads, layer.dHead])], x.axes)
}

/**
 * Query heads that share keys are contiguous, so a group's rows are one tall matrix against the shared keys or
 * values: [batch, head, query, x] → [batch, kv_head, group · query, x] → product → [batch, head, query, y]. No copy
 * of keys or values is made.
 */
function grouped(
  g: Builder,
  layer: LayerSpec,
  x: Value,
  out: readonly Axis[],
  product: (rows: Value, axes: readonly Axis[]) => Value,
): Value {
  if (layer.nHeads === layer.nKvHeads) return product(x, out)
  const shared = (axes: readonly Axis[]) => axes.map((axis): Axis => (axis === 'head' ? 'kv_head' : axis))
  const tall = g.op('Reshape', [x, g.ints([0, layer.nKvHeads, -1, 0])], shared(x.axes))
  return g.op('Reshape', [product(tall, shared(out)), g.ints([0, layer.nHeads, -1, 0])], out)
}

/** z → Σ over heads of z W_O, plus b_O. When hook_result is edited, the sum is taken over the edited parts. */
function project(g: Builder, layer: LayerSpec, at: string, z: Value, output: LinearWeights): Value {
  const result = g.hook(`${at}.hook_result`, headResults(g, layer, z, output))
  if (g.isEdited(`${at}.hook_result`)) {
    const sum = g.op('ReduceSum', [result, g.ints([2])], ['batch', 'pos', 'd_model'], {
      attributes: { keepdims: 0n },
    })
    return output.bias ? g.op('Add', [sum, g.weight(output.bias, ['d_model'])], sum.axes) : sum
  }
  const flat = g.op('Reshape', [z, g.ints([0, 0, layer.nHeads * layer.dHead])], ['batch', 'pos', 'd_model'])
  return linear(g, flat, output, 'd_model')
}

function headResults(g: Builder, layer: LayerSpec, z: Value, output: LinearWeights): Value {
  const weight = g.weight(output.weight, ['d_model', 'd_model'])
  const perHead =
    output.orientation === 'in_out'
      ? g.op('Reshape', [weight, g.ints([layer.nHeads, layer.dHead, -1])], ['head', 'd_head', 'd_model'])
      : g.op(
          'Transpose',
          [g.op('Reshape', [weight, g.ints([-1, layer.nHeads, layer.dHead])], ['d_model', 'head', 'd_head'])],
          ['head', 'd_head', 'd_model'],
          { attributes: { perm: [1n, 2n, 0n] } },
        )
  const zHeads = g.op('Transpose', [z], Q_T, { attributes: { perm: [0n, 2n, 1n, 3n] } })
  const product = g.op('MatMul', [zHeads, perHead], ['batch', 'head', 'pos', 'd_model'])
  return g.op('Transpose', [product], ['batch', 'pos', 'head', 'd_model'], {
    attributes: { perm: [0n, 2n, 1n, 3n] },
  })
}
