/**
 * LayerNorm and RMSNorm with TransformerLens's two hooks:
 *   hook_scale       [batch, pos, one]      the divisor sqrt(variance + eps)
 *   hook_normalized  [batch, pos, d_model]  before gain and bias
 * Unedited, the fused kernel runs and the hooks are made from its mean and inverse deviation, only when wanted.
 * Edited, the norm is emitted decomposed, so that what follows sees the edited value.
 * Norms of queries and keys have no hooks: what they make is hook_rot_q, hook_rot_k.
 */
import type { Axis } from './axes.ts'
import type { Builder, Value } from './builder.ts'
import type { NormSpec } from './model-spec.ts'

export interface NormWeights {
  /** Tensor of the gain; null: the norm has no parameters. */
  readonly gain: string | null
  readonly bias?: string
  /** Width of the norm, needed where it has no gain. */
  readonly width?: number
}

const ROW = ['batch', 'pos', 'one'] as const

/**
 * x [batch, pos, d_model] → the same shape. `name` is the norm's place: ln1, ln2, ln1_post, ln2_post, ln_final,
 * embed.ln, mlm_head.ln.
 */
export function norm(g: Builder, name: string, x: Value, spec: NormSpec, weights: NormWeights): Value {
  const edited = g.isEdited(`${name}.hook_scale`) || g.isEdited(`${name}.hook_normalized`)
  if (edited) return decomposed(g, name, x, spec, weights)
  return spec.kind === 'layer' ? fusedLayer(g, name, x, spec, weights) : fusedRms(g, name, x, spec, weights)
}

/**
 * A norm over the last axis of x, without hooks. `perHead`: the gain [heads, d_head] has one row a head, and is
 * multiplied after a norm without parameters.
 */
export function innerNorm(
  g: Builder,
  x: Value,
  spec: NormSpec,
  weights: NormWeights,
  perHead?: Value,
): Value {
  const inputs = [x, gainOf(g, spec, perHead ? { ...weights, gain: null } : weights), biasOf(g, weights)]
  const attributes = { epsilon: spec.eps, axis: -1n }
  const row: Axis[] = [...x.axes.slice(0, -1), 'one']
  const [y] = (
    spec.kind === 'layer'
      ? g.ops('LayerNormalization', inputs, [x.axes, row, row], { attributes })
      : g.ops('SimplifiedLayerNormalization', inputs.slice(0, 2), [x.axes, row], { attributes })
  ) as [Value]
  return perHead ? g.op('Mul', [y, perHead], x.axes) : y
}

// --- Internal helpers ---

/** The gain as the kernel takes it: the tensor, the tensor + 1, or ones. */
function gainOf(g: Builder, spec: NormSpec, weights: NormWeights): Value {
  const axes: readonly Axis[] = ['d_model']
  if (weights.gain === null) return g.floats(new Array<number>(weights.width!).fill(1), axes)
  const gain = g.weight(weights.gain, axes)
  return spec.gainMinusOne ? g.op('Add', [gain, g.floats([1], ['one'])], axes) : gain
}

function biasOf(g: Builder, weights: NormWeights): Value | null {
  return weights.bias ? g.weight(weights.bias, ['d_model']) : null
}

function fusedLayer(g: Builder, name: string, x: Value, spec: NormSpec, weights: NormWeights): Value {
  const inputs = [x, gainOf(g, spec, weights), biasOf(g, weights)]
  const [y, mean, inverse] = g.ops('LayerNormalization', inputs, [x.axes, ROW, ROW], {
    attributes: { epsilon: spec.eps, axis: -1n },
  }) as [Value, Value, Value]
  g.hook(`${name}.hook_scale`, g.op('Reciprocal', [inverse], ROW))
  const centred = g.op('Sub', [x, mean], x.axes)
  g.hook(`${name}.hook_normalized`, g.op('Mul', [centred, inverse], x.axes))
  return y
}

function fusedRms(g: Builder, name: string, x: Value, spec: NormSpec, weights: NormWeights): Value {
  const [y, inverse] = g.ops('SimplifiedLayerNormalization', [x, gainOf(g, spec, weights)], [x.axes, ROW], {
    attributes: { epsilon: spec.eps, axis: -1n },
  }) as [Value, Value]
  g.hook(`${name}.hook_scale`, g.op('Reciprocal', [inverse], ROW))
  g.hook(`${name}.hook_normalized`, g.op('Mul', [x, inverse], x.axes))
  return y
}

function decomposed(g: Builder, name: string, x: Value, spec: NormSpec, weights: NormWeights): Value {
  const last = g.ints([-1])
  const centred = spec.kind === 'layer' ? g.op('Sub', [x, g.op('ReduceMean', [x, last], ROW)], x.axes) : x
  const variance = g.op('ReduceMean', [g.op('Mul', [centred, centred], x.axes), last], ROW)
  const deviation = g.op('Sqrt', [g.op('Add', [variance, g.floats([spec.eps], ['one'])], ROW)], ROW)
  const scale = g.hook(`${name}.hook_scale`, deviation)
  const normalized = g.hook(`${name}.hook_normalized`, g.op('Div', [centred, scale], x.axes))
  const gained =
    weights.gain === null ? normalized : g.op('Mul', [normalized, gainOf(g, spec, weights)], x.axes)
  const bias = biasOf(g, weights)
  return bias ? g.op('Add', [gained, bias], x.axes) : gained
}
