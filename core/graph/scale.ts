/** Multiplication by a number and soft caps: small steps that many places share. */
import type { Builder, Value } from './builder.ts'

/** x · factor; x itself where the factor is 1. */
export function scaled(g: Builder, x: Value, factor: number): Value {
  return factor === 1 ? x : g.op('Mul', [x, g.floats([factor], ['one'])], x.axes)
}

/** cap · tanh(x / cap); x itself without a cap. */
export function softCapped(g: Builder, x: Value, cap: number | null): Value {
  if (cap === null) return x
  const bent = g.op('Tanh', [g.op('Div', [x, g.floats([cap], ['one'])], x.axes)], x.axes)
  return g.op('Mul', [bent, g.floats([cap], ['one'])], x.axes)
}

/** x cut to [-limit, limit]; x itself without a limit. */
export function clipped(g: Builder, x: Value, limit: number | null): Value {
  if (limit === null) return x
  return g.op('Clip', [x, g.floats([-limit], []), g.floats([limit], [])], x.axes)
}
