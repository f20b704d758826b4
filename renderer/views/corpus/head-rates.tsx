/** Every head's rate in the texts, with its interval, beside its score on random repeats. A click selects the head. */
import type { ReactNode } from 'react'
import type { SpansReply, SpansRequest } from '../../../core/api/contract.ts'
import { barsBody } from '../../charts/bars-figure.ts'
import type { Figure } from '../../charts/figure.ts'
import { FigureMenu } from '../../charts/figure-menu.tsx'
import { ScoreBar } from '../../charts/score-bar.tsx'
import { formatScore } from '../../state/rank.ts'
import { headName } from '../../state/selection.ts'
import { select } from '../../state/store.ts'
import { scoreText } from '../../ui/score-text.ts'

interface Props {
  readonly request: SpansRequest
  /** How many texts were read, in words. */
  readonly windows: string
  /** In the order that is shown. */
  readonly heads: SpansReply['heads']
  readonly shown: SpansReply['heads'][number]
  readonly definitions: SpansReply['definitions']
  readonly children: ReactNode
}

const MOST = 400

export function HeadRates({ request, windows, heads, shown, definitions, children }: Props) {
  const figure = (): Figure => ({
    title: 'induction in real text, every head',
    note: 'Rate of hits at the A B … A places of these texts, and the score on random repeats; 1 is a full bar, whiskers are 95 % intervals.',
    ofModel: true,
    facts: [
      `rate: ${definitions.rate}`,
      `random repeats: ${definitions.random_repeat}`,
      `n = ${shown.rate.n} places, ${windows}`,
    ],
    body: () =>
      barsBody(
        ['in these texts', 'random repeats'],
        heads.map((one) => ({ name: headName(one), values: [one.rate, one.random_repeat] })),
        1,
      ),
    table: () => ({
      columns: ['head', 'rate', 'low', 'high', 'n', 'random_repeat', 'random_low', 'random_high'],
      rows: heads.map(({ rate, random_repeat: random, ...one }) => [
        headName(one),
        rate.value,
        rate.low,
        rate.high,
        rate.n,
        random.value,
        random.low,
        random.high,
      ]),
    }),
    reproduce: { kind: 'spans', request },
  })
  return (
    <section className="corpus-main" aria-label="Heads by rate">
      <h3 className="pane-title">
        All heads <span>{children}</span>
        <FigureMenu figure={figure} name="the rates" />
      </h3>
      <div className="rate-line rate-heading" aria-hidden="true">
        <span />
        <span title={definitions.rate}>
          <i className="swatch" /> in these texts
        </span>
        <span title={definitions.random_repeat}>
          <i className="swatch is-second" /> random repeats
        </span>
      </div>
      <ol className="ranked-list">
        {heads.slice(0, MOST).map((one) => {
          const name = headName(one)
          return (
            <li key={name}>
              <button
                type="button"
                className={one === shown ? 'rate-line is-selected' : 'rate-line'}
                aria-pressed={one === shown}
                title={`in these texts ${scoreText(one.rate)}, n = ${one.rate.n}\nrandom repeats ${scoreText(one.random_repeat)}`}
                onClick={() => select({ head: { layer: one.layer, head: one.head } })}
              >
                <span className="head-name">{name}</span>
                <span className="rate-pair">
                  <ScoreBar score={one.rate} />
                  <span className="number">{formatScore(one.rate) || '–'}</span>
                </span>
                <span className="rate-pair is-second">
                  <ScoreBar score={one.random_repeat} />
                  <span className="number">{formatScore(one.random_repeat) || '–'}</span>
                </span>
              </button>
            </li>
          )
        })}
      </ol>
      {heads.length > MOST && (
        <p className="muted small-text">
          The first {MOST} of {heads.length} heads.
        </p>
      )}
      {heads[0]?.rate.value === null && (
        <p className="warning small-text">No rate: {heads[0].rate.why}. Give more text.</p>
      )}
    </section>
  )
}
