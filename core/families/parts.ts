/** Small builders that families share: sums, splits, names of weight pairs, tensor plans. */
import type { ParameterRole, WantedTensor } from '../checkpoint/types.ts'
import type { Axis } from '../graph/axes.ts'
import type { Builder, Value } from '../graph/builder.ts'
import type { LinearWeights, Orientation } from '../graph/linear.ts'
import type { LayerSpec, StackSpec } from '../graph/model-spec.ts'
import type { NormWeights } from '../graph/norm.ts'

/** a + b, same shape. */
export function add(g: Builder, a: Value, b: Value): Value {
  return g.op('Add', [a, b], a.axes)
}

/** x [..., sum of sizes] cut along its last axis. */
export function split(
  g: Builder,
  x: Value,
  sizes: readonly number[],
  axes: readonly Axis[] = x.axes,
): Value[] {
  return g.ops(
    'Split',
    [x, g.ints(sizes)],
    sizes.map(() => axes),
    { attributes: { axis: -1n } },
  )
}

/** `name.weight` and, where there is one, `name.bias`. */
export function weights(name: string, orientation: Orientation, bias: boolean): LinearWeights {
  return { weight: `${name}.weight`, orientation, ...(bias ? { bias: `${name}.bias` } : {}) }
}

/** `name.weight` and, for LayerNorm, `name.bias`. */
export function gain(name: string, bias: boolean): NormWeights {
  return { gain: `${name}.weight`, ...(bias ? { bias: `${name}.bias` } : {}) }
}

/** A norm without parameters over `width` numbers. */
export function bare(width: number): NormWeights {
  return { gain: null, width }
}

/** A weight with the names of the config keys that make its shape: `['hidden_size', 64]`. */
export type Size = readonly [key: string, size: number]

/** One wanted tensor. */
export function want(name: string, role: ParameterRole, ...sizes: readonly Size[]): WantedTensor {
  return {
    name,
    role,
    shape: sizes.map(([, size]) => size),
    from: sizes.map(([key]) => key).join(' × '),
  }
}

/** A matrix [in, out] or [out, in] and, where there is one, its bias [out]. */
export function wantLinear(
  name: string,
  role: ParameterRole,
  orientation: Orientation,
  input: Size,
  output: Size,
  bias: boolean,
): WantedTensor[] {
  const shape = orientation === 'in_out' ? [input, output] : [output, input]
  const matrix = want(`${name}.weight`, role, ...shape)
  return bias ? [matrix, want(`${name}.bias`, 'bias', output)] : [matrix]
}

/** A norm's gain and, for LayerNorm, its bias. */
export function wantNorm(name: string, width: Size, bias: boolean): WantedTensor[] {
  const own = want(`${name}.weight`, 'norm', width)
  return bias ? [own, want(`${name}.bias`, 'norm', width)] : [own]
}

/** One decoder of these layers, as every decoder-only family has it. */
export function decoder(layers: readonly LayerSpec[]): readonly StackSpec[] {
  return [{ name: 'decoder', causal: true, layers }]
}

/** [batch, pos, head · 3 · d_head] → q, k, v, each [batch, pos, head, d_head]: laid out as [head][q | k | v][d_head]. */
export function headwise(g: Builder, fused: Value, heads: number, dHead: number) {
  const axes = ['batch', 'pos', 'head', 'd_head'] as const
  const perHead = g.op('Reshape', [fused, g.ints([0, 0, heads, 3 * dHead])], axes)
  const [q, k, v] = split(g, perHead, [dHead, dHead, dHead]) as [Value, Value, Value]
  return { q, k, v }
}

/** The same object n times, by index. */
export function layers<T>(count: number, make: (layer: number) => T): T[] {
  return Array.from({ length: count }, (_, layer) => make(layer))
}
