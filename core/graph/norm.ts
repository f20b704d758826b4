/**
 * LayerNorm and RMSNorm with TransformerLens's two hooks:
 *   hook_scale       [batch, pos, one]      the divisor sqrt(variance + eps)
 *   hook_normalized  [batch, pos, d_model]  before gain and bias
 * Unedited, the fused kernel runs and the hooks are made from its mean and inverse deviation, only when wanted.
 * Edited, the norm is emitted decomposed, so that what follows sees the edited value.
 */
import type { Builder, Value } from './builder.ts'
import type { NormSpec } from './model-spec.ts'

export interface NormWeights {
  readonly gain: string
  readonly bias?: string
}

const ROW = ['batch', 'pos', 'one'] as const

/** x [batch, pos, d_model] → the same shape. `name` is the norm's place: ln1, ln2, ln_final. */
export function norm(g: Builder, name: string, x: Value, spec: NormSpec, weights: NormWeights): Value {
  const edited = g.isEdited(`${name}.hook_scale`) || g.isEdited(`${name}.hook_normalized`)
  if (edited) return decomposed(g, name, x, spec, weights)
  return spec.kind === 'layer' ? fusedLayer(g, name, x, spec, weights) : fusedRms(g, name, x, spec, weights)
}

// --- Internal helpers ---

function fusedLayer(g: Builder, name: string, x: Value, spec: NormSpec, weights: NormWeights): Value {
  const inputs = [
    x,
    g.weight(weights.gain, ['d_model']),
    weights.bias ? g.weight(weights.bias, ['d_model']) : null,
  ]
  const [y, mean, inverse] = g.ops('LayerNormalization', inputs, [x.axes, ROW, ROW], {
    attributes: { epsilon: spec.eps, axis: -1n },
  }) as [Value, Value, Value]
  g.hook(`${name}.hook_scale`, g.op('Reciprocal', [inverse], ROW))
  const centred = g.op('Sub', [x, mean], x.axes)
  g.hook(`${name}.hook_normalized`, g.op('Mul', [centred, inverse], x.axes))
  return y
}

function fusedRms(g: Builder, name: string, x: Value, spec: NormSpec, weights: NormWeights): Value {
  const [y, inverse] = g.ops(
    'SimplifiedLayerNormalization',
    [x, g.weight(weights.gain, ['d_model'])],
    [x.axes, ROW],
    { attributes: { epsilon: spec.eps, axis: -1n } },
  ) as [Value, Value]
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
  const gained = g.op('Mul', [normalized, g.weight(weights.gain, ['d_model'])], x.axes)
  return weights.bias ? g.op('Add', [gained, g.weight(weights.bias, ['d_model'])], x.axes) : gained
}
