/** What zeroing a head does to the loss where the text repeats, beside matched controls and beside other heads. */
import type { Score } from '../../../core/analysis/types.ts'
import type { SpanEffect } from '../../../core/intervene/span-effect.ts'
import { signed } from '../../state/format.ts'
import { headName } from '../../state/selection.ts'
import { select } from '../../state/store.ts'

const SAYS =
  'Second occurrences: positions whose text goes on with B. Controls: positions of the same texts whose token has no earlier copy, matched one to one by the loss without the edit. Positive: the head helped. Zeroing takes a head off its distribution, and other heads may make up for it.'

export function CausalCheck({ effects, shown }: { effects: readonly SpanEffect[]; shown: string }) {
  // Heads of one layer are compared with the same others: each is said once.
  const beside = new Map(
    effects.flatMap(({ others }) => others.map((other) => [headName(other), other.second] as const)),
  )
  for (const effect of effects) beside.delete(headName(effect))
  return (
    <section aria-label="Causal check">
      <h3 className="pane-title">
        Causal check <span title={SAYS}>change of loss when the head is zeroed, nats, 95 % interval</span>
      </h3>
      <table className="data-table causal-table">
        <thead>
          <tr>
            <th scope="col">head</th>
            <th scope="col">second occurrences</th>
            <th scope="col">matched controls</th>
            <th scope="col">difference</th>
          </tr>
        </thead>
        <tbody>
          {effects.map((effect) => {
            const name = headName(effect)
            return (
              <tr key={name} className={name === shown ? 'is-selected' : ''}>
                <th scope="row">
                  <button
                    type="button"
                    className="link"
                    onClick={() => select({ head: { layer: effect.layer, head: effect.head } })}
                  >
                    {name}
                  </button>
                </th>
                <Nats score={effect.second} />
                <Nats score={effect.control} />
                <Nats score={effect.effect} />
              </tr>
            )
          })}
          {[...beside].map(([name, second]) => (
            <tr key={name} className="muted">
              <th scope="row" title="Another head of the same layer, of the lowest rates, for comparison">
                {name}, beside
              </th>
              <Nats score={second} />
              <td />
              <td />
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function Nats({ score }: { score: Score }) {
  if (score.value === null)
    return (
      <td className="number" title={score.why}>
        –
      </td>
    )
  return (
    <td className="number" title={`n = ${score.n}, rows ${score.rows}`}>
      {signed(score.value)}
      {score.low !== null && score.high !== null && (
        <small className="muted">
          {' '}
          [{signed(score.low, 2)}, {signed(score.high, 2)}]
        </small>
      )}
    </td>
  )
}
