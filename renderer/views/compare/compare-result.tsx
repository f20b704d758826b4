/** A comparison: what it says in one line, the texts with their KL, the selected head's difference, and ranked heads. */
import { useState } from 'react'
import type { CompareReply, CompareRequest } from '../../../core/api/contract.ts'
import { useAbout } from '../../api/queries.ts'
import { barsBody } from '../../charts/bars-figure.ts'
import type { Figure, Source } from '../../charts/figure.ts'
import { FigureMenu } from '../../charts/figure-menu.tsx'
import { checkpointsOf } from '../../charts/figure-source.ts'
import { grouped, preciseWeight } from '../../state/format.ts'
import { type HeadId, headName } from '../../state/selection.ts'
import { select, useSelection } from '../../state/store.ts'
import { Empty } from '../../ui/notice.tsx'
import { saveFile } from '../../ui/save-file.ts'
import { ChangeList } from './change-list.tsx'
import { changesBy } from './changes.ts'
import { KlStrip } from './kl-strip.tsx'
import { PatternDifference } from './pattern-difference.tsx'

/** Tokens up to which every row of a pattern can be told apart: such a text is shown first. */
const LEGIBLE = 128

interface Props {
  readonly reply: CompareReply
  readonly request: CompareRequest
}

export function CompareResult({ reply, request }: Props) {
  const selected = useSelection((s) => s.head)
  const [text, setText] = useState(() =>
    Math.max(
      0,
      reply.tokens.findIndex((tokens) => tokens.length <= LEGIBLE),
    ),
  )
  const { prediction, heads } = reply
  const here = prediction.prompts[text]
  const most = Math.max(0, ...prediction.prompts.flatMap(({ kl }) => kl.map((value) => value ?? 0)))
  const head = headOf(reply, selected)
  const device = useAbout().data?.device ?? 'cpu'
  const tokens = reply.tokens[text] ?? []
  const source = async (): Promise<Source> => ({
    checkpoints: await checkpointsOf([
      { name: reply.a, path: request.a },
      { name: reply.b, path: request.b },
    ]),
    run: null,
  })
  const ofText = async (): Promise<Source> => ({
    ...(await source()),
    run: {
      id: null,
      text: tokens.map((view) => view.text).join(''),
      tokens: tokens.length,
      device,
      edits: [],
    },
  })
  const byPosition = (): Figure => ({
    title: 'KL of the next-token predictions by position',
    note: `KL(A‖B) in nats after each token of text ${text + 1} of ${prediction.prompts.length}; a star: the likeliest tokens differ.`,
    source: ofText,
    facts: [reply.definitions.kl ?? ''],
    body: () =>
      barsBody(
        ['KL(A‖B), nats'],
        tokens.map((view, i) => ({
          name: `${here?.top1_equal[i] === false ? '* ' : ''}${view.text} ${i}`,
          values: [{ value: here?.kl[i] ?? null }],
        })),
        most,
      ),
    table: () => ({
      columns: ['position', 'token', 'kl', 'same_likeliest_token'],
      rows: tokens.map((view, i) => [
        i,
        view.text,
        here?.kl[i] ?? null,
        here ? Number(here.top1_equal[i] ?? true) : null,
      ]),
    }),
    reproduce: { kind: 'compare', request: { ...request, report: false } },
  })
  return (
    <>
      <Summary reply={reply} />
      <div className="compare-result">
        <div className="compare-main">
          {here ? (
            <section aria-label="Predictions">
              <h3 className="pane-title">
                KL by position
                <span title={reply.definitions.kl}>
                  bar: KL(A‖B), full at {preciseWeight(most)} nats; red line: another likeliest token
                </span>
                {prediction.prompts.length > 1 && (
                  <span className="compare-pager">
                    <button
                      type="button"
                      className="button small"
                      aria-label="Previous text"
                      disabled={text === 0}
                      onClick={() => setText(text - 1)}
                    >
                      ←
                    </button>
                    text {text + 1} of {prediction.prompts.length}
                    <button
                      type="button"
                      className="button small"
                      aria-label="Next text"
                      disabled={text === prediction.prompts.length - 1}
                      onClick={() => setText(text + 1)}
                    >
                      →
                    </button>
                  </span>
                )}
                <FigureMenu figure={byPosition} name="the KL by position" />
              </h3>
              <KlStrip tokens={tokens} prediction={here} most={most} />
            </section>
          ) : (
            <p className="muted">No text is the same ids for both: predictions are not compared.</p>
          )}
          <section className="compare-pattern" aria-label="Pattern difference">
            {!here || !head ? (
              <Empty title="No head to compare">
                <p>
                  {prediction.why ??
                    'The two have no heads in common places; those matched by behaviour are listed.'}
                </p>
              </Empty>
            ) : (
              <PatternDifference a={request.a} b={request.b} ids={here.ids} head={head} source={ofText} />
            )}
          </section>
        </div>
        <div className="compare-side">
          {heads.length > 0 && <ChangeList reply={reply} request={request} source={source} />}
          {(heads.length === 0 || reply.matches) && <Matches reply={reply} />}
        </div>
      </div>
    </>
  )
}

