/**
 * Where the parts of a circuit stand. In: the model's shape, the room, the layers that matter. Out: boxes of nodes and of
 * their ports, and curves between them, in pixels; the embedding (and the source) at the bottom, the logits at the top. Pure.
 */
import type { Shape } from './circuit.ts'

export interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface GraphNode extends Box {
  /** A sender's name; `logits` is none. */
  readonly name: string
  readonly layer: number
  readonly head: number | null
  /** A dot: its layer plays no part yet. */
  readonly small: boolean
  /** q, k, v of a head that has room for them. */
  readonly ports: readonly (Box & { readonly name: string; readonly part: 'q' | 'k' | 'v' })[]
}

export interface Layout {
  readonly width: number
  readonly height: number
  readonly nodes: ReadonlyMap<string, GraphNode>
  /** Middle of each row, with its name: a layer's heads, and its heads over the source above them. */
  readonly rows: readonly { readonly name: string; readonly y: number }[]
}

export interface Room {
  readonly width: number
  readonly height: number
}

const GUTTER = 34
/** Names of rows over the source are longer. */
const WIDE_GUTTER = 46
const NODE = { height: 38, most: 66, least: 15, port: 15 }
const DOT = 12
const END = 26
/** Narrower columns have no room for three ports. */
const PORTS_FROM = 40

/** `open`: layers that are drawn in full where not all of them fit. */
export function layoutOf(shape: Shape, room: Room, open: ReadonlySet<number>): Layout {
  const columns = shape.heads + 1
  const gutter = shape.cross ? WIDE_GUTTER : GUTTER
  const pitch = Math.min(NODE.most + 12, Math.max(NODE.least + 3, (room.width - gutter) / columns))
  const width = Math.max(room.width, gutter + pitch * columns)
  const left = gutter + Math.max(0, (room.width - gutter - pitch * columns) / 2)
  // From below: a block looks at its own text, then at the source, then its MLP reads.
  const rowsIn = Array.from({ length: shape.layers }, (_, layer) =>
    shape.cross
      ? [
          { layer, cross: false, last: false },
          { layer, cross: true, last: true },
        ]
      : [{ layer, cross: false, last: true }],
  ).flat()
  const fits = rowsIn.length * (NODE.height + 30) + 2 * (END + 30) <= room.height
  const isOpen = (layer: number) => fits || open.has(layer)
  const heights = rowsIn.map(({ layer }) => (isOpen(layer) ? NODE.height : DOT))
  const least: number[] = heights.map((height) => (height === DOT ? 5 : 30))
  const fixed = heights.reduce((sum, one) => sum + one, 0) + 2 * END + 8
  const gaps = least.reduce((sum, one) => sum + one, 30)
  const stretch = Math.max(1, (room.height - fixed) / gaps)
  const height = Math.max(room.height, fixed + gaps * stretch)

  const nodes = new Map<string, GraphNode>()
  const rows: { name: string; y: number }[] = []
  const inner = pitch * columns
  const end = (name: string, y: number, layer: number, share = 0.5): GraphNode => {
    const wide = Math.min(220, share === 0.5 ? inner : inner / 2 - 8)
    return {
      name,
      layer,
      head: null,
      small: false,
      ports: [],
      x: left + inner * share - wide / 2,
      y,
      width: wide,
      height: END,
    }
  }
  let y = height - END - 4
  nodes.set('embed', end('embed', y, -1, shape.cross ? 0.25 : 0.5))
  if (shape.cross) nodes.set('source', end('source', y, -1, 0.75))
  rowsIn.forEach(({ layer, cross, last }, row) => {
    const own = heights[row]!
    y -= own + least[row]! * stretch
    const small = own === DOT
    rows.push({ name: `L${layer}${cross ? ' src' : ''}`, y: y + own / 2 })
    for (let column = 0; column < (last ? columns : shape.heads); column++) {
      const head = column < shape.heads ? column : null
      const name = head === null ? `L${layer}.mlp` : `L${layer}H${head}${cross ? '.cross' : ''}`
      const wide = small ? Math.min(DOT, pitch - 3) : Math.min(NODE.most, pitch - 4)
      const x = left + pitch * column + (pitch - wide) / 2
      // An MLP reads what the heads of its block wrote: it stands a little above them.
      const above = (least[row + 1] ?? 30) * stretch
      const raised = head === null && !small && !shape.parallel ? Math.min(12, above / 3) : 0
      nodes.set(name, {
        name,
        layer,
        head,
        small,
        x,
        y: y - raised,
        width: wide,
        height: own,
        ports: head === null || small || pitch < PORTS_FROM ? [] : portsOf(name, x, y, wide),
      })
    }
  })
  nodes.set('logits', end('logits', 4, shape.layers))
  return { width, height, nodes, rows }
}

