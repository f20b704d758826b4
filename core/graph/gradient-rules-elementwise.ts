/** Gradients of elementwise operations and norms. Each rule states its derivative; sources: the chain rule. */
import type { Node } from './builder.ts'
import {
  add,
  type Emitter,
  type Id,
  meanLast,
  mul,
  type Rule,
  sub,
  sumLast,
  sumToShape,
} from './gradient-emitter.ts'

const SQRT_HALF = Math.SQRT1_2
const INV_SQRT_TAU = 1 / Math.sqrt(2 * Math.PI)
const SQRT_2_OVER_PI = Math.sqrt(2 / Math.PI)
const GELU_CUBIC = 0.044715 // Hendrycks and Gimpel 1606.08415

export const ELEMENTWISE: Readonly<Record<string, Rule>> = {
  Add: (e, node, [g]) => node.inputs.map((input) => sumToShape(e, g!, input)),
  Sub: (e, node, [g]) => [
    sumToShape(e, g!, node.inputs[0]!),
    sumToShape(e, e.op('Neg', [g!], e.axes(g!)), node.inputs[1]!),
  ],
  Mul: (e, node, [g]) => {
    const [a, b] = node.inputs as [Id, Id]
    return [sumToShape(e, mul(e, g!, b), a), sumToShape(e, mul(e, g!, a), b)]
  },
  // d(a / b) = g / b, -g a / b²
  Div: (e, node, [g]) => {
    const [a, b] = node.inputs as [Id, Id]
    const over = e.op('Div', [g!, b], e.axes(g!))
    const lower = e.op('Neg', [mul(e, over, e.op('Div', [a, b], e.axes(g!)))], e.axes(g!))
    return [sumToShape(e, over, a), sumToShape(e, lower, b)]
  },
  Neg: (e, _, [g]) => [e.op('Neg', [g!], e.axes(g!))],
  Identity: (_, __, [g]) => [g!],
  // y = √x: g / 2y
  Sqrt: (e, node, [g]) => [mul(e, e.op('Div', [g!, node.outputs[0]!], e.axes(g!)), e.float(0.5))],
  // y = 1 / x: -g y²
  Reciprocal: (e, node, [g]) => {
    const y = node.outputs[0]!
    return [e.op('Neg', [mul(e, g!, mul(e, y, y))], e.axes(g!))]
  },
  // y = tanh x: g (1 - y²)
  Tanh: (e, node, [g]) => [tanhGrad(e, g!, node.outputs[0]!)],
  // y = σ(x): g y (1 - y)
  Sigmoid: (e, node, [g]) => {
    const y = node.outputs[0]!
    return [mul(e, g!, mul(e, y, e.op('Sub', [e.float(1), y], e.axes(y))))]
  },
  Relu: (e, node, [g]) => {
    const x = node.inputs[0]!
    const above = e.op('Greater', [x, e.float(0)], e.axes(x))
    return [e.op('Where', [above, g!, e.float(0)], e.axes(x))]
  },
  // Φ(x) + x φ(x)
  Gelu: (e, node, [g]) => {
    const x = node.inputs[0]!
    const axes = e.axes(x)
    const erf = e.op('Erf', [mul(e, x, e.float(SQRT_HALF))], axes)
    const cumulative = mul(e, add(e, erf, e.float(1)), e.float(0.5))
    const density = mul(e, e.op('Exp', [mul(e, mul(e, x, x), e.float(-0.5))], axes), e.float(INV_SQRT_TAU))
    return [mul(e, g!, add(e, cumulative, mul(e, x, density)))]
  },
  // y = x (1 + t) / 2, t = tanh u, u = √(2/π) (x + c x³): (1 + t) / 2 + x (1 - t²) u' / 2
  FastGelu: (e, node, [g]) => {
    const x = node.inputs[0]!
    const square = mul(e, x, x)
    const inner = mul(e, x, add(e, mul(e, square, e.float(GELU_CUBIC)), e.float(1)))
    const t = e.op('Tanh', [mul(e, inner, e.float(SQRT_2_OVER_PI))], e.axes(x))
    const slope = mul(e, add(e, mul(e, square, e.float(3 * GELU_CUBIC)), e.float(1)), e.float(SQRT_2_OVER_PI))
    const bend = tanhGrad(e, mul(e, x, slope), t)
    return [mul(e, g!, mul(e, add(e, add(e, t, e.float(1)), bend), e.float(0.5)))]
  },
  // y = x σ(x): σ + y - y σ
  QuickGelu: (e, node, [g]) => {
    const x = node.inputs[0]!
    const y = node.outputs[0]!
    const s = e.op('Sigmoid', [x], e.axes(x))
    return [mul(e, g!, add(e, sub(e, y, mul(e, y, s)), s))]
  },
  // Inside the limits the gradient passes; at and beyond them nothing moves.
  Clip: (e, node, [g]) => {
    const [x, low, high] = node.inputs as [Id, Id, Id]
    const axes = e.axes(x)
    const inside = e.op('And', [e.op('Greater', [x, low], axes), e.op('Less', [x, high], axes)], axes)
    return [e.op('Where', [inside, g!, e.float(0)], axes), null, null]
  },
  // The edit's own value passes no gradient; where it replaces, nothing flows on.
  Where: (e, node, [g]) => [null, null, e.op('Where', [node.inputs[0]!, e.float(0), g!], e.axes(g!))],
  // ds = p (g - Σ g p) on each row
  Softmax: (e, node, [g]) => {
    const p = node.outputs[0]!
    const weighted = mul(e, g!, p)
    return [sub(e, weighted, mul(e, p, sumLast(e, weighted)))]
  },
  LayerNormalization: (e, node, [g]) => {
    const [y, mean, inverse] = node.outputs as [Id, Id, Id]
    const [x, gain] = node.inputs as [Id, Id]
    const normalized = mul(e, e.op('Sub', [x, mean], e.axes(y)), inverse)
    return [normGrad(e, mul(e, g!, gain), normalized, inverse, true), null, null]
  },
  SimplifiedLayerNormalization: (e, node, [g]) => {
    const [, inverse] = node.outputs as [Id, Id]
    const [x, gain] = node.inputs as [Id, Id]
    return [normGrad(e, mul(e, g!, gain), mul(e, x, inverse), inverse, false), null]
  },
  ReduceMean: (e, node, [g]) => [spread(e, node, g!, true), null],
  ReduceSum: (e, node, [g]) => [spread(e, node, g!, false), null],
}

