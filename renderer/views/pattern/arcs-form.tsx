/** The same pattern as arcs over the text: the strongest edges of all queries, or every edge of the chosen one. */
import type { TokenView } from '../../../core/checkpoint/types.ts'
import { strongestEdges } from '../../charts/arcs.ts'
import type { Reading } from '../../charts/reading.ts'
import { preciseWeight, signedWeight } from '../../state/format.ts'
import { useSelection } from '../../state/store.ts'
import { ArcDiagram } from '../induction/arc-diagram.tsx'

const MOST = 400

export function ArcsForm({ reading, tokens }: { reading: Reading; tokens: readonly TokenView[] }) {
  const query = useSelection((s) => s.query)
  const also = useSelection((s) => s.also)
  const edges =
    query === null
      ? strongestEdges(reading, MOST, null)
      : [query, ...also].flatMap((q) => (q < reading.size ? strongestEdges(reading, MOST, q) : []))
  const least = edges.at(-1)?.weight ?? 0
  return (
    <div className="arcs-form">
      <p className="muted small-text">
        {query === null
          ? `the ${edges.length} strongest edges, down to ${reading.signed ? signedWeight(least) : preciseWeight(least)}; thickness is the weight${reading.signed ? ', dashed: less than before' : ''}`
          : `edges of ${also.length > 0 ? 'queries' : 'query'} ${[query, ...also].join(', ')}; Esc shows all`}
      </p>
      <ArcDiagram
        tokens={tokens}
        pairs={edges}
        weights={edges.map((edge) => Math.abs(edge.weight) / (reading.most || 1))}
        misses={reading.signed ? edges.map((edge) => edge.weight < 0) : null}
      />
    </div>
  )
}
