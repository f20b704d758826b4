/** The edges of the circuit with their effects, what is still open, and a way to take each out. */

import type { PathCell } from '../../../core/intervene/path.ts'
import type { PathEdge } from '../../../core/intervene/path-names.ts'
import { signedWeight } from '../../state/format.ts'
import { describeEnd, edgeName, openEnds } from './circuit.ts'

interface Props {
  readonly edges: readonly PathEdge[]
  readonly effects: ReadonlyMap<string, PathCell>
  readonly onPlace: (place: string) => void
  readonly onRemove: (edge: PathEdge) => void
}

export function CircuitList({ edges, effects, onPlace, onRemove }: Props) {
  const open = openEnds(edges)
  return (
    <section className="path-circuit" aria-label="Circuit">
      <h3 className="pane-title">
        Circuit <span>{edges.length === 1 ? '1 edge' : `${edges.length} edges`}</span>
      </h3>
      <ol className="ranked-list">
        {edges.map((edge) => {
          const cell = effects.get(edgeName(edge))
          return (
            <li key={edgeName(edge)} className="circuit-line">
              <button
                type="button"
                className="effect-line"
                title="Look at what leads into its receiver"
                onClick={() => onPlace(edge.to)}
              >
                <span className="clip mono">
                  {edge.from} → {edge.to}
                </span>
                <span className="number">{cell?.delta == null ? '?' : signedWeight(cell.delta)}</span>
              </button>
              <button
                type="button"
                className="icon-button"
                aria-label={`Take ${describeEnd(edge.from)} → ${describeEnd(edge.to)} out of the circuit`}
                onClick={() => onRemove(edge)}
              >
                ✕
              </button>
            </li>
          )
        })}
      </ol>
      {open.length > 0 && (
        <p className="path-open">
          <span className="muted small-text">Goes on at</span>
          {open.map((node) => (
            <button key={node} type="button" className="id-chip" onClick={() => onPlace(node)}>
              {describeEnd(node)}
            </button>
          ))}
        </p>
      )}
    </section>
  )
}
