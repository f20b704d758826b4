/** What the model says after a position: as it is, and with the selected head's output set to zero. */
import { useQuery } from '@tanstack/react-query'
import type { OpenedModel, RunDetail } from '../../../core/api/contract.ts'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import { api } from '../../api/client.ts'
import { preciseWeight } from '../../state/format.ts'
import { type HeadId, headName } from '../../state/selection.ts'
import { select, useSelection } from '../../state/store.ts'

interface Row {
  readonly token: TokenView
  readonly base: number | null
  readonly edited: number | null
}

export function Prediction({
  run,
  model,
  head,
}: {
  run: RunDetail
  model: OpenedModel
  head: HeadId | null
}) {
  const locked = useSelection((s) => s.query)
  const ablate = useSelection((s) => s.ablate)
  const pos = locked !== null && locked < run.views.length ? locked : run.views.length - 1
  const wanted = ablate && head !== null
  const result = useQuery({
    queryKey: ['ablate', run.id, head?.layer, head?.head, pos],
    queryFn: ({ signal }) =>
      api.predict(
        {
          model: model.path,
          prompt: { ids: run.views.map((v) => v.id) },
          edits: [{ hook: `blocks.${head!.layer}.attn.hook_z`, head: head!.head, op: 'zero' }],
          pos,
        },
        signal,
      ),
    enabled: wanted,
    retry: false,
  })

  const stored = run.predictions[pos]
  const reply = wanted ? result.data : undefined
  const rows: Row[] = reply
    ? merge(reply.base.top, reply.edited.top)
    : (stored?.top ?? []).map((t, i) => ({ token: stored!.topTokens[i]!, base: t.prob, edited: null }))
  const next = run.views[pos + 1]

  return (
    <section className="prediction" aria-label="Prediction">
      <h3 className="pane-title">
        After {pos} <q className="token-text">{run.views[pos]?.text}</q>
        {next && (
          <span title="The token that really follows">
            then <q className="token-text">{next.text}</q>
          </span>
        )}
      </h3>
      <div className="prediction-heads">
        <span />
        <span>as it is</span>
        <span className={reply ? 'is-ablated' : 'is-blank'}>{head ? `without ${headName(head)}` : ''}</span>
      </div>
      <ol className="prediction-list">
        {rows.slice(0, 6).map((row) => (
          <li key={row.token.id} className={row.token.id === next?.id ? 'is-target' : ''}>
            <span className="token-text clip">{row.token.text}</span>
            <Probability value={row.base} look="base" below={reply && least(reply.base.top)} />
            <Probability
              value={row.edited}
              look="ablated"
              below={reply && least(reply.edited.top)}
              pending={wanted && result.isPending}
            />
          </li>
        ))}
      </ol>
      {reply && (
        <p className="small-text muted" title="Mean next-token loss over the prompt, in nats.">
          loss {reply.base.loss?.toFixed(3) ?? '–'} → {reply.edited.loss?.toFixed(3) ?? '–'}
          {reply.base.loss !== null && reply.edited.loss !== null && (
            <b> ({signed(reply.edited.loss - reply.base.loss)} nats)</b>
          )}
        </p>
      )}
      {result.isError && (
        <p className="problem" role="alert">
          {result.error.message}
        </p>
      )}
      <button
        type="button"
        className={ablate ? 'button toggle is-on' : 'button toggle'}
        aria-pressed={ablate}
        disabled={head === null}
        title="Sets the head's output (hook_z) to zero at every position and predicts again. Zero ablation is off-distribution: read the direction, not the exact size."
        onClick={() => select({ ablate: !ablate })}
      >
        {ablate ? 'Undo ablation' : 'Ablate this head'}
      </button>
    </section>
  )
}

/** A token outside the other list has no number there, only a bound. */
function Probability(props: {
  value: number | null
  look: string
  below?: number | null | undefined
  pending?: boolean
}) {
  const { value, look, below, pending = false } = props
  if (value === null)
    return (
      <span className="prob prob-none">
        {pending ? '…' : below == null ? '' : `< ${preciseWeight(below)}`}
      </span>
    )
  return (
    <span className={`prob prob-${look}`}>
      <span className="prob-bar" style={{ width: `${value * 100}%` }} />
      <span className="prob-number">{preciseWeight(value)}</span>
    </span>
  )
}

/** One row per token of either list; a token that fell out of the other's list has no number there. */
function merge(
  base: readonly { token: TokenView; prob: number | null }[],
  edited: readonly { token: TokenView; prob: number | null }[],
): Row[] {
  const rows = new Map<number, Row>()
  for (const t of base) rows.set(t.token.id, { token: t.token, base: t.prob, edited: null })
  for (const t of edited) {
    rows.set(t.token.id, { token: t.token, base: rows.get(t.token.id)?.base ?? null, edited: t.prob })
  }
  return [...rows.values()]
}

function signed(x: number): string {
  return `${x < 0 ? '−' : '+'}${Math.abs(x).toFixed(3)}`
}

/** The smallest probability of a list: whatever is not in it has less. */
function least(top: readonly { prob: number | null }[]): number | null {
  return top.at(-1)?.prob ?? null
}