export interface Curve {
  /** Of an SVG path. */
  readonly path: string
  readonly at: (t: number) => { readonly x: number; readonly y: number }
}

/** The curve of an edge: from the top of its sender to the bottom of its receiver. null where an end is not drawn. */
export function curveOf({ nodes }: Layout, from: string, to: string): Curve | null {
  const sender = nodes.get(from)
  const [node, part] = /\.[qkv]$/.test(to) ? [to.slice(0, -2), to.slice(-1)] : [to, null]
  const receiver = nodes.get(node)
  if (!sender || !receiver) return null
  const port = receiver.ports.find((one) => one.part === part)
  // Edges of one sender into q, k and v leave side by side; without ports they arrive so too.
  const share = part === null ? 0.5 : { q: 0.25, k: 0.5, v: 0.75 }[part]!
  const a = { x: sender.x + sender.width * (0.25 + share / 2), y: sender.y }
  const b = port
    ? { x: port.x + port.width / 2, y: port.y + port.height }
    : { x: receiver.x + receiver.width * share, y: receiver.y + receiver.height }
  const bend = Math.max(14, Math.abs(a.y - b.y) * 0.45)
  const [c, d] = [
    { x: a.x, y: a.y - bend },
    { x: b.x, y: b.y + bend },
  ]
  const mix = (t: number, axis: 'x' | 'y') => {
    const u = 1 - t
    return u * u * u * a[axis] + 3 * u * u * t * c[axis] + 3 * u * t * t * d[axis] + t * t * t * b[axis]
  }
  const n = (value: number) => Math.round(value * 10) / 10
  return {
    path: `M${n(a.x)} ${n(a.y)}C${n(c.x)} ${n(c.y)} ${n(d.x)} ${n(d.y)} ${n(b.x)} ${n(b.y)}`,
    at: (t) => ({ x: mix(t, 'x'), y: mix(t, 'y') }),
  }
}

type Spot = ReturnType<Curve['at']>

/** Along a curve, from its middle outwards. */
const ALONG = Array.from({ length: 21 }, (_, i) => 0.5 + ((i % 2 ? 1 : -1) * Math.ceil(i / 2) * 0.42) / 10)

/** Places for the numbers of curves where they cover neither each other nor a node, as far as there is room. */
export function placeLabels(
  curves: readonly Curve[],
  size: Room,
  nodes: Iterable<Box> = [],
): readonly Spot[] {
  const boxes = [...nodes]
  const taken: Spot[] = []
  const apart = (spot: Spot) =>
    taken.every(
      (other) => Math.abs(other.x - spot.x) >= size.width || Math.abs(other.y - spot.y) >= size.height,
    )
  const clear = (spot: Spot) =>
    boxes.every(
      ({ x, y, width, height }) =>
        Math.abs(x + width / 2 - spot.x) >= (width + size.width) / 2 ||
        Math.abs(y + height / 2 - spot.y) >= (height + size.height) / 2,
    )
  for (const curve of curves) {
    const spots = ALONG.map(curve.at)
    taken.push(spots.find((spot) => apart(spot) && clear(spot)) ?? spots.find(apart) ?? spots[0]!)
  }
  return taken
}

// --- Internal helpers ---

function portsOf(name: string, x: number, y: number, width: number): GraphNode['ports'] {
  return (['q', 'k', 'v'] as const).map((part, i) => ({
    name: `${name}.${part}`,
    part,
    x: x + (width * i) / 3,
    y: y + NODE.height - NODE.port,
    width: width / 3,
    height: NODE.port,
  }))
}
