/**
 * Direct logit attribution: what every part adds to the logit of the answer (minus a wrong token), from the embedding to
 * the end. The bars sum to the logit, and the page says so. With active edits: of the edited run.
 */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { DlaReply, OpenedModel, RunDetail } from '../../../core/api/contract.ts'
import { api } from '../../api/client.ts'
import { chartFigure } from '../../charts/echart-figure.ts'
import type { Figure } from '../../charts/figure.ts'
import { FigureMenu } from '../../charts/figure-menu.tsx'
import { actingEdits, describeEdit } from '../../state/edits.ts'
import { signedWeight } from '../../state/format.ts'
import { formatToken } from '../../state/metric.ts'
import { promptOf } from '../../state/prompt-of.ts'
import { headName } from '../../state/selection.ts'
import { select, setHover, setTool, useSelection, useTool } from '../../state/store.ts'
import { SignedBar } from '../../ui/bars.tsx'
import { Empty, Failed, Waiting } from '../../ui/notice.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { WithRun } from '../frame/with-run.tsx'
import { aboutRun } from '../sweeps/about-sweep.ts'
import { useGivenTokens } from '../sweeps/given-tokens.ts'
import { TokenField } from '../sweeps/token-field.tsx'
import { type Part, partsBySource, partsOf } from './parts.ts'
import { Waterfall, waterfallOption } from './waterfall.tsx'

export function AttributionView() {
  return (
    <WithRun hint="Run a prompt above: then every head and MLP shows what it adds to the logit of a token.">
      {(model, run) => <Attribution model={model} run={run} />}
    </WithRun>
  )
}

function Attribution({ model, run }: { model: OpenedModel; run: RunDetail }) {
  const [by, setBy] = useTool<'part' | 'layer' | 'source'>('dla', 'part')
  const [order, setOrder] = useTool<'depth' | 'size'>('dlaorder', 'depth')
  const alone = useSelection((s) => s.tool.against0) === 'none'
  const given = useGivenTokens(model)
  const locked = useSelection((s) => s.query)
  const head = useSelection((s) => s.head)
  const edits = actingEdits(useSelection((s) => s.edits))
  const pos = locked !== null && locked < run.views.length ? locked : run.views.length - 1
  const likely = run.predictions[pos]?.topTokens ?? []
  const answer = given.answer ?? likely[0] ?? null
  const against = alone ? null : (given.wrong ?? likely[1] ?? null)
  const request = {
    model: model.path,
    prompt: promptOf(run),
    answer: answer?.id ?? 0,
    ...(against ? { wrong: against.id } : {}),
    pos,
    sources: true,
    ...(edits.length > 0 ? { edits } : {}),
  }
  const dla = useQuery({
    queryKey: ['dla', run.id, model.path, answer?.id, against?.id, pos, JSON.stringify(edits)],
    queryFn: ({ signal }): Promise<DlaReply> => api.dla(request, signal),
    enabled: answer !== null,
    placeholderData: keepPreviousData,
    retry: false,
  })
  const parts = useMemo(
    () =>
      !dla.data
        ? []
        : by === 'source'
          ? partsBySource(
              dla.data.components,
              dla.data.sources,
              run.views.map(({ text }) => text),
              order,
            )
          : partsOf(dla.data.components, by, order),
    [dla.data, by, order, run.views],
  )
  const figure = (): Figure => ({
    title: `logit of ‘${answer?.text}’${against ? ` minus ‘${against.text}’` : ''}, taken apart`,
    note: `Direct logit attribution at position ${pos} ‘${run.views[pos]?.text ?? ''}’: what each part adds (blue) or takes (red); the last bar is the sum.`,
    facts: [
      dla.data?.definition ?? '',
      `parts sum to ${dla.data?.sum?.toFixed(4) ?? '–'}, the model says ${dla.data?.logit?.toFixed(4) ?? '–'}`,
      edits.length > 0 ? `with edits: ${edits.map(describeEdit).join('; ')}` : '',
    ],
    body: () => {
      const drawn = { parts, total: dla.data?.sum ?? 0, ordered: order === 'depth', head }
      return chartFigure((c) => waterfallOption(drawn, c), Math.max(720, parts.length * 13), 400)
    },
    table: () => ({
      columns: ['part', 'layer', 'head', 'value'],
      rows: (dla.data?.components ?? []).map((part) => [part.name, part.layer, part.head, part.value]),
    }),
    reproduce: { kind: 'dla', request },
  })
  const about = aboutRun(model, dla.data?.definition ?? '', [
    `at position ${pos}`,
    edits.length > 0 ? `with edits: ${edits.map(describeEdit).join('; ')}` : '',
  ])
  const sources = head && dla.data?.sources.find((s) => s.layer === head.layer && s.head === head.head)
  return (
    <div className="view sweep-view">
      <div className="toolbar is-wrapping">
        <TokenField
          label="answer"
          model={model}
          value={answer}
          likely={likely}
          onChange={(token) => setTool('answer', formatToken(token))}
        />
        <TokenField
          label="minus"
          model={model}
          value={against}
          likely={likely}
          onChange={(token) => {
            setTool('against0', '')
            setTool('wrong', formatToken(token))
          }}
        />
        <button
          type="button"
          className="button small toggle"
          aria-pressed={against === null}
          onClick={() => setTool('against0', against === null ? '' : 'none')}
        >
          {against === null ? 'against a token' : 'without minus'}
        </button>
        <Segmented
          label="Bars"
          value={by}
          options={[
            { value: 'part', label: 'heads and MLPs' },
            { value: 'layer', label: 'layers' },
            { value: 'source', label: 'source tokens' },
          ]}
          onChange={setBy}
        />
        <Segmented
          label="Order"
          value={order}
          options={[
            { value: 'depth', label: 'by depth' },
            { value: 'size', label: 'by size' },
          ]}
          onChange={setOrder}
        />
        <span className="muted small-text">
          at {pos} <q className="token-text">{run.views[pos]?.text}</q>
          {edits.length > 0 && ` · with ${edits.length} ${edits.length === 1 ? 'edit' : 'edits'}`}
        </span>
      </div>
      {dla.isError ? (
        <Failed error={dla.error} retry={() => void dla.refetch()} />
      ) : !dla.data ? (
        <Waiting text="Taking the logit apart…" />
      ) : dla.data.components.length === 0 ? (
        <Empty title="No attribution here">
          <p>{dla.data.why}</p>
        </Empty>
      ) : (
        <div className="sweep-result">
          <section
            className={dla.isPlaceholderData ? 'sweep-main is-stale' : 'sweep-main'}
            aria-label="Waterfall"
            aria-busy={dla.isPlaceholderData}
          >
            <h3 className="pane-title">
              {answer?.text} {against && <>− {against.text}</>}
              <span title={about}>
                {dla.isPlaceholderData
                  ? 'taking it apart; the bars are of what was asked before'
                  : `parts sum to ${fixed(dla.data.sum)}; the model says ${fixed(dla.data.logit)}`}
              </span>
              {!dla.isPlaceholderData && <FigureMenu figure={figure} name="the attribution" />}
            </h3>
            <Waterfall parts={parts} total={dla.data.sum ?? 0} ordered={order === 'depth'} pos={pos} />
            {sources && head && (
              <section className="source-strip" aria-label={`Sources of ${headName(head)}`}>
                <h3 className="pane-title">
                  {headName(head)} by source position <span>what each token brings through this head</span>
                </h3>
                <ol className="tokens" title={about}>
                  {sources.values.map((value, i) => (
                    // biome-ignore lint/suspicious/noArrayIndexKey: a source is its position
                    <li key={i}>
                      <button
                        type="button"
                        className="source-token"
                        onPointerEnter={() => setHover(pos, i)}
                        onPointerLeave={() => setHover(null, null)}
                        onClick={() => select({ query: pos, key: i })}
                      >
                        <span className="token-text">{run.views[i]?.text}</span>{' '}
                        <SourceValue
                          value={value}
                          most={mostOf(sources.values)}
                          hidden={i > pos && value === 0}
                        />
                      </button>
                    </li>
                  ))}
                </ol>
              </section>
            )}
          </section>
          <aside className="sweep-side">
            <Strongest parts={parts} pos={pos} about={about} />
          </aside>
        </div>
      )}
    </div>
  )
}

