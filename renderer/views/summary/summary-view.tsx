/**
 * Attention through all layers in one picture: rollout or flow of one position, with what they leave out. In: the selected
 * run. Out: how much of each input token is in the position that is looked from, by these models of it.
 */
import { useQuery } from '@tanstack/react-query'
import type { OpenedModel, RunDetail } from '../../../core/api/contract.ts'
import { headsApi } from '../../api/heads.ts'
import { barsBody } from '../../charts/bars-figure.ts'
import type { Figure } from '../../charts/figure.ts'
import { FigureMenu } from '../../charts/figure-menu.tsx'
import { preciseWeight } from '../../state/format.ts'
import { select, useSelection, useTool } from '../../state/store.ts'
import { Waiting } from '../../ui/notice.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { useGrowing } from '../../ui/use-growing.ts'
import { WithRun } from '../frame/with-run.tsx'
import '../../ui/words.css'

type Kind = 'rollout' | 'flow'

export function SummaryView() {
  return (
    <WithRun hint="Run a prompt above: attention is then followed from a position down to the input tokens.">
      {(model, run) => <Summary model={model} run={run} />}
    </WithRun>
  )
}

function Summary({ model, run }: { model: OpenedModel; run: RunDetail }) {
  const [kind, setKind] = useTool<Kind>('summary', 'rollout')
  const [first, setFirst] = useTool<'with' | 'without'>('summary-first', 'with')
  const locked = useSelection((s) => s.query)
  const pos = locked !== null && locked < run.views.length ? locked : run.views.length - 1
  const ids = run.views.map(({ id }) => id)
  const request = {
    model: model.path,
    prompt: { ids },
    kind,
    pos,
    row: true,
    without_first: first === 'without',
  }
  const found = useQuery({
    queryKey: ['summary', model.path, run.id, kind, pos, first],
    queryFn: ({ signal }) => headsApi.summary(request, signal),
    retry: false,
  })
  const values = found.data?.values ?? []
  const rows = useGrowing(kind === 'rollout' ? Math.min(pos + 1, values.length) : values.length, 200)
  const most = Math.max(0, ...values)
  const word = run.views[pos]!.text
  const figure = (): Figure => ({
    title: `attention ${kind} from position ${pos}`,
    note: `How much of each input position is in position ${pos}, by attention ${kind}${first === 'without' ? ', the first position left out and rows renormalised' : ''}; a full bar is ${preciseWeight(most)}.`,
    facts: [found.data?.definition ?? ''],
    body: () =>
      barsBody(
        [kind],
        values.map((value, key) => ({ name: `${key} ${run.views[key]!.text}`, values: [plain(value)] })),
        most || 1,
      ),
    table: () => ({
      columns: ['pos', 'token', kind],
      rows: values.map((value, key) => [key, run.views[key]!.text, value]),
    }),
    reproduce: { kind: 'summary', request },
  })
  return (
    <section className="view words-view" aria-label="Summary">
      <div className="toolbar is-wrapping">
        <Segmented
          label="Which summary"
          value={kind}
          options={[
            { value: 'rollout', label: 'rollout' },
            { value: 'flow', label: 'flow' },
          ]}
          onChange={setKind}
        />
        <label className="field">
          <input
            type="checkbox"
            checked={first === 'without'}
            onChange={(event) => setFirst(event.target.checked ? 'without' : 'with')}
          />
          leave the first position out
        </label>
        <span className="muted small-text">from the locked query, else from the last token</span>
      </div>
      {found.data && <p className="summary-caveat">{found.data.definition}</p>}
      {found.isError && (
        <p className="problem work-state" role="alert">
          {found.error.message}
        </p>
      )}
      {found.isPending && <Waiting text="Following attention through the layers…" />}
      {found.data && (
        <section className="words-list" aria-label="Input tokens">
          <h3 className="pane-title">
            From {pos} <q className="token-text">{word}</q> to{' '}
            <span>a click on a token looks from there</span>
            <FigureMenu figure={figure} name="the summary" />
          </h3>
          <ol className="ranked-list">
            {values.slice(0, rows).map((value, key) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a token is its place in the text
              <li key={key}>
                <button
                  type="button"
                  className={key === pos ? 'word-line is-selected' : 'word-line'}
                  title={`${kind} from position ${pos} to ${key}: ${preciseWeight(value)}`}
                  onClick={() => select({ query: key, key: null, also: [] })}
                >
                  <span className="rank">{key}</span>
                  <span className="token-text">{run.views[key]!.text}</span>
                  <span className="bar">
                    <span className="bar-fill" style={{ width: `${most > 0 ? (value / most) * 100 : 0}%` }} />
                  </span>
                  <span className="number">{preciseWeight(value)}</span>
                </button>
              </li>
            ))}
          </ol>
        </section>
      )}
    </section>
  )
}

/** A number without an interval, as bars are drawn from scores. */
function plain(value: number) {
  return { value, n: 1, rows: 1, low: null, high: null }
}
