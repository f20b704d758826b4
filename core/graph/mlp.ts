/** The MLP of a block: plain (in, activation, out) or gated (gate and up, product, down). */
import type { Builder, NodeOptions, Value } from './builder.ts'
import { type LinearWeights, linear } from './linear.ts'
import type { Activation } from './model-spec.ts'

export type MlpWeights =
  | { readonly in: LinearWeights; readonly out: LinearWeights }
  | { readonly gate: LinearWeights; readonly up: LinearWeights; readonly out: LinearWeights }

/**
 * x [batch, pos, d_model] → [batch, pos, d_model], bias included.
 * Hooks: mlp.hook_pre (the gate where gated), mlp.hook_pre_linear (the up projection), mlp.hook_post.
 */
export function mlp(g: Builder, x: Value, act: Activation, weights: MlpWeights): Value {
  const first = 'gate' in weights ? weights.gate : weights.in
  const pre = g.hook('mlp.hook_pre', linear(g, x, first, 'd_mlp')) // [batch, pos, d_mlp]
  let post = activation(g, pre, act)
  if ('up' in weights) {
    const up = g.hook('mlp.hook_pre_linear', linear(g, x, weights.up, 'd_mlp'))
    post = g.op('Mul', [post, up], pre.axes)
  }
  post = g.hook('mlp.hook_post', post) // [batch, pos, d_mlp]
  return linear(g, post, weights.out, 'd_model')
}

/** Elementwise: relu, gelu (erf), gelu_tanh (GPT-2's gelu_new), silu. */
export function activation(g: Builder, x: Value, act: Activation): Value {
  const [op, options] = ACTIVATIONS[act]
  return g.op(op, [x], x.axes, options)
}

const ACTIVATIONS: Readonly<Record<Activation, readonly [string, NodeOptions]>> = {
  relu: ['Relu', {}],
  gelu: ['Gelu', { domain: 'com.microsoft' }],
  gelu_tanh: ['FastGelu', { domain: 'com.microsoft' }],
  silu: ['QuickGelu', { domain: 'com.microsoft', attributes: { alpha: 1 } }],
}
