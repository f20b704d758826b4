/** Everything about the selected head: its scores with intervals, and what the model says with and without it. */
import { useDeferredValue } from 'react'
import type { OpenedModel, ScanReply } from '../../../core/api/contract.ts'
import { useModel, useRun, useScan } from '../../api/queries.ts'
import { ScoreBar } from '../../charts/score-bar.tsx'
import { grouped, preciseWeight } from '../../state/format.ts'
import { hasHead } from '../../state/head-name.ts'
import { rankHeads, scoreLabel } from '../../state/rank.ts'
import { type HeadId, headName } from '../../state/selection.ts'
import { select, useSelection } from '../../state/store.ts'
import { Hint } from '../../ui/hint.tsx'
import { HeadNote } from '../notebook/head-note.tsx'
import { Prediction } from './prediction.tsx'

export function Inspector() {
  const chosen = useSelection((s) => s.head)
  // After the views, and between two frames of theirs: a window that opens has enough to draw at once.
  const model = useDeferredValue(useModel().data)
  const scan = useDeferredValue(useScan().data)
  const run = useDeferredValue(useRun().data)
  const lacking = chosen !== null && model !== undefined && !hasHead(model.spec, chosen)
  const head = lacking ? null : chosen
  return (
    <aside className="inspector" aria-label="Inspector">
      {head && model ? (
        <Head head={head} model={model} scan={scan ?? null} />
      ) : (
        <p className="muted">
          {lacking && `${model.name} has no head ${headName(chosen)}. `}
          Choose a head: its scores and its effect appear here.
        </p>
      )}
      {run && model && <Prediction run={run} model={model} head={head} />}
      {head && model && <HeadNote head={head} model={model.path} />}
      {model && <About model={model} />}
    </aside>
  )
}

function Head({ head, model, scan }: { head: HeadId; model: OpenedModel; scan: ScanReply | null }) {
  const chosen = useSelection((s) => s.score)
  const { spec } = model
  const of = scan?.heads.find((h) => h.layer === head.layer && h.head === head.head)
  const group = Math.floor(head.head / (spec.n_heads / spec.n_kv_heads))
  return (
    <section aria-label={`Head ${headName(head)}`}>
      <header className="inspector-head">
        <h2>{headName(head)}</h2>
        <span className="muted">
          layer {head.layer} · head {head.head}
          {spec.n_kv_heads < spec.n_heads ? ` · K/V ${group}` : ''}
        </span>
      </header>
      {!of && <p className="muted small-text">Not scored yet.</p>}
      <ul className="score-table">
        {Object.entries(of?.scores ?? {}).map(([name, score]) => {
          const rank =
            rankHeads(scan!.heads, name).findIndex((h) => h.layer === head.layer && h.head === head.head) + 1
          return (
            <li key={name}>
              <Hint
                side="left"
                text={
                  <>
                    <b>{scoreLabel(name)}</b>
                    <p>{scan?.definitions[name] ?? ''}</p>
                    <p className="hint-meta">
                      n = {score.n} sequences, {score.rows} rows; length {scan?.settings.length}, seed{' '}
                      {scan?.settings.seed ?? 'given'}; {model.name}. Whisker: 95 % bootstrap interval.
                    </p>
                  </>
                }
              >
                <button
                  type="button"
                  className={name === chosen ? 'score-row is-chosen' : 'score-row'}
                  onClick={() => select({ score: name })}
                >
                  <span className="score-name">{scoreLabel(name)}</span>
                  <span className={score.value === null ? 'score-value is-undefined' : 'score-value'}>
                    {score.value === null ? 'undefined' : preciseWeight(score.value)}
                  </span>
                  <ScoreBar score={score} />
                  <span className="score-interval">
                    {score.low !== null && score.high !== null
                      ? `[${preciseWeight(score.low)}, ${preciseWeight(score.high)}]`
                      : (score.why ?? 'no interval')}{' '}
                    n={score.n}
                  </span>
                  <span className="score-rank">{score.value === null ? '' : `#${rank}`}</span>
                </button>
              </Hint>
            </li>
          )
        })}
      </ul>
    </section>
  )
}

function About({ model }: { model: OpenedModel }) {
  const { spec } = model
  const facts: [string, string][] = [
    ['family', spec.family],
    [
      'size',
      `${spec.n_layers} layers × ${spec.n_heads} heads${spec.n_kv_heads < spec.n_heads ? ` (${spec.n_kv_heads} K/V)` : ''}`,
    ],
    ['width', `d_model ${spec.d_model}, d_head ${spec.d_head}`],
    ['parameters', grouped(model.parameters)],
    // A graph made by others does not say these.
    ...(spec.family === 'onnx'
      ? []
      : ([
          ['positions', `${spec.positional}, ${spec.n_ctx}`],
          ['norm · act', `${spec.norm} · ${spec.act}`],
        ] as [string, string][])),
  ]
  return (
    <details className="about" open>
      <summary>{model.name}</summary>
      <dl>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {model.warnings.map((warning) => (
        <p key={warning} className="warning">
          {warning}
        </p>
      ))}
    </details>
  )
}