// --- Internal helpers ---

/** g (1 - t²). */
function tanhGrad(e: Emitter, g: Id, t: Id): Id {
  return mul(e, g, e.op('Sub', [e.float(1), mul(e, t, t)], e.axes(t)))
}

/** dx = (h - mean(h) - x̂ mean(h x̂)) / σ for h = g · gain; RMSNorm has no mean of h. */
function normGrad(e: Emitter, h: Id, normalized: Id, inverse: Id, centred: boolean): Id {
  const along = mul(e, normalized, meanLast(e, mul(e, h, normalized)))
  const across = centred ? sub(e, h, meanLast(e, h)) : h
  return mul(e, sub(e, across, along), inverse)
}

/** The gradient of a sum or mean goes to every entry alike. */
function spread(e: Emitter, node: Node, g: Id, mean: boolean): Id {
  const x = node.inputs[0]!
  const axes = e.axes(x)
  const [reduced] = e.intsOf(node.inputs[1]!) ?? [-1]
  const kept = node.attributes.keepdims === 0n ? e.op('Unsqueeze', [g, e.ints([reduced!])], axes) : g
  const shape = e.op('Shape', [x], ['one'])
  const wide = e.op('Expand', [kept, shape], axes)
  if (!mean) return wide
  const count = e.op('Gather', [shape, e.ints([reduced!])], ['one'], { attributes: { axis: 0n } })
  return e.op('Div', [wide, e.op('Cast', [count], ['one'], { attributes: { to: 1n } })], axes)
}
