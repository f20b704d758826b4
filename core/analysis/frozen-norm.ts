/** A norm with its divisor frozen: a linear map, and its bias apart. In: a direction that reads its output. */
import type { NormWeights } from '../graph/norm.ts'
import type { Model } from '../run/model.ts'
import { dot } from './readout.ts'

/** The frozen norm of a block as a linear map: direction r → the direction that its input is read with. */
export function throughNorm(
  model: Model,
  direction: Float64Array,
  weights: NormWeights,
  scale: number,
): { direction: Float64Array; bias: number } {
  const { norm } = model.spec
  const gain = weights.gain === null ? null : model.weight(weights.gain)
  const bias = weights.bias ? model.weight(weights.bias) : null
  const gained = direction.map((value, d) => value * ((gain ? gain[d]! : 1) + (norm.gainMinusOne ? 1 : 0)))
  const centre = norm.kind === 'layer' ? gained.reduce((sum, value) => sum + value, 0) / gained.length : 0
  return {
    direction: gained.map((value) => (value - centre) / scale),
    bias: bias ? dot(direction, 0, bias, 0, bias.length) : 0,
  }
}