/** What one source brings: weak where it is small beside the largest, so that a row of noise does not shout. */
function SourceValue({ value, most, hidden }: { value: number; most: number; hidden: boolean }) {
  if (hidden)
    return (
      <i className="is-hidden-source" title="A later token: not visible from here">
        –
      </i>
    )
  const sign = value < 0 ? 'is-less' : 'is-more'
  return <i className={Math.abs(value) < most * SMALL ? `${sign} is-small` : sign}>{signedWeight(value)}</i>
}

/** Of the largest source: what is below it is drawn weakly. */
const SMALL = 0.005

function mostOf(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
}

function fixed(value: number | null | undefined): string {
  return value == null ? '–' : value.toFixed(3).replace(/^-/, '−')
}

interface StrongestProps {
  readonly parts: readonly Part[]
  readonly pos: number
  /** What the numbers are and where they come from, for a hint. */
  readonly about: string
}

function Strongest({ parts, pos, about }: StrongestProps) {
  const head = useSelection((s) => s.head)
  const sorted = [...parts].sort((a, b) => Math.abs(b.value) - Math.abs(a.value)).slice(0, 60)
  const most = Math.abs(sorted[0]?.value ?? 1)
  return (
    <section className="strongest" aria-label="Largest parts">
      <h3 className="pane-title">Largest parts</h3>
      <ol className="ranked-list">
        {sorted.map((part) => (
          <li key={part.name}>
            <button
              type="button"
              className={
                head && part.head && headName(part.head) === headName(head)
                  ? 'effect-line is-selected'
                  : 'effect-line'
              }
              disabled={!part.head && part.source === undefined}
              title={about}
              onClick={() => {
                if (part.head) select({ head: part.head })
                else if (part.source !== undefined) select({ query: pos, key: part.source, also: [] })
              }}
            >
              <span className={part.source === undefined ? 'head-name clip' : 'head-name token-text clip'}>
                {part.name}
              </span>
              <SignedBar value={part.value} most={most} />
              <span className="number">{signedWeight(part.value)}</span>
            </button>
          </li>
        ))}
      </ol>
    </section>
  )
}