/** The selected head where the comparison has it, else the one that changed most. */
function headOf(reply: CompareReply, selected: HeadId | null): HeadId | null {
  const name = selected && headName(selected)
  return reply.heads.find((one) => headName(one) === name) ?? changesBy(reply, 'distance')[0] ?? null
}

function Summary({ reply }: { reply: CompareReply }) {
  const { prediction, vocabulary, moved } = reply
  const { kl, kl_interval: range, top1_agreement: agree } = prediction
  return (
    <div className="compare-summary" role="status">
      <p>
        <strong className={reply.identical ? 'is-identical' : ''}>
          {reply.identical ? 'Identical weights' : 'The weights differ'}
        </strong>
        <span title={reply.definitions.kl}>
          KL {kl === null ? '–' : preciseWeight(kl)} nats a position
          {range && ` [${preciseWeight(range.low)}, ${preciseWeight(range.high)}]`}
        </span>
        <span title="Share of the positions of all texts at which A and B have the same likeliest next token">
          same likeliest token:{' '}
          {agree === null ? '–' : `${(100 * agree).toFixed(1)} % of ${prediction.positions} positions`}
        </span>
        <span>
          {!reply.sameShape
            ? 'other shapes: heads are matched, not ranked'
            : moved.length > 0
              ? `${new Set(moved.map(headName)).size} heads moved beyond noise`
              : 'no head’s score moved beyond the noise'}
        </span>
        {reply.report !== null && (
          <button
            type="button"
            className="button small"
            title="One file that opens offline: all numbers, definitions and texts"
            onClick={() => saveFile(`${reply.a} and ${reply.b}`, 'html', reply.report!, 'text/html')}
          >
            Report (HTML)
          </button>
        )}
      </p>
      {prediction.why && <p className="warning small-text">{prediction.why}</p>}
      {reply.warnings.map((warning) => (
        <p key={warning} className="warning small-text">
          {warning}
        </p>
      ))}
      {!vocabulary.same && (
        <details className="warning small-text">
          <summary>
            {grouped(vocabulary.different)} tokens of the two vocabularies differ (
            {vocabulary.sizes.join(' and ')} tokens). {vocabulary.comparable.join(' ')}
          </summary>
          <ul className="vocabulary-list">
            {vocabulary.examples.map(({ id, a, b }) => (
              <li key={id}>
                <span className="index">{id}</span> <q className="token-text">{a ?? '–'}</q> in A,{' '}
                <q className="token-text">{b ?? '–'}</q> in B
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  )
}

function Matches({ reply }: { reply: CompareReply }) {
  if (!reply.matches)
    return (
      <p className="muted">
        The shapes differ, so heads have no common places; and no text is the same ids for both, by which they
        could be matched.
      </p>
    )
  return (
    <section className="compare-list" aria-label="Heads matched by behaviour">
      <h3 className="pane-title">
        Matched <span title={reply.definitions.matches}>A → B, 1 is the same pattern</span>
      </h3>
      <ol className="ranked-list">
        {reply.matches.map(({ a, b, similarity }) => (
          <li key={headName(a)}>
            <button type="button" className="match-line" onClick={() => select({ head: a })}>
              <span className="head-name">{headName(a)}</span> →{' '}
              <span className="head-name">{headName(b)}</span>
              <span className="bar">
                <span className="bar-fill" style={{ width: `${Math.max(0, similarity) * 100}%` }} />
              </span>
              <span className="number">{preciseWeight(similarity)}</span>
            </button>
          </li>
        ))}
      </ol>
    </section>
  )
}
