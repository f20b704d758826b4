/** Tokens on a line with arcs above. Hovering a token or an arc is the shared hover; a click on an arc locks its cell. */
import type { TokenView } from '../../../core/checkpoint/types.ts'
import { layoutArcs, MOST_ARCS } from '../../charts/arcs.ts'
import { visibleLabels } from '../../charts/labels.ts'
import { setHover, toggleCell, toggleQuery, useHover, useSelection } from '../../state/store.ts'
import { useGrowing } from '../../ui/use-growing.ts'
import { useSize } from '../../ui/use-size.ts'

interface Props {
  readonly tokens: readonly TokenView[]
  readonly pairs: readonly { readonly query: number; readonly target: number }[]
  readonly weights: readonly number[]
  /** For each pair: drawn as a miss. null: none is. */
  readonly misses: readonly boolean[] | null
}

const LABELS = 92

export function ArcDiagram({ tokens, pairs, weights, misses }: Props) {
  const [measure, size] = useSize<HTMLDivElement>()
  const over = useHover()
  const query = useSelection((s) => s.query)
  const key = useSelection((s) => s.key)
  const also = useSelection((s) => s.also)
  const count = tokens.length
  const pitch = Math.min(44, Math.max(0.25, (size.width - 44) / count))
  const height = Math.max(60, size.height - LABELS)
  const all = layoutArcs(pairs, weights, pitch, height)
  const arcs = all.slice(all.length - useGrowing(all.length, 150)) // the strongest first
  const always = [over.query, over.key, query, key].filter((i) => i !== null)
  const labelled = visibleLabels(count, pitch, 0, count * pitch, 14, always)
  return (
    <div className="arc-scroll" ref={measure}>
      {pairs.length > MOST_ARCS && (
        <p className="muted small-text">
          The strongest {MOST_ARCS} of {pairs.length} places are drawn.
        </p>
      )}
      {size.width > 0 && (
        <svg width={count * pitch + 40} height={height + LABELS - 4} aria-hidden="true" className="arcs">
          {arcs.map((arc) => {
            const chosen = (arc.from === query && (key === null || arc.to === key)) || also.includes(arc.from)
            const hovered = arc.from === over.query && (over.key === null || arc.to === over.key)
            const asked = over.query ?? query
            const faded = asked !== null && !chosen && !hovered
            const miss = misses?.[arc.index] ?? false
            return (
              // biome-ignore lint/a11y/noStaticElementInteractions: the same places are buttons in the list below
              <path
                key={arc.index}
                d={arc.path}
                className={`arc${miss ? ' is-miss' : ''}${chosen ? ' is-locked' : ''}${faded ? ' is-faded' : ''}`}
                style={{ strokeWidth: arc.width, strokeOpacity: faded ? arc.opacity * 0.3 : arc.opacity }}
                onPointerEnter={() => setHover(arc.from, arc.to)}
                onPointerLeave={() => setHover(null, null)}
                onClick={() => toggleCell(arc.from, arc.to)}
              />
            )
          })}
          {arcs.map((arc) => (
            <circle
              key={arc.index}
              cx={(arc.to + 0.5) * pitch}
              cy={height}
              r={Math.min(pitch / 2, 2 + arc.weight * 2)}
              className={misses?.[arc.index] ? 'arc-end is-miss' : 'arc-end'}
            />
          ))}
          <line x1={0} x2={count * pitch} y1={height + 0.5} y2={height + 0.5} className="arc-base" />
          {labelled.map((i) => (
            // biome-ignore lint/a11y/noStaticElementInteractions: the token strip has the same tokens as buttons
            <g
              key={i}
              transform={`translate(${(i + 0.5) * pitch} ${height + 8}) rotate(58)`}
              className={always.includes(i) ? 'arc-token is-lit' : 'arc-token'}
              onPointerEnter={() => setHover(i, null)}
              onPointerLeave={() => setHover(null, null)}
              onClick={() => toggleQuery(i)}
            >
              <text dy="0.35em">{shorten(tokens[i]?.text ?? '')}</text>
            </g>
          ))}
        </svg>
      )}
    </div>
  )
}

function shorten(text: string): string {
  return text.length > 12 ? `${text.slice(0, 11)}…` : text
}
