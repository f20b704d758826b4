/**
 * How the head learns where to look: the routing gradients β_j of the chosen row under a metric, and the nudge: one score
 * raised by ε, the linear prediction beside the exact run.
 */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { BenchHeadInput, BenchReply, OpenedModel, RunDetail } from '../../../core/api/contract.ts'
import type { Metric } from '../../../core/intervene/types.ts'
import { api } from '../../api/client.ts'
import { barsBody } from '../../charts/bars-figure.ts'
import type { Figure } from '../../charts/figure.ts'
import { FigureMenu } from '../../charts/figure-menu.tsx'
import { preciseWeight, signedWeight } from '../../state/format.ts'
import { metricText, needsAnswer } from '../../state/metric.ts'
import { headName } from '../../state/selection.ts'
import { useTool } from '../../state/store.ts'
import { SignedBar } from '../../ui/bars.tsx'
import { MetricFields, useMetric, useMetricPosition } from '../sweeps/metric-fields.tsx'
import { Fact } from './effect.tsx'
import { pickPair } from './pick.ts'

interface Props {
  readonly model: OpenedModel
  readonly run: RunDetail
  /** The head, as a request. */
  readonly place: BenchHeadInput
  readonly bench: BenchReply
}

const SHOWN = 10

export function Gradients({ model, run, place, bench }: Props) {
  const pos = useMetricPosition(run.views.length)
  const likely = run.predictions[pos]?.topTokens ?? []
  const [answer, wrong] = [likely[0] ?? null, likely[1] ?? null]
  const metric = useMetric(model, answer, wrong)
  const gradients = useQuery({
    queryKey: ['gradients', run.id, place, metric],
    queryFn: ({ signal }) => api.headGradients({ ...place, metric: metric! }, signal),
    enabled: metric !== null,
    placeholderData: keepPreviousData,
    retry: false,
  })
  const { query, key, tokens, key_tokens: keys } = bench
  const reply = gradients.data
  const width = keys.length
  const betas = reply
    ? bench.reach.map((one) => ({ key: one.key, beta: reply.routing.values[query * width + one.key] ?? 0 }))
    : []
  const most = Math.max(1e-30, ...betas.map(({ beta }) => Math.abs(beta)))
  const sum = betas.reduce((total, { beta }) => total + beta, 0)
  // The metric looks at one position: what comes after it, or beside it in the last layer, cannot move it.
  const unmoved = reply !== undefined && !gradients.isPlaceholderData && betas.every(({ beta }) => beta === 0)
  const name = (id: number) => likely.find((token) => token.id === id)?.text ?? `#${id}`
  const figure = (): Figure => {
    const sorted = [...betas].sort((a, b) => Math.abs(b.beta) - Math.abs(a.beta))
    const text = (i: number) => keys[i]?.text ?? ''
    return {
      title: `routing gradients of query ${query} in ${headName(place)}${place.cross ? ' over the source' : ''}`,
      note: 'β_j = ∂L/∂s_j of each key of the row; a step down the gradient of L raises s_j where β_j is below 0 (red).',
      facts: [
        metric ? `L: ${metricText(metric, name)} = ${reply?.value.toPrecision(5)}` : '',
        `query ${query} ‘${tokens[query]?.text ?? ''}’; Σ_j β_j = ${sum === 0 ? '0' : sum.toExponential(1)}`,
      ],
      body: () =>
        barsBody(
          ['β_j'],
          sorted.map((one) => ({ name: `${text(one.key)} ${one.key}`, values: [{ value: one.beta }] })),
          most,
        ),
      table: () => ({
        columns: ['key', 'token', 'beta'],
        rows: betas.map((one) => [one.key, text(one.key), one.beta]),
      }),
      reproduce: { kind: 'bench', request: place },
    }
  }
  return (
    <section aria-label="Routing gradients">
      <div className="bench-fields">
        <MetricFields model={model} answer={answer} wrong={wrong} likely={likely} />
      </div>
      {gradients.isError && (
        <p className="problem" role="alert">
          {gradients.error.message}
        </p>
      )}
      {metric === null && <p className="muted small-text">Choose the tokens of the metric.</p>}
      {reply && metric && (
        <>
          <h3 className="pane-title">
            β_j = ∂L/∂s_j of query {query}
            <span title={metricText(metric, name)}>L = {preciseWeight(reply.value)}</span>
            <FigureMenu figure={figure} name="the routing gradients" />
          </h3>
          {unmoved && (
            <p className="warning small-text">
              Every β of this row is 0: the metric, read at {metricPlace(metric, run)}, does not depend on
              where query {query} looks. Choose a query that it reads, or set “at” to the locked token.
            </p>
          )}
          <ol>
            {[...betas]
              .sort((a, b) => Math.abs(b.beta) - Math.abs(a.beta))
              .slice(0, SHOWN)
              .map((one) => (
                <li key={one.key}>
                  <button
                    type="button"
                    className={one.key === key ? 'effect-line is-selected' : 'effect-line'}
                    onClick={() => pickPair(place, query, one.key)}
                  >
                    <span className="clip">
                      <i className="index">{one.key}</i>{' '}
                      <span className="token-text">{keys[one.key]?.text}</span>
                    </span>
                    <SignedBar value={one.beta} most={most} />
                    <span className="number">{signedWeight(one.beta)}</span>
                  </button>
                </li>
              ))}
          </ol>
          <p className="muted small-text">
            Σ_j β_j = {signedWeight(sum)}; by the formula 0. A step down the gradient of L raises s_j where
            β_j is below 0. Near α = 0 or 1 the signal is weak, which does not mean irrelevant.
          </p>
          <Nudge {...{ model, run, place, bench, metric }} />
          <Saturation points={reply.sharpening[query] ?? []} />
        </>
      )}
    </section>
  )
}

