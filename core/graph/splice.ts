/**
 * Graph + edits → graph. An edit slot takes the seat of a hook node; what it does is data fed at run time
 * (`edit.<n>.…`), so that one session serves every edit of the same kind at the same hook. A no-op edit leaves
 * every bit as it was: nothing else in the graph changes.
 */
import { HeadscopeError } from '../errors.ts'
import type { Graph, InputDecl, Node } from './builder.ts'

/**
 * One replaced hook. Inputs broadcast against the hook's value:
 *   scale  value · `edit.n.value`
 *   add    value + `edit.n.value`
 *   set    `edit.n.value` where `edit.n.mask`, else value
 */
export interface EditSlot {
  readonly hook: string
  readonly kind: 'scale' | 'add' | 'set'
}

/** Name of a slot's input. */
export function slotInput(slot: number, part: 'value' | 'mask'): string {
  return `edit.${slot}.${part}`
}

/** The graph in which the slots are computed, in their order, where their hooks stand. */
export function splice(graph: Graph, slots: readonly EditSlot[]): Graph {
  if (slots.length === 0) return graph
  const inputs: InputDecl[] = [...graph.inputs]
  const axes = new Map(graph.axes)
  const bySite = new Map<string, Node[]>()
  slots.forEach((slot, n) => {
    const site = graph.hooks.find((hook) => hook.name === slot.hook)
    if (!site) throw new HeadscopeError('internal', `${slot.hook} is not a hook of this graph.`)
    const rank = site.axes.length
    const value = slotInput(n, 'value')
    inputs.push({ name: value, dtype: 'f32', rank })
    axes.set(value, site.axes)
    const chain = bySite.get(slot.hook) ?? []
    const before = chain.at(-1)?.outputs[0] ?? site.input
    const after = `${slotInput(n, 'value')}.out`
    axes.set(after, site.axes)
    if (slot.kind === 'set') {
      const mask = slotInput(n, 'mask')
      inputs.push({ name: mask, dtype: 'bool', rank })
      chain.push(plain('Where', [mask, value, before], after))
    } else {
      chain.push(plain(slot.kind === 'scale' ? 'Mul' : 'Add', [before, value], after))
    }
    bySite.set(slot.hook, chain)
  })
  const nodes = graph.nodes.flatMap((node) => {
    const chain = node.domain === 'hook' ? bySite.get(node.op) : undefined
    return chain ? [...chain, { ...node, inputs: [chain.at(-1)!.outputs[0]!] }] : [node]
  })
  return { ...graph, inputs, nodes, axes }
}

// --- Internal helpers ---

function plain(op: string, inputs: string[], output: string): Node {
  return { op, domain: '', inputs, outputs: [output], attributes: {} }
}
