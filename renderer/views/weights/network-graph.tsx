/** All heads as a layered network: an edge is as wide as its pair composes more than random matrices do. A click selects a head. */
import { useMemo, useState } from 'react'
import { preciseWeight, signedWeight } from '../../state/format.ts'
import { type HeadId, headName, sameHead } from '../../state/selection.ts'
import { select } from '../../state/store.ts'
import { useSize } from '../../ui/use-size.ts'
import { edgeKey, edgeWidth, type NetworkEdge, networkCurve, networkLayout } from './network.ts'

interface Props {
  readonly label: string
  readonly shape: { readonly layers: number; readonly heads: number }
  readonly edges: readonly NetworkEdge[]
  readonly head: HeadId
}

/** Narrower boxes have no room for a name. */
const NAMED_FROM = 22
const FEW = 400

export function NetworkGraph({ label, shape, edges, head }: Props) {
  const [measure, room] = useSize<HTMLDivElement>()
  const [over, setOver] = useState<string | null>(null)
  const layout = useMemo(() => networkLayout(shape, room), [shape, room])
  const most = edges.at(-1)?.over ?? 0
  const ends = useMemo(
    () => new Set(edges.flatMap(({ from, to }) => [headName(from), headName(to)])),
    [edges],
  )
  const { box, left, top } = layout
  const few = shape.layers * shape.heads <= FEW
  const all = useMemo(() => {
    const boxes: string[] = []
    for (let layer = 0; layer < shape.layers; layer++)
      for (let i = 0; i < shape.heads; i++)
        boxes.push(`M${left(i)} ${top(layer)}h${box.width}v${box.height}h${-box.width}z`)
    return boxes.join('')
  }, [shape, left, top, box])
  return (
    <div className="path-graph" ref={measure}>
      {room.width > 0 && (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the list beside it and the arrow keys do the same
        <svg
          className="path-edges composition-network"
          role="img"
          aria-label={`${label}; the list beside it has the numbers`}
          width={layout.width}
          height={layout.height}
          onClick={(event) => {
            const sheet = event.currentTarget.getBoundingClientRect()
            const at = layout.at(event.clientX - sheet.left, event.clientY - sheet.top)
            if (at) select({ head: at })
          }}
        >
          <path className="network-heads" d={all} />
          {Array.from({ length: shape.layers }, (_, layer) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a layer is its number
            <text key={layer} className="network-name is-layer" x={0} y={top(layer) + box.height / 2}>
              L{layer}
            </text>
          ))}
          {edges.map((edge) => {
            const key = edgeKey(edge)
            const own = sameHead(edge.from, head) || sameHead(edge.to, head)
            return (
              <g key={key} onPointerEnter={() => setOver(key)} onPointerLeave={() => setOver(null)}>
                <title>{pairText(edge)}</title>
                <path className="path-reach" d={networkCurve(layout, edge)} />
                <path
                  className={`network-edge${own ? ' is-own' : ''}${over === key ? ' is-over' : ''}`}
                  d={networkCurve(layout, edge)}
                  style={{ strokeWidth: edgeWidth(edge.over, most) }}
                />
              </g>
            )
          })}
          {Array.from({ length: shape.layers * shape.heads }, (_, i) => ({
            layer: Math.floor(i / shape.heads),
            head: i % shape.heads,
          }))
            // Of very many heads only those that play a part are named.
            .filter((one) => few || sameHead(one, head) || ends.has(headName(one)))
            .map((one) => (
              <g
                key={headName(one)}
                className={
                  sameHead(one, head)
                    ? 'network-end is-selected'
                    : ends.has(headName(one))
                      ? 'network-end'
                      : 'network-end is-apart'
                }
              >
                <rect x={left(one.head)} y={top(one.layer)} rx={3} {...box} />
                {box.width >= NAMED_FROM && box.height >= 11 && (
                  <text
                    className="network-name"
                    x={left(one.head) + box.width / 2}
                    y={top(one.layer) + box.height / 2}
                  >
                    H{one.head}
                  </text>
                )}
              </g>
            ))}
        </svg>
      )}
    </div>
  )
}

/** The pairs that are drawn, the strongest first: the same by keyboard, with their numbers. */
export function NetworkList({
  edges,
  head,
  about,
  through,
}: {
  readonly edges: readonly NetworkEdge[]
  readonly head: HeadId
  /** What the numbers are, for a hint. */
  readonly about: string
  readonly through: string
}) {
  const most = edges.at(-1)?.over ?? 0
  return (
    <section className="path-circuit" aria-label="Strongest pairs">
      <h3 className="pane-title">
        Strongest pairs <span title={about}>over random, through {through}</span>
      </h3>
      <ol>
        {[...edges].reverse().map((edge) => {
          const on = sameHead(edge.from, head) || sameHead(edge.to, head)
          return (
            <li key={edgeKey(edge)}>
              <button
                type="button"
                className={on ? 'effect-line is-pair is-selected' : 'effect-line is-pair'}
                title={`${pairText(edge)}\n${about}`}
                onClick={() => select({ head: edge.to })}
              >
                <span className="head-name">
                  {headName(edge.from)} → {headName(edge.to)}
                </span>
                <span className="bar">
                  <span className="bar-fill" style={{ width: `${(edge.over / (most || 1)) * 100}%` }} />
                </span>
                <span className="number">{signedWeight(edge.over)}</span>
              </button>
            </li>
          )
        })}
      </ol>
      {edges.length === 0 && (
        <p className="muted small-text">No pair composes more than random matrices do.</p>
      )}
    </section>
  )
}

function pairText({ from, to, value, over }: NetworkEdge): string {
  return `${headName(from)} → ${headName(to)}: ${preciseWeight(value)}, ${signedWeight(over)} over random`
}
