/** One cell of the residual stream: its likeliest tokens, who wrote it since the border below, and edits of it. */
import { useQuery } from '@tanstack/react-query'
import type { LensReply, OpenedModel, RunDetail } from '../../../core/api/contract.ts'
import { api } from '../../api/client.ts'
import { isActive, toggleEdit } from '../../state/edit-history.ts'
import { preciseWeight, signedWeight } from '../../state/format.ts'
import { parseHead } from '../../state/selection.ts'
import { select, useSelection, useTool } from '../../state/store.ts'
import { Choice } from '../../ui/select.tsx'

interface Props {
  readonly model: OpenedModel
  readonly run: RunDetail
  readonly lens: LensReply
  readonly border: number | null
}

const SHOWN = 16

export function LensCard({ model, run, lens, border }: Props) {
  const pos = useSelection((s) => s.query)
  const stack = useSelection((s) => s.edits)
  const [since, setSince] = useTool<'below' | 'start'>('since', 'below')
  const cell =
    border === null
      ? undefined
      : lens.layers.find((l) => l.layer === border)?.positions.find((c) => c.pos === pos)
  const prompt = { ids: run.views.map((view) => view.id) }
  const low = border === null ? 0 : since === 'start' ? 0 : border - 1
  const change = useQuery({
    queryKey: ['change', run.id, model.path, pos, low, border],
    queryFn: ({ signal }) =>
      api.change(
        {
          model: model.path,
          from: { prompt, pos: pos!, border: low },
          to: { prompt, pos: pos!, border: border! },
        },
        signal,
      ),
    enabled: border !== null && border > 0 && pos !== null,
    retry: false,
  })
  if (border === null || pos === null || !cell)
    return (
      <p className="muted small-text">
        Choose a cell: its likeliest tokens, and which heads and MLPs wrote what changed there.
      </p>
    )
  const edit =
    border < model.spec.n_layers
      ? { hook: `blocks.${border}.hook_resid_pre`, pos, op: 'zero' as const }
      : { hook: `blocks.${border - 1}.hook_resid_post`, pos, op: 'zero' as const }
  const on = isActive(stack, edit)
  const writers = change.data?.writers.slice(0, SHOWN) ?? []
  const most = Math.max(1e-9, ...writers.map((w) => Math.abs(w.share)))
  return (
    <>
      <section aria-label="The cell">
        <h3 className="pane-title">
          {border === model.spec.n_layers ? 'end' : `before L${border}`} · {pos} <q>{run.views[pos]?.text}</q>
        </h3>
        <ol className="prediction-list is-single">
          {cell.top.map((t) => (
            <li key={t.id} className={t.id === run.views[pos + 1]?.id ? 'is-target' : ''}>
              <span className="token-text clip">{lens.words[t.id]?.text ?? t.id}</span>
              <span className="prob prob-base">
                <span className="prob-bar" style={{ width: `${(t.prob ?? 0) * 100}%` }} />
                <span className="prob-number">{t.prob === null ? 'undefined' : preciseWeight(t.prob)}</span>
              </span>
            </li>
          ))}
        </ol>
        <button
          type="button"
          className={on ? 'button small toggle is-on' : 'button small toggle'}
          aria-pressed={on}
          onClick={() => toggleEdit(edit)}
        >
          Zero the residual here
        </button>
      </section>
      {border > 0 && (
        <section aria-label="Who wrote it">
          <h3 className="pane-title">
            Written since
            <Choice
              label="Since which border"
              value={since}
              options={[
                { value: 'below', label: border === 1 ? 'in' : `L${border - 1}` },
                { value: 'start', label: 'the input' },
              ]}
              onChange={setSince}
            />
          </h3>
          {change.isError && <p className="problem">{change.error.message}</p>}
          {change.data && (
            <p className="muted small-text" title="Shares are projections on the change; they sum to 1.">
              |change| {preciseWeight(change.data.distance)}; shares sum to 1
            </p>
          )}
          <ol>
            {writers.map((writer) => {
              const head = parseHead(writer.name)
              return (
                <li key={writer.name}>
                  <button
                    type="button"
                    className="effect-line"
                    disabled={!head}
                    title={`|part| ${preciseWeight(writer.norm)}`}
                    onClick={() => head && select({ head })}
                  >
                    <span className="head-name clip">{writer.name}</span>
                    <span className="signed-bar">
                      <span
                        className={writer.share < 0 ? 'signed-fill is-minus' : 'signed-fill'}
                        style={{ width: `${(Math.abs(writer.share) / most) * 50}%` }}
                      />
                    </span>
                    <span className="number">{signedWeight(writer.share)}</span>
                  </button>
                </li>
              )
            })}
          </ol>
        </section>
      )}
    </>
  )
}
