/**
 * The model from below: embedding, heads with their q, k and v, MLPs, logits; the circuit's edges with their effects. In:
 * edges, effects, the place that is looked at. Out: a click on a port (or on a head that cannot speak to the place) looks
 * at it, a click on a node below it adds or removes its edge.
 */
import { type CSSProperties, useMemo, useState } from 'react'
import type { PathCell } from '../../../core/intervene/path.ts'
import { type PathEdge, readSender } from '../../../core/intervene/path-names.ts'
import { signedColor, signedInk } from '../../charts/color.ts'
import { signedWeight } from '../../state/format.ts'
import type { Theme } from '../../state/theme.ts'
import { useGrowing } from '../../ui/use-growing.ts'
import { useSize } from '../../ui/use-size.ts'
import { describeEnd, edgeName, joins, nodeOf, receiversOf, type Shape } from './circuit.ts'
import { type Box, curveOf, type GraphNode, layoutOf, placeLabels } from './layout.ts'

interface Props {
  readonly shape: Shape
  readonly edges: readonly PathEdge[]
  readonly effects: ReadonlyMap<string, PathCell>
  /** Largest magnitude of an effect: the two ends of the colours. */
  readonly most: number
  /** What is looked at: `L1H3`, `L1H3.k`, `L0.mlp`, `logits`. */
  readonly place: string
  readonly theme: Theme
  readonly onPlace: (place: string) => void
  readonly onToggle: (sender: string) => void
}

export function PathGraph(props: Props) {
  const { shape, edges, effects, most, place, theme } = props
  const [measure, room] = useSize<HTMLDivElement>()
  const [over, setOver] = useState<string | null>(null)
  const nodesIn = useMemo(() => new Set(edges.flatMap(({ from, to }) => [from, nodeOf(to)])), [edges])
  const layout = useMemo(() => {
    const open = [...nodesIn, nodeOf(place)].map((name) => Number(/^L(\d+)/.exec(name)?.[1] ?? -1))
    return layoutOf(shape, room, new Set(open))
  }, [shape, room, nodesIn, place])
  const nodes = useGrowing(layout.nodes.size, 500)
  const drawn = edges
    .map((edge) => ({ edge, curve: curveOf(layout, edge.from, edge.to), cell: effects.get(edgeName(edge)) }))
    .filter((one) => one.curve !== null)
    .sort((a, b) => Math.abs(a.cell?.delta ?? 0) - Math.abs(b.cell?.delta ?? 0))
  const labels = placeLabels(
    drawn.map(({ curve }) => curve!),
    { width: 46, height: 15 },
    layout.nodes.values(),
  )
  return (
    <div className="path-graph" ref={measure}>
      <div className="path-sheet" style={{ width: layout.width, height: layout.height }}>
        <svg className="path-edges" width={layout.width} height={layout.height} aria-hidden="true">
          {drawn.map(({ edge, curve, cell }) => {
            const name = edgeName(edge)
            return (
              <g key={name}>
                {/* biome-ignore lint/a11y/noStaticElementInteractions: the list of edges does the same by keyboard */}
                <path
                  className="path-reach"
                  d={curve!.path}
                  onPointerEnter={() => setOver(name)}
                  onPointerLeave={() => setOver(null)}
                  onClick={() => props.onPlace(edge.to)}
                >
                  <title>{edgeText(edge, cell)}</title>
                </path>
                <path
                  className={`path-edge${cell?.delta == null ? ' is-unknown' : ''}${over === name ? ' is-over' : ''}`}
                  d={curve!.path}
                  style={edgeStyle(cell, most, theme)}
                />
              </g>
            )
          })}
        </svg>
        {layout.rows.map(({ name, y }) => (
          <span key={name} className="path-layer" style={{ top: y }}>
            {name}
          </span>
        ))}
        {[...layout.nodes.values()].slice(0, nodes).map((node) => (
          <Node key={node.name} {...props} node={node} inCircuit={nodesIn.has(node.name)} />
        ))}
        {drawn.map(({ edge, cell }, i) =>
          cell?.delta == null ? null : (
            <span
              key={edgeName(edge)}
              className={over === edgeName(edge) ? 'path-number is-over' : 'path-number'}
              style={{ left: labels[i]!.x, top: labels[i]!.y }}
            >
              {signedWeight(cell.delta)}
            </span>
          ),
        )}
      </div>
    </div>
  )
}

