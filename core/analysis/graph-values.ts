/**
 * Values of a block's graph that are no hooks: effective weights as the family's own graph computes them. In: a graph.
 * Out: the same graph with more results. Reading them off the graph keeps every family's layout, fused projections
 * and folded constants in one place, the family file.
 */

import { HeadscopeError } from '../errors.ts'
import type { Graph, Node } from '../graph/builder.ts'

/** The node that makes a value, looking through hooks; null for inputs, weights and constants. */
export function producerOf(graph: Graph, id: string): Node | null {
  const node = graph.nodes.find((candidate) => candidate.outputs.includes(id))
  if (!node) return null
  return node.domain === 'hook' ? producerOf(graph, node.inputs[0]!) : node
}

/** The value under its first name, before any hook. */
export function unhooked(graph: Graph, id: string): string {
  const node = graph.nodes.find((candidate) => candidate.domain === 'hook' && candidate.outputs[0] === id)
  return node ? unhooked(graph, node.inputs[0]!) : id
}

/** Walks up first inputs from a value to the nearest node for which `found` holds. Throws `internal` without one. */
export function ancestor(graph: Graph, id: string, found: (node: Node) => boolean): Node {
  let node = producerOf(graph, id)
  while (node && !found(node)) node = producerOf(graph, node.inputs[0]!)
  if (!node) throw new HeadscopeError('internal', `${id} has no such ancestor in this graph.`)
  return node
}

/** The input of the hook of this full name. Throws `internal` where the graph lacks it. */
export function hookInput(graph: Graph, name: string): string {
  const site = graph.hooks.find((hook) => hook.name === name)
  if (!site) throw new HeadscopeError('internal', `${name} is not a hook of this graph.`)
  return site.input
}

/** Which of a block's attentions: its own, or the one with which a decoder reads its encoder's text. */
export type AttentionKind = 'attn' | 'cross_attn'

/** The hook of a block's graph with this name inside its block, whatever stands before it (`attn.hook_z`). Throws `internal`. */
export function localHook(graph: Graph, local: string): string {
  const site = graph.hooks.find((hook) => hook.name.endsWith(`.${local}`))
  if (!site) throw new HeadscopeError('internal', `${local} is not a hook of this block.`)
  return site.name
}

/** The graph with these values as results, by name. */
export function withResults(graph: Graph, results: Readonly<Record<string, string>>): Graph {
  return { ...graph, results: new Map([...graph.results, ...Object.entries(results)]) }
}

const PRODUCTS = new Set(['MatMul', 'FusedMatMul'])

/** A product with a weight: the node whose second input is a tensor of the checkpoint. */
export function isWeightProduct(graph: Graph): (node: Node) => boolean {
  const weights = new Set(graph.weights.map((weight) => weight.id))
  return (node) => PRODUCTS.has(node.op) && weights.has(node.inputs[1]!)
}
