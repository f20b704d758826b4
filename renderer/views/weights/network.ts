/**
 * Composition of all heads as a layered network. In: all pairs of one kind, what random matrices give, the room. Out: the
 * pairs that are drawn, boxes of heads (the lowest layer at the bottom) and curves between them, in pixels. Pure.
 */
import type { CompositionCell } from '../../../core/analysis/composition.ts'
import { type HeadId, sameHead } from '../../state/selection.ts'

export interface NetworkEdge {
  readonly from: HeadId
  readonly to: HeadId
  readonly value: number
  /** Over what random matrices give: an edge begins there. */
  readonly over: number
}

export interface NetworkEdges {
  /** The strongest of all, and those of the chosen head; the weakest first, so that strong ones lie above. */
  readonly edges: readonly NetworkEdge[]
  /** Pairs above random, of all pairs that have a value. */
  readonly above: number
  readonly pairs: number
}

/** Drawn of all pairs, and of those of the chosen head. */
const MOST = 60
const OWN = 12

export function networkEdges(
  cells: readonly CompositionCell[],
  baseline: number,
  chosen: HeadId,
): NetworkEdges {
  const all = strongest(MOST)
  const own = strongest(OWN)
  let above = 0
  let pairs = 0
  for (const { from, to, value } of cells) {
    if (value === null) continue
    pairs++
    const over = value - baseline
    if (over <= 0) continue
    above++
    all.add(over, () => ({ from, to, value, over }))
    if (sameHead(from, chosen) || sameHead(to, chosen)) own.add(over, () => ({ from, to, value, over }))
  }
  const known = new Set(all.list.map(edgeKey))
  const edges = [...all.list, ...own.list.filter((edge) => !known.has(edgeKey(edge)))]
  return { edges: edges.sort((a, b) => a.over - b.over), above, pairs }
}

export function edgeKey({ from, to }: Pick<NetworkEdge, 'from' | 'to'>): string {
  return `${from.layer}.${from.head}>${to.layer}.${to.head}`
}

export interface NetworkLayout {
  readonly width: number
  readonly height: number
  /** Of one head's box. */
  readonly box: { readonly width: number; readonly height: number }
  readonly left: (head: number) => number
  readonly top: (layer: number) => number
  /** The head at a point, or null beside them. */
  readonly at: (x: number, y: number) => HeadId | null
}

const GUTTER = 34
const LEAST_ROW = 20

export function networkLayout(
  { layers, heads }: { readonly layers: number; readonly heads: number },
  room: { readonly width: number; readonly height: number },
): NetworkLayout {
  const pitch = Math.max(6, (room.width - GUTTER - 4) / heads)
  const row = Math.max(LEAST_ROW, room.height / layers)
  const box = { width: Math.min(52, pitch - 3), height: Math.min(22, row * 0.55) }
  const left = (head: number) => GUTTER + pitch * head + (pitch - box.width) / 2
  const top = (layer: number) => row * (layers - 1 - layer) + (row - box.height) / 2
  return {
    width: GUTTER + pitch * heads + 4,
    height: row * layers,
    box,
    left,
    top,
    at(x, y) {
      const head = Math.floor((x - GUTTER) / pitch)
      const layer = layers - 1 - Math.floor(y / row)
      return head >= 0 && head < heads && layer >= 0 && layer < layers ? { layer, head } : null
    },
  }
}

/** From the top of the earlier head to the bottom of the later one, as an SVG path. */
export function networkCurve(
  { left, top, box }: NetworkLayout,
  { from, to }: Pick<NetworkEdge, 'from' | 'to'>,
): string {
  const [x0, y0] = [left(from.head) + box.width / 2, top(from.layer)]
  const [x1, y1] = [left(to.head) + box.width / 2, top(to.layer) + box.height]
  const bend = Math.max(8, (y0 - y1) * 0.45)
  const n = (value: number) => Math.round(value * 10) / 10
  return `M${n(x0)} ${n(y0)}C${n(x0)} ${n(y0 - bend)} ${n(x1)} ${n(y1 + bend)} ${n(x1)} ${n(y1)}`
}

/** Width of an edge: nothing at random, widest for the strongest. */
export function edgeWidth(over: number, most: number): number {
  return most === 0 ? 0 : 0.6 + (6.4 * over) / most
}

// --- Internal helpers ---

/** Keeps the largest few without sorting all: a model of a thousand heads has a million pairs. */
function strongest(most: number) {
  const list: NetworkEdge[] = []
  return {
    list,
    add(over: number, make: () => NetworkEdge) {
      if (list.length === most && over <= list[most - 1]!.over) return
      let at = list.length
      while (at > 0 && list[at - 1]!.over < over) at--
      list.splice(at, 0, make())
      if (list.length > most) list.pop()
    },
  }
}
