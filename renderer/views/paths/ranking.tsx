/** Everything that leads into the place that is looked at, the strongest first; a click adds or removes its edge. */

import type { PathCell } from '../../../core/intervene/path.ts'
import type { PathEdge } from '../../../core/intervene/path-names.ts'
import { signedWeight } from '../../state/format.ts'
import { SignedBar } from '../../ui/bars.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { countInto, describeEnd, edgeName, nodeOf, ranked, type Shape } from './circuit.ts'

interface Props {
  readonly shape: Shape
  readonly place: string
  readonly edges: readonly PathEdge[]
  readonly effects: ReadonlyMap<string, PathCell>
  readonly most: number
  /** Why nothing can be measured now; null where it can. */
  readonly blocked: string | null
  readonly onPlace: (place: string) => void
  readonly onExpand: () => void
  readonly onToggle: (edge: PathEdge) => void
}

const SHOWN = 40

export function Ranking(props: Props) {
  const { shape, place, edges, effects, most, blocked, onPlace, onExpand, onToggle } = props
  const cells = ranked(place, effects)
  const total = countInto(place, shape)
  const there = new Set(edges.map(edgeName))
  const next = cells.find((cell) => cell.delta !== 0 && !there.has(edgeName(cell)))
  const node = nodeOf(place)
  const part = place.slice(node.length + 1)
  const isHead = /H\d+(\.cross)?$/.test(node)
  return (
    <section className="strongest path-ranking" aria-label={`What leads into ${describeEnd(place)}`}>
      <h3 className="pane-title">
        Into {describeEnd(place)}
        <span>{cells.length === 0 ? 'not ranked yet' : `${cells.length} of ${total} measured`}</span>
      </h3>
      {isHead && (
        <Segmented
          label="Input of the head"
          value={part === '' ? 'all' : part}
          options={[
            { value: 'q', label: 'queries' },
            { value: 'k', label: 'keys' },
            { value: 'v', label: 'values' },
            { value: 'all', label: 'all' },
          ]}
          onChange={(next) => onPlace(next === 'all' ? node : `${node}.${next}`)}
        />
      )}
      <p className="button-row">
        <button
          type="button"
          className={cells.length === 0 ? 'button primary small' : 'button small'}
          disabled={blocked !== null || total === 0}
          title={blocked ?? 'Measures the path from every sender to this place alone'}
          onClick={onExpand}
        >
          Rank all {total}
        </button>
        <button
          type="button"
          className={cells.length === 0 ? 'button small' : 'button primary small'}
          disabled={!next}
          title={next ? `${describeEnd(next.from)} → ${describeEnd(next.to)}` : 'Rank the senders first'}
          onClick={() => next && onToggle(next)}
        >
          Add strongest
        </button>
      </p>
      {total === 0 && (
        <p className="muted small-text">
          {describeEnd(place)} are made from the source alone: nothing sends to them unless the corrupt prompt
          has another source of the same length.
        </p>
      )}
      {cells.length === 0 && total > 0 && (
        <ol className="path-steps">
          <li>Write a corrupt prompt: as many tokens, one thing changed.</li>
          <li>Rank what leads into {describeEnd(place)}, and add the strongest.</li>
          <li>Click q, k or v of what was added, and rank again: the circuit grows downwards.</li>
        </ol>
      )}
      <ol className="ranked-list">
        {cells.slice(0, SHOWN).map((cell) => {
          const on = there.has(edgeName(cell))
          return (
            <li key={edgeName(cell)}>
              <button
                type="button"
                className={on ? 'effect-line is-selected' : 'effect-line'}
                aria-pressed={on}
                title={on ? 'In the circuit: click takes it out' : 'Click adds it to the circuit'}
                onClick={() => onToggle(cell)}
              >
                <span className="clip">
                  {describeEnd(cell.from)}
                  {part === '' && isHead ? ` → ${cell.to.slice(-1)}` : ''}
                </span>
                <SignedBar value={cell.delta!} most={most} />
                <span className="number">{signedWeight(cell.delta!)}</span>
              </button>
            </li>
          )
        })}
      </ol>
      {cells.length > SHOWN && (
        <p className="muted small-text">
          The first {SHOWN} of {cells.length}.
        </p>
      )}
    </section>
  )
}
