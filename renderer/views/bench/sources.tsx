/** What each source token writes into the chosen query through this head: α_j v_j W_O by norm, cosine and logit effect. */
import { useState } from 'react'
import type { BenchHeadInput, BenchReply } from '../../../core/api/contract.ts'
import { barsBody } from '../../charts/bars-figure.ts'
import type { Figure } from '../../charts/figure.ts'
import { FigureMenu } from '../../charts/figure-menu.tsx'
import { beside } from '../../charts/svg.ts'
import { preciseWeight, signedWeight } from '../../state/format.ts'
import { Segmented } from '../../ui/segmented.tsx'
import { hoverPair, pickPair } from './pick.ts'

type By = 'norm' | 'alpha' | 'cosine' | 'logit'

interface Props {
  readonly bench: BenchReply
  /** The head, as a request. */
  readonly place: BenchHeadInput
  /** The token whose logit is looked at. */
  readonly answer: string | null
}

const SHOWN = 40

export function Sources({ bench, place, answer }: Props) {
  const [by, setBy] = useState<By>('norm')
  const { query } = bench
  const seen = bench.sources.filter(({ source }) => bench.reach.some(({ key }) => key === source))
  const size = (source: (typeof seen)[number]) => Math.abs(source[by] ?? 0)
  const ranked = [...seen].sort((a, b) => size(b) - size(a)).slice(0, SHOWN)
  const most = Math.max(1e-12, ...seen.map(({ norm }) => norm))
  const token = (i: number) => bench.key_tokens[i]?.text ?? ''
  const figure = (): Figure => ({
    title: `what each source writes into query ${query} through L${place.layer}H${place.head}`,
    note: `α_j v_j W_O by source token, ranked by ${by}: its weight α, its norm${answer === null ? '' : `, and what it adds to the logit of ‘${answer}’`}. Each column has its own full bar.`,
    facts: [`query ${query} ‘${bench.tokens[query]?.text ?? ''}’`],
    body: () =>
      beside(
        (['alpha', 'norm', ...(answer === null ? [] : (['logit'] as const))] as const).map((column) => ({
          title: '',
          body: barsBody(
            [{ alpha: 'α', norm: 'norm', logit: `logit of ‘${answer}’` }[column]],
            ranked.map((one) => ({
              name: `${token(one.source)} ${one.source}`,
              values: [{ value: one[column] ?? null }],
            })),
            Math.max(1e-12, ...ranked.map((one) => Math.abs(one[column] ?? 0))),
          ),
        })),
      ),
    table: () => ({
      columns: ['source', 'token', 'alpha', 'norm', 'cosine', 'logit'],
      rows: seen.map((one) => [
        one.source,
        token(one.source),
        one.alpha,
        one.norm,
        one.cosine ?? null,
        one.logit ?? null,
      ]),
    }),
    reproduce: { kind: 'bench', request: place },
  })
  return (
    <section aria-label="Source contributions">
      <h3 className="pane-title">
        α_j v_j W_O into {query} <q>{bench.tokens[query]?.text}</q>
        <FigureMenu figure={figure} name="the sources" />
      </h3>
      <Segmented
        label="Ranked by"
        value={by}
        options={[
          { value: 'norm', label: 'norm' },
          { value: 'alpha', label: 'α' },
          { value: 'cosine', label: 'cosine' },
          { value: 'logit', label: 'logit' },
        ]}
        onChange={setBy}
      />
      <table className="data-table bench-table">
        <thead>
          <tr>
            <th scope="col">source</th>
            <th scope="col">α</th>
            <th scope="col">norm</th>
            <th scope="col" title="with the head's whole update at this query">
              cosine
            </th>
            <th scope="col" title={answer === null ? undefined : `added to the logit of ${answer}`}>
              logit{answer !== null && <q>{answer}</q>}
            </th>
          </tr>
        </thead>
        <tbody>
          {ranked.map((one) => (
            <tr
              key={one.source}
              className={one.source === bench.key ? 'is-locked' : ''}
              onPointerEnter={() => hoverPair(place, query, one.source)}
              onPointerLeave={() => hoverPair(place, null, null)}
            >
              <th scope="row">
                <button type="button" className="clip" onClick={() => pickPair(place, query, one.source)}>
                  <i className="index">{one.source}</i>{' '}
                  <span className="token-text">{bench.key_tokens[one.source]?.text}</span>
                </button>
              </th>
              <td className="number">{preciseWeight(one.alpha)}</td>
              <td className="number">
                <span className="bench-bar" style={{ width: `${(one.norm / most) * 26}px` }} />
                {preciseWeight(one.norm)}
              </td>
              <td className="number">{one.cosine === null ? '∅' : signedWeight(one.cosine)}</td>
              <td className={one.logit !== null && one.logit < 0 ? 'number bench-minus' : 'number'}>
                {one.logit === null ? '∅' : signedWeight(one.logit)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {seen.length > SHOWN && (
        <p className="muted small-text">
          The first {SHOWN} of {seen.length}.
        </p>
      )}
    </section>
  )
}
