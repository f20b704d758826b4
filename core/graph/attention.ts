/**
 * Attention, decomposed so that every step can be read and replaced. Positions are data: query and key positions
 * enter through cos/sin and the additive bias [batch, one, query, key], past keys and values through inputs, so that
 * prefill, decode, restart, chunks, windows and padding are this one graph.
 *
 * Hooks, in order: attn.hook_q, hook_k, hook_v [batch, pos, head|kv_head, d_head] (after bias, before rotary),
 * hook_rot_q, hook_rot_k (what meets in the score), hook_attn_scores [batch, head, query, key] (scaled, masked),
 * hook_pattern, hook_z [batch, pos, head, d_head], hook_result [batch, pos, head, d_model] (without b_O).
 */
import type { Builder, Value } from './builder.ts'
import { type LinearWeights, linear } from './linear.ts'
import type { LayerSpec, ModelSpec } from './model-spec.ts'
import { rotate } from './rotary.ts'

const Q = ['batch', 'pos', 'head', 'd_head'] as const
const KV = ['batch', 'pos', 'kv_head', 'd_head'] as const
const Q_T = ['batch', 'head', 'pos', 'd_head'] as const
const KV_T = ['batch', 'kv_head', 'pos', 'd_head'] as const
const SCORES = ['batch', 'head', 'query', 'key'] as const

/** What a block's attention reads beside its input. */
export interface AttentionInputs {
  readonly bias: Value // [batch, one, query, key]
  readonly pastK: Value // [batch, kv_head, pos, d_head], rotated
  readonly pastV: Value // [batch, kv_head, pos, d_head]
}

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
): Value {
  const inputs = attentionInputs(g)
  const q = g.hook('attn.hook_q', splitHeads(g, projected.q, layer.nHeads, layer.dHead, Q))
  const k = g.hook('attn.hook_k', splitHeads(g, projected.k, layer.nKvHeads, layer.dHead, KV))
  const v = g.hook('attn.hook_v', splitHeads(g, projected.v, layer.nKvHeads, layer.dHead, KV))
  const rotQ = g.hook('attn.hook_rot_q', rotate(g, q, spec, layer, layer.nHeads))
  const rotK = g.hook('attn.hook_rot_k', rotate(g, k, spec, layer, layer.nKvHeads))

  const keys = g.op('Concat', [inputs.pastK, headsFirst(g, rotK, KV_T)], KV_T, { attributes: { axis: 2n } })
  const values = g.op('Concat', [inputs.pastV, headsFirst(g, v, KV_T)], KV_T, { attributes: { axis: 2n } })
  g.result('k', keys)
  g.result('v', values)

  const products = grouped(g, layer, headsFirst(g, rotQ, Q_T), (rows) =>
    g.op('FusedMatMul', [rows, keys], SCORES, {
      domain: 'com.microsoft',
      attributes: { transA: 0n, transB: 1n, alpha: layer.scoreScale },
    }),
  )
  const scores = g.hook('attn.hook_attn_scores', g.op('Add', [products, inputs.bias], SCORES))
  const pattern = g.hook(
    'attn.hook_pattern',
    g.op('Softmax', [scores], SCORES, { attributes: { axis: -1n } }),
  )
  const mixed = grouped(g, layer, pattern, (rows) => g.op('MatMul', [rows, values], Q_T)) // [batch, head, pos, d_head]
  const z = g.hook('attn.hook_z', g.op('Transpose', [mixed], Q, { attributes: { perm: [0n, 2n, 1n, 3n] } }))
  return project(g, layer, z, output)
}

// --- Internal helpers ---

function splitHeads(g: Builder, x: Value, heads: number, dHead: number, axes: typeof Q | typeof KV): Value {
  return g.op('Reshape', [x, g.ints([0, 0, heads, dHead])], axes)
}

function headsFirst(g: Builder, x: Value, axes: typeof Q_T | typeof KV_T): Value {
  return g.op('Transpose', [x], axes, { attributes: { perm: [0n, 2n, 1n, 3n] } })
}

/**
 * Query heads that share keys are contiguous, so a group's rows are one tall matrix against the shared keys or
 * values: [batch, head, query, x] → [batch, kv_head, group · query, x] → product → [batch, head, query, y]. No copy
 * of keys or values is made.
 */
function grouped(g: Builder, layer: LayerSpec, x: Value, product: (rows: Value) => Value): Value {
  if (layer.nHeads === layer.nKvHeads) return product(x)
  const tall = g.op('Reshape', [x, g.ints([0, layer.nKvHeads, -1, 0])], x.axes)
  const result = product(tall)
  return g.op('Reshape', [result, g.ints([0, layer.nHeads, -1, 0])], result.axes)
}

/** z → Σ over heads of z W_O, plus b_O. When hook_result is edited, the sum is taken over the edited parts. */
function project(g: Builder, layer: LayerSpec, z: Value, output: LinearWeights): Value {
  const result = g.hook('attn.hook_result', headResults(g, layer, z, output))
  if (g.isEdited('attn.hook_result')) {
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
