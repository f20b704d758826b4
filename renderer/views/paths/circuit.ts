/**
 * A circuit as it is built: edges by the names of their ends, and the receiver that is looked at. In: texts of the address.
 * Out: plain lists, and what can still be joined. Pure.
 */

import type { OpenedModel } from '../../../core/api/contract.ts'
import type { PathCell } from '../../../core/intervene/path.ts'
import {
  type PathEdge,
  type Receiver,
  reaches,
  readReceiver,
  readSender,
  type Sender,
} from '../../../core/intervene/path-names.ts'

/** What of a model the graph shows. */
export interface Shape {
  readonly layers: number
  readonly heads: number
  /** The decoder looks at an encoder's text: it has heads over the source. */
  readonly cross: boolean
  /** The source sends too: the prompts have two, of one length. */
  readonly source: boolean
  /** Attention and MLP of one block read the same residual. */
  readonly parallel: boolean
  /** MLPs that have one input to replace: not mixtures of experts. */
  readonly mlpReceives: boolean
}

/** What of an open model the graph shows. `source`: whether the prompts have two sources of one length. */
export function shapeOf({ spec, hooks }: OpenedModel, source = false): Shape {
  return {
    layers: spec.n_layers,
    heads: spec.n_heads,
    cross: spec.encoder !== undefined,
    source,
    parallel: spec.parallel,
    mlpReceives: hooks.some(({ name }) => name === 'blocks.0.mlp.hook_pre'),
  }
}

/** Whether this model has a place. */
export function placeExists(place: string, { layers, heads, cross }: Shape): boolean {
  const all = receiversOf(place)
  return (
    all.length > 0 &&
    all.every(
      (one) =>
        one.part === 'logits' || (one.layer < layers && (one.head ?? 0) < heads && (cross || !one.cross)),
    )
  )
}

/** Whether two lists have the same edges. */
export function sameCircuit(one: readonly PathEdge[], other: readonly PathEdge[]): boolean {
  const names = new Set(one.map(edgeName))
  return names.size === other.length && other.every((edge) => names.has(edgeName(edge)))
}

export const edgeName = ({ from, to }: PathEdge) => `${from}:${to}`

export function formatEdges(edges: readonly PathEdge[]): string {
  return edges.map(edgeName).join(',')
}

/** Edges of a text, each once; what is no edge of this model is left out. */
export function parseEdges(text: string, shape: Shape): PathEdge[] {
  const found = new Map<string, PathEdge>()
  for (const part of text.split(',')) {
    const [from = '', to = ''] = part.split(':')
    const [sender, receiver] = [readSender(from), readReceiver(to)]
    if (sender && receiver && joins(sender, receiver, shape)) found.set(part, { from, to })
  }
  return [...found.values()]
}

/** Whether both ends exist and the receiver is computed after the sender. */
export function joins(sender: Sender, receiver: Receiver, shape: Shape): boolean {
  const exists = ({ layer, head }: Sender | Receiver) =>
    layer < shape.layers && (head === null || head < shape.heads)
  const reads = sender.part === 'cross' || sender.part === 'source' || receiver.cross
  return (
    exists(sender) &&
    (shape.cross || !reads) &&
    (shape.source || sender.part !== 'source') &&
    (receiver.part === 'logits' || exists(receiver)) &&
    (receiver.part !== 'mlp' || shape.mlpReceives) &&
    reaches(sender, receiver, shape.parallel)
  )
}

/** Receivers that a place stands for: a head is its q, k and v. */
export function receiversOf(place: string): Receiver[] {
  const one = readReceiver(place)
  if (one) return [one]
  return ['q', 'k', 'v'].map((part) => readReceiver(`${place}.${part}`)).filter((found) => found !== null)
}

/** The node that an end belongs to: `L1H3` of `L1H3.k`. */
export function nodeOf(name: string): string {
  return name.replace(/\.[qkv]$/, '')
}

/** Every sender of the model, the lowest first. */
export function sendersOf({ layers, heads, cross, source }: Shape): Sender[] {
  const names = Array.from({ length: layers }, (_, layer) => {
    const own = Array.from({ length: heads }, (_, head) => `L${layer}H${head}`)
    return [...own, ...(cross ? own.map((name) => `${name}.cross`) : []), `L${layer}.mlp`]
  })
  return ['embed', ...(source ? ['source'] : []), ...names.flat()].map((name) => readSender(name)!)
}

/** How many edges lead into a place. */
export function countInto(place: string, shape: Shape): number {
  const receivers = receiversOf(place)
  return sendersOf(shape).reduce(
    (sum, sender) => sum + receivers.filter((receiver) => joins(sender, receiver, shape)).length,
    0,
  )
}

/** A sender's edges into a place, added where one is missing, else taken out. */
export function toggled(edges: readonly PathEdge[], from: string, place: string, shape: Shape): PathEdge[] {
  const sender = readSender(from)
  const own = receiversOf(place)
    .filter((receiver) => sender && joins(sender, receiver, shape))
    .map(({ name }) => ({ from, to: name }))
  const names = new Set(own.map(edgeName))
  const there = new Set(edges.map(edgeName))
  if (own.every((edge) => there.has(edgeName(edge))))
    return edges.filter((edge) => !names.has(edgeName(edge)))
  return [...edges, ...own.filter((edge) => !there.has(edgeName(edge)))]
}

/** Known effects into a place, the largest first. */
export function ranked(place: string, effects: ReadonlyMap<string, PathCell>): PathCell[] {
  const to = new Set(receiversOf(place).map(({ name }) => name))
  return [...effects.values()]
    .filter((cell) => to.has(cell.to) && cell.delta !== null)
    .sort((a, b) => Math.abs(b.delta!) - Math.abs(a.delta!) || a.from.localeCompare(b.from))
}

/** Nodes that speak in the circuit but hear nothing in it: where it goes on. */
export function openEnds(edges: readonly PathEdge[]): string[] {
  const hear = new Set(edges.map(({ to }) => nodeOf(to)))
  return [...new Set(edges.map(({ from }) => from))].filter(
    (node) => node !== 'embed' && node !== 'source' && !hear.has(node),
  )
}

/** “L0H2 → L1H7 keys”. */
export function describeEnd(name: string): string {
  const part = /\.([qkv])$/.exec(name)?.[1] as 'q' | 'k' | 'v' | undefined
  if (name === 'embed') return 'embedding'
  if (!part) return name.replace('.mlp', ' MLP').replace('.cross', ' cross')
  return `${describeEnd(nodeOf(name))} ${{ q: 'queries', k: 'keys', v: 'values' }[part]}`
}