/** One edge in words: what its number is, or why it has none. */
export function edgeText(edge: PathEdge, cell: PathCell | undefined): string {
  const name = `${describeEnd(edge.from)} → ${describeEnd(edge.to)}`
  if (!cell) return `${name}: not measured`
  return `${name}: ${cell.delta === null ? (cell.why ?? 'undefined') : signedWeight(cell.delta)}`
}

/** Width and colour say the same as the number. */
function edgeStyle(cell: PathCell | undefined, most: number, theme: Theme): CSSProperties {
  if (cell?.delta == null) return {}
  const t = most === 0 ? 0 : cell.delta / most
  // Both ends of the scale are near the colour of the ground or of text: a line stays between, its width says the rest.
  const shade = Math.sign(t) * (0.45 + 0.3 * Math.abs(t))
  return { strokeWidth: 1.2 + 7 * Math.abs(t), stroke: signedColor(theme, shade) }
}

interface NodeProps extends Props {
  readonly node: GraphNode
  readonly inCircuit: boolean
}

function Node({ node, shape, edges, effects, most, place, theme, inCircuit, onPlace, onToggle }: NodeProps) {
  const sender = readSender(node.name)
  const receivers = receiversOf(place)
  const heard = sender ? receivers.filter((receiver) => joins(sender, receiver, shape)) : []
  const joined = heard.filter((receiver) =>
    edges.some(({ from, to }) => from === node.name && to === receiver.name),
  )
  const cells = heard.map((receiver) => effects.get(`${node.name}:${receiver.name}`)?.delta ?? null)
  const known = cells.filter((delta) => delta !== null)
  const strongest = known.sort((a, b) => Math.abs(b) - Math.abs(a))[0]
  const speaks = heard.length > 0
  const isPlace = nodeOf(place) === node.name
  // The embedding and the source hear nothing, so that there is nothing to look at.
  const receives = node.layer >= 0 && (!node.name.endsWith('.mlp') || shape.mlpReceives)
  const t = strongest === undefined || most === 0 ? null : strongest / most
  const says = isPlace
    ? `${describeEnd(node.name)}: what leads into it is looked at`
    : speaks
      ? `${describeEnd(node.name)}${joined.length > 0 ? ': its edge is in the circuit; click takes it out' : `: click adds its edge into ${describeEnd(place)}`}${strongest === undefined ? '' : ` (${signedWeight(strongest)})`}`
      : receives
        ? `${describeEnd(node.name)}: click to look at what leads into it`
        : node.name === 'source'
          ? shape.source
            ? 'source: keys and values of the heads over it hear it'
            : 'source: it sends where the corrupt prompt has another source of the same length'
          : `${describeEnd(node.name)} comes after ${describeEnd(place)}`
  const name =
    node.head === null
      ? { embed: 'embedding', source: 'source', logits: 'logits' }[node.name]
      : `H${node.head}`
  return (
    <>
      <button
        type="button"
        className={`path-node${node.small ? ' is-small' : ''}${node.ports.length === 0 ? ' is-whole' : ''}${inCircuit ? ' is-in' : ''}${isPlace ? ' is-place' : ''}${speaks || isPlace ? '' : ' is-apart'}`}
        style={{
          ...at(node),
          ...(t === null ? {} : { background: signedColor(theme, t), color: signedInk(theme, t) }),
        }}
        aria-label={says.replace(/^L(\d+)H/, 'L$1 H') /* what is read out begins with what is written */}
        aria-pressed={joined.length > 0}
        title={says}
        disabled={!speaks && !receives}
        onClick={() => (speaks ? onToggle(node.name) : onPlace(node.name))}
      >
        {node.small ? '' : (name ?? 'MLP')}
      </button>
      {node.ports.map((port) => {
        const on = receivers.some((receiver) => receiver.name === port.name)
        const used = edges.some(({ to }) => to === port.name)
        return (
          <button
            key={port.name}
            type="button"
            className={`path-port is-${port.part}${on ? ' is-place' : ''}${used ? ' is-in' : ''}`}
            style={at(port)}
            aria-pressed={on}
            aria-label={`${port.part} of ${node.name}: look at what leads into it`}
            title={`${describeEnd(port.name)}: click to look at what leads into them`}
            onClick={() => onPlace(port.name)}
          >
            {port.part}
          </button>
        )
      })}
    </>
  )
}

function at({ x, y, width, height }: Box): CSSProperties {
  return { left: x, top: y, width, height }
}
