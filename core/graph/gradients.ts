/**
 * Reverse-mode differentiation of the builder's own operations. In: a forward graph (edits spliced in). Out: the same
 * graph with backward nodes behind it: from the gradients of its results, fed as inputs `grad.<result>`, to the
 * gradients at hooks (`grad.<hook>`) and inputs. Nothing is computed here; weights are frozen.
 *
 * The gradient at a hook is that of what follows it: after an edit. An edit that sets a value passes none.
 */
import { HeadscopeError } from '../errors.ts'
import type { Graph, Node } from './builder.ts'
import { add, createEmitter, type Id, type Rule } from './gradient-emitter.ts'
import { ELEMENTWISE } from './gradient-rules-elementwise.ts'
import { LINEAR } from './gradient-rules-linear.ts'
import type { LayerSpec } from './model-spec.ts'

const RULES = new Map<string, Rule>([...Object.entries(ELEMENTWISE), ...Object.entries(LINEAR)])

/** Operations whose outputs are counts, places or shapes: nothing flows back through them. */
const STOPS = new Set(['Shape', 'NonZero', 'Cast', 'TopK', 'ConstantOfShape', 'Greater', 'Less', 'And'])

/** Name of the gradient of a hook, a result or an input. */
export function gradName(name: string): string {
  return `grad.${name}`
}

/** Name under which a forward value is handed to the backward pass. */
export function savedName(id: string): string {
  return `save.${id}`
}

export interface Differentiated {
  /** Forward and backward nodes; `results` has every gradient by `gradName`. */
  readonly graph: Graph
  /** Hooks that the results depend on; the others have gradient 0. */
  readonly reached: ReadonlySet<string>
}

/**
 * Backward nodes for the gradients of `seeds` (result names, whose gradients are inputs) at the hooks and at the
 * `inputs`. Throws `internal` for an operation without a rule.
 */
export function differentiate(
  graph: Graph,
  layer: LayerSpec | null,
  seeds: readonly string[],
  inputs: readonly string[],
): Differentiated {
  const e = createEmitter(graph, layer)
  const active = dependents(graph, inputs)
  const grads = new Map<Id, Id[]>()
  const give = (id: Id, grad: Id | null) => {
    if (grad !== null && active.has(id)) grads.set(id, [...(grads.get(id) ?? []), grad])
  }
  const total = (id: Id): Id | null => {
    const parts = grads.get(id)
    return parts ? parts.reduce((sum, part) => add(e, sum, part)) : null
  }
  const seedInputs = seeds.map((seed) => {
    const id = graph.results.get(seed)!
    e.declare(gradName(seed), graph.axes.get(id)!)
    give(id, gradName(seed))
    return { name: gradName(seed), dtype: 'f32' as const, rank: graph.axes.get(id)!.length }
  })
  const results = new Map(graph.results)
  const reached = new Set<string>()
  for (const node of [...graph.nodes].reverse()) {
    const outs = node.outputs.map((output) => (output === '' ? null : total(output)))
    if (outs.every((grad) => grad === null)) continue
    if (node.domain === 'hook') {
      results.set(gradName(node.op), outs[0]!)
      reached.add(node.op)
      give(node.inputs[0]!, outs[0]!)
      continue
    }
    if (!node.inputs.some((input) => active.has(input))) continue
    const rule = RULES.get(node.op)
    if (!rule) throw new HeadscopeError('internal', `The operation ${node.op} has no gradient rule.`)
    rule(e, node, outs).forEach((grad, i) => {
      give(node.inputs[i]!, grad)
    })
  }
  for (const input of inputs) {
    const grad = total(input)
    if (grad) results.set(gradName(input), grad)
  }
  return {
    graph: {
      ...graph,
      inputs: [...graph.inputs, ...seedInputs],
      constants: [...graph.constants, ...e.constants],
      nodes: [...graph.nodes, ...e.nodes],
      results,
    },
    reached,
  }
}

/**
 * The backward half alone: forward values that it reads become inputs `save.<id>`. Also says which they are, so that
 * the forward pass hands them out (as results of the same names). Places and shapes are worked out anew from saved
 * values: only float values are saved.
 */
export function onSaved(
  forward: Graph,
  both: Graph,
  wanted: readonly string[],
): { graph: Graph; saved: string[] } {
  const made = new Set(forward.nodes.flatMap((node) => node.outputs))
  const source = hookSources(forward)
  const whole = wholeNumbers(forward)
  const live = new Set(wanted.map((name) => both.results.get(name)!))
  const saved = new Set<string>()
  const kept: Node[] = []
  for (let i = both.nodes.length - 1; i >= 0; i--) {
    const node = both.nodes[i]!
    const again = i < forward.nodes.length
    if (again && (node.domain === 'hook' || !node.outputs.some((output) => whole.has(output)))) continue
    if (!node.outputs.some((output) => live.has(output))) continue
    const inputs = node.inputs.map((input) => {
      const id = source.get(input) ?? input
      live.add(id)
      if (!made.has(id) || whole.has(id)) return id
      saved.add(id)
      return savedName(id)
    })
    kept.unshift({ ...node, inputs })
  }
  const inputs = [...saved].map((id) => ({
    name: savedName(id),
    dtype: 'f32' as const,
    rank: forward.axes.get(id)!.length,
  }))
  return { graph: { ...both, inputs: [...both.inputs, ...inputs], nodes: kept }, saved: [...saved] }
}

/** The forward graph with the saved values as results. */
export function withSaved(forward: Graph, saved: readonly string[]): Graph {
  return {
    ...forward,
    results: new Map([...forward.results, ...saved.map((id) => [savedName(id), id] as const)]),
  }
}

// --- Internal helpers ---

/** The value that a hook names: one tensor is saved once, under its own name. */
function hookSources(graph: Graph): Map<Id, Id> {
  const source = new Map<Id, Id>()
  for (const node of graph.nodes) {
    if (node.domain !== 'hook') continue
    const input = node.inputs[0]!
    source.set(node.outputs[0]!, source.get(input) ?? input)
  }
  return source
}

const INT64 = 7n

/** Values that are places, counts or shapes. */
function wholeNumbers(graph: Graph): Set<Id> {
  const whole = new Set(
    graph.constants.filter((constant) => constant.dtype === 'i64').map((constant) => constant.id),
  )
  const passed = new Set(['Reshape', 'Gather', 'Unsqueeze', 'Identity', 'Concat', 'Slice'])
  for (const node of graph.nodes) {
    if (node.op === 'Shape' || node.op === 'NonZero' || (node.op === 'Cast' && node.attributes.to === INT64))
      whole.add(node.outputs[0]!)
    else if (node.op === 'TopK') whole.add(node.outputs[1]!)
    else if (node.domain !== 'hook' && passed.has(node.op) && whole.has(node.inputs[0]!))
      whole.add(node.outputs[0]!)
  }
  return whole
}

/** Values that depend on the inputs, through operations that gradients pass. */
function dependents(graph: Graph, inputs: readonly string[]): Set<string> {
  const active = new Set(inputs)
  for (const node of graph.nodes) {
    if (STOPS.has(node.op) && node.domain !== 'hook') continue
    if (node.inputs.some((input) => active.has(input))) for (const output of node.outputs) active.add(output)
  }
  return active
}
