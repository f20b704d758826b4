/** What the rules of gradients write with: backward nodes on the values of a forward graph. */
import type { Axis } from './axes.ts'
import type { Attribute, Constant, Graph, Node } from './builder.ts'
import type { LayerSpec } from './model-spec.ts'

/** A value by name: of the forward graph, or of the backward nodes. */
export type Id = string

export interface Emitter {
  readonly nodes: Node[]
  readonly constants: Constant[]
  readonly layer: LayerSpec | null
  axes(id: Id): readonly Axis[]
  /** Makes an input of the backward graph known. */
  declare(id: Id, axes: readonly Axis[]): void
  /** The whole numbers of a forward constant (a shape, sizes), or null. */
  intsOf(id: Id): readonly number[] | null
  /** One node with one output. */
  op(op: string, inputs: readonly Id[], axes: readonly Axis[], options?: EmitOptions): Id
  ints(values: readonly number[]): Id
  float(value: number): Id
}

export interface EmitOptions {
  readonly domain?: 'com.microsoft'
  readonly attributes?: Readonly<Record<string, Attribute>>
}

/** Gradients of a node's inputs from those of its outputs: one entry per input, null where none flows. */
export type Rule = (e: Emitter, node: Node, grads: readonly (Id | null)[]) => (Id | null)[]

/** An emitter over a forward graph. */
export function createEmitter(graph: Graph, layer: LayerSpec | null): Emitter {
  const nodes: Node[] = []
  const constants: Constant[] = []
  const axes = new Map<string, readonly Axis[]>(graph.axes)
  const byId = new Map(graph.constants.map((constant) => [constant.id, constant]))
  const floats = new Map<number, Id>()
  let counter = 0
  const constant = (dtype: Constant['dtype'], shape: readonly number[], data: Constant['data']): Id => {
    const id = `gc_${counter++}`
    constants.push({ id, dtype, shape, data })
    axes.set(id, shape.length === 0 ? [] : ['one'])
    return id
  }
  return {
    nodes,
    constants,
    layer,
    axes: (id) => axes.get(id) ?? [],
    declare: (id, its) => axes.set(id, its),
    intsOf(id) {
      const found = byId.get(id)
      return found?.dtype === 'i64' ? Array.from(found.data as BigInt64Array, Number) : null
    },
    op(op, inputs, outAxes, options) {
      const id = `g_${counter++}`
      axes.set(id, outAxes)
      nodes.push({
        op,
        domain: options?.domain ?? '',
        inputs,
        outputs: [id],
        attributes: options?.attributes ?? {},
      })
      return id
    },
    ints: (values) => constant('i64', [values.length], BigInt64Array.from(values, BigInt)),
    float(value) {
      const known = floats.get(value) ?? constant('f32', [1], Float32Array.of(value))
      floats.set(value, known)
      return known
    },
  }
}

/** Sum over the last axis, kept. */
export function sumLast(e: Emitter, x: Id): Id {
  return e.op('ReduceSum', [x, e.ints([-1])], [...e.axes(x).slice(0, -1), 'one'])
}

/** Mean over the last axis, kept. */
export function meanLast(e: Emitter, x: Id): Id {
  return e.op('ReduceMean', [x, e.ints([-1])], [...e.axes(x).slice(0, -1), 'one'])
}

/** Elementwise with broadcasting; the axes are the first's. */
export function mul(e: Emitter, a: Id, b: Id): Id {
  return e.op('Mul', [a, b], e.axes(a))
}

/** a + b, of equal shapes. */
export function add(e: Emitter, a: Id, b: Id): Id {
  return e.op('Add', [a, b], e.axes(a))
}

/** a - b, of equal shapes. */
export function sub(e: Emitter, a: Id, b: Id): Id {
  return e.op('Sub', [a, b], e.axes(a))
}

/** A gradient summed over the axes that its value broadcasts along (axes of size one). */
export function sumToShape(e: Emitter, grad: Id, value: Id): Id {
  const from = e.axes(grad)
  const to = e.axes(value)
  if (from.length !== to.length) return grad
  const summed = to.flatMap((axis, i) => (axis === 'one' && from[i] !== 'one' ? [i] : []))
  return summed.length === 0 ? grad : e.op('ReduceSum', [grad, e.ints(summed)], to)
}
