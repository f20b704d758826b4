/** Matrix products with the checkpoint's weights, whichever way round the file holds them. */
import type { Axis } from './axes.ts'
import type { Builder, Value } from './builder.ts'

/** `out_in`: torch's Linear, y = x Wᵀ. `in_out`: GPT-2's Conv1D, y = x W. */
export type Orientation = 'out_in' | 'in_out'

export interface LinearWeights {
  readonly weight: string
  readonly bias?: string | undefined
  readonly orientation: Orientation
  /** Only these output rows of an `out_in` weight (a part of a fused projection). */
  readonly rows?: readonly [number, number]
}

/** x [batch, pos, in] → [batch, pos, out], plus the bias where there is one. */
export function linear(g: Builder, x: Value, weights: LinearWeights, out: Axis): Value {
  const axes: Axis[] = [...x.axes.slice(0, -1), out]
  const product = matmulWeight(g, x, weights, axes)
  if (!weights.bias) return product
  return g.op('Add', [product, g.weight(weights.bias, [out], weights.rows)], axes)
}

function matmulWeight(g: Builder, x: Value, weights: LinearWeights, axes: readonly Axis[]): Value {
  if (weights.orientation === 'in_out')
    return g.op('MatMul', [x, g.weight(weights.weight, ['d_model', 'd_model'])], axes)
  const matrix = g.weight(weights.weight, ['d_model', 'd_model'], weights.rows)
  return g.op('FusedMatMul', [x, matrix], axes, {
    domain: 'com.microsoft',
    attributes: { transA: 0n, transB: 1n, alpha: 1 },
  })
}
