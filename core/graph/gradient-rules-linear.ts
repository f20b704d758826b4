/** Gradients of products, reshapes, splits, rotary and the router's gathers. Weights pass none: they are frozen. */
import type { Axis } from './axes.ts'
import type { Node } from './builder.ts'
import type { Emitter, Id, Rule } from './gradient-emitter.ts'

export const LINEAR: Readonly<Record<string, Rule>> = {
  // y = a b: da = g bᵀ, db = aᵀ g
  MatMul: (e, node, [g]) => {
    const [a, b] = node.inputs as [Id, Id]
    return [product(e, g!, b, false, true, 1, e.axes(a)), product(e, a, g!, true, false, 1, e.axes(b))]
  },
  // y = α a bᵀ: da = α g b, db = α gᵀ a
  FusedMatMul: (e, node, [g]) => {
    const [a, b] = node.inputs as [Id, Id]
    const alpha = node.attributes.alpha as number
    return [
      product(e, g!, b, false, false, alpha, e.axes(a)),
      product(e, g!, a, true, false, alpha, e.axes(b)),
    ]
  },
  Transpose: (e, node, [g]) => {
    const perm = node.attributes.perm as readonly bigint[]
    const back = perm.map((_, i) => BigInt(perm.indexOf(BigInt(i))))
    return [e.op('Transpose', [g!], e.axes(node.inputs[0]!), { attributes: { perm: back } })]
  },
  Reshape: (e, node, [g]) => {
    const x = node.inputs[0]!
    const known = shapeBefore(e, node)
    const shape = known ? e.ints(known) : e.op('Shape', [x], ['one'])
    return [e.op('Reshape', [g!, shape], e.axes(x)), null]
  },
  Split: (e, node, grads) => {
    const axis = node.attributes.axis as bigint
    const parts = grads.map((g, i) => g ?? zerosLike(e, node.outputs[i]!))
    return [e.op('Concat', parts, e.axes(node.inputs[0]!), { attributes: { axis } }), null]
  },
  Concat: (e, node, [g]) => {
    const axis = Number(node.attributes.axis)
    const [a, b] = node.inputs as [Id, Id]
    const first = e.op('Gather', [e.op('Shape', [a], ['one']), e.ints([axis])], ['one'], {
      attributes: { axis: 0n },
    })
    const end = e.ints([Number.MAX_SAFE_INTEGER])
    const at = e.ints([axis])
    return [
      e.op('Slice', [g!, e.ints([0]), first, at], e.axes(a)),
      e.op('Slice', [g!, first, end, at], e.axes(b)),
    ]
  },
  // A rotation is undone by the rotation with -sin.
  RotaryEmbedding: (e, node, [g]) => {
    const [x, cos, sin] = node.inputs as [Id, Id, Id]
    const back = e.op('Neg', [sin], e.axes(sin))
    return [e.op('RotaryEmbedding', [g!, cos, back], e.axes(x), { attributes: node.attributes }), null, null]
  },
  // Rows taken: their gradients go back to where they came from.
  Gather: (e, node, [g]) => {
    const [x, indices] = node.inputs as [Id, Id]
    const at = e.op('Unsqueeze', [indices, e.ints([-1])], [...e.axes(indices), 'one'])
    return [
      e.op('ScatterND', [zerosLike(e, x), at, g!], e.axes(x), { attributes: { reduction: 'add' } }),
      null,
    ]
  },
  GatherElements: (e, node, [g]) => {
    const [x, indices] = node.inputs as [Id, Id]
    const attributes = { axis: node.attributes.axis!, reduction: 'add' }
    return [e.op('ScatterElements', [zerosLike(e, x), indices, g!], e.axes(x), { attributes }), null]
  },
  // Into zeros: only what was placed has a gradient.
  ScatterElements: (e, node, [g]) => {
    const [, indices, updates] = node.inputs as [Id, Id, Id]
    const attributes = { axis: node.attributes.axis! }
    return [null, null, e.op('GatherElements', [g!, indices], e.axes(updates), { attributes })]
  },
  ScatterND: (e, node, [g]) => {
    const [data, indices, updates] = node.inputs as [Id, Id, Id]
    return [e.axes(data).length > 0 ? g! : null, null, e.op('GatherND', [g!, indices], e.axes(updates))]
  },
}

// --- Internal helpers ---

function product(
  e: Emitter,
  a: Id,
  b: Id,
  transA: boolean,
  transB: boolean,
  alpha: number,
  axes: readonly Axis[],
): Id {
  if (!transA && !transB && alpha === 1) return e.op('MatMul', [a, b], axes)
  return e.op('FusedMatMul', [a, b], axes, {
    domain: 'com.microsoft',
    attributes: { transA: transA ? 1n : 0n, transB: transB ? 1n : 0n, alpha },
  })
}

function zerosLike(e: Emitter, x: Id): Id {
  return e.op('ConstantOfShape', [e.op('Shape', [x], ['one'])], e.axes(x))
}

/**
 * The shape before a Reshape that keeps its leading axes, from axis words and the layer's sizes, so that the value
 * itself need not be kept for it. null: ask the value.
 */
function shapeBefore(e: Emitter, node: Node): number[] | null {
  const target = e.intsOf(node.inputs[1]!)
  if (!e.layer || !target || target[0] !== 0) return null
  const { nHeads, nKvHeads, dHead } = e.layer
  const rows = (axis: Axis) => (axis === 'source' ? 'pos' : axis)
  switch (e.axes(node.inputs[0]!).map(rows).join(' ')) {
    case 'batch pos d_model':
      return target[1] === 0 ? [0, 0, -1] : null
    case 'batch pos head d_head':
      return target[1] === 0 ? [0, 0, nHeads, -1] : null
    case 'batch pos kv_head d_head':
      return target[1] === 0 ? [0, 0, nKvHeads, -1] : null
    case 'batch head pos d_head':
      return [0, nHeads, -1, dHead]
    case 'batch kv_head pos d_head':
      return [0, nKvHeads, -1, dHead]
    case 'batch head query key':
      return [0, nHeads, -1, 0]
    case 'batch kv_head query key':
      return [0, nKvHeads, -1, 0]
    default:
      return null
  }
}