function metricPlace({ kind, pos }: Metric, run: RunDetail): string {
  if (!needsAnswer(kind) && pos === undefined) return 'all tokens'
  return `token ${pos ?? run.views.length - 1}`
}

/** What |β| of the row becomes when its scores are sharpened. */
function Saturation({
  points,
}: {
  points: readonly { readonly factor: number; readonly largest: number; readonly routing: number }[]
}) {
  const most = Math.max(1e-30, ...points.map(({ routing }) => routing))
  return (
    <>
      <h3 className="pane-title">
        As the row saturates <span>scores × factor</span>
      </h3>
      <table className="data-table bench-table">
        <thead>
          <tr>
            <th scope="col">factor</th>
            <th scope="col">largest α</th>
            <th scope="col">|β|</th>
          </tr>
        </thead>
        <tbody>
          {points.map(({ factor, largest, routing }) => (
            <tr key={factor}>
              <th scope="row">× {factor}</th>
              <td className="number">{largest.toFixed(3)}</td>
              <td className="number">
                <span className="bench-bar" style={{ width: `${(routing / most) * 60}px` }} />
                {preciseWeight(routing)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  )
}

function Nudge({ run, place, bench, metric }: Props & { metric: Metric }) {
  const [epsilon, setEpsilon] = useTool<string>('bench_eps', '0.1')
  const [text, setText] = useState(epsilon)
  const value = Number(text)
  const good = text.trim() !== '' && Number.isFinite(value) && value !== 0
  const { query, key } = bench
  const visible = bench.reach.some((one) => one.key === key)
  const result = useQuery({
    queryKey: ['nudge', run.id, place, query, key, epsilon, metric],
    queryFn: ({ signal }) =>
      api.nudge(
        {
          ...place,
          query,
          key,
          epsilon: Number(epsilon),
          metric,
        },
        signal,
      ),
    enabled: visible && Number.isFinite(Number(epsilon)),
    placeholderData: keepPreviousData,
    retry: false,
  })
  const nudge = result.data
  return (
    <>
      <h3 className="pane-title">
        Nudge {query} → {key} <q>{bench.key_tokens[key]?.text}</q>
      </h3>
      <form
        className="field"
        onSubmit={(event) => {
          event.preventDefault()
          if (good) setEpsilon(text.trim())
        }}
      >
        <span>ε</span>
        <input
          className="input bench-score"
          aria-label="ε, added to the score"
          inputMode="decimal"
          value={text}
          aria-invalid={!good}
          onChange={(event) => setText(event.target.value)}
        />
        <button type="submit" className="button small" disabled={!good}>
          Nudge
        </button>
      </form>
      {!visible && (
        <p className="muted small-text">The query does not see this key; choose a visible pair.</p>
      )}
      {result.isError && (
        <p className="problem" role="alert">
          {result.error.message}
        </p>
      )}
      {visible && nudge && (
        <dl className="facts">
          <Fact name="α, β">{`${preciseWeight(nudge.alpha)}, ${signedWeight(nudge.beta)}`}</Fact>
          <Fact name="ΔL predicted, ε β">{signedWeight(nudge.metric.predicted - nudge.metric.before)}</Fact>
          <Fact name="ΔL exact">{signedWeight(nudge.metric.after - nudge.metric.before)}</Fact>
          <Fact name="|Δo| predicted">{preciseWeight(Math.hypot(...nudge.predicted))}</Fact>
          <Fact name="|Δo| exact">{preciseWeight(Math.hypot(...nudge.exact))}</Fact>
          <Fact name="error of Δo">{nudge.error === null ? 'undefined' : preciseWeight(nudge.error)}</Fact>
        </dl>
      )}
    </>
  )
}
