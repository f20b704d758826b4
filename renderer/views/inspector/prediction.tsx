/** What the model says after a position: as it is, and with the active edits. */

import { useQuery } from '@tanstack/react-query'
import type { OpenedModel, RunDetail } from '../../../core/api/contract.ts'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import { api } from '../../api/client.ts'
import { isActive, toggleAblation } from '../../state/edit-history.ts'
import { ablateHead, actingEdits, describeEdit } from '../../state/edits.ts'
import { preciseWeight, signed } from '../../state/format.ts'
import { nameWithHash } from '../../state/model-name.ts'
import { editsOf, promptOf } from '../../state/prompt-of.ts'
import type { HeadId } from '../../state/selection.ts'
import { useSelection } from '../../state/store.ts'
import { ProbabilityBar } from '../../ui/bars.tsx'
import { AddEdit } from '../frame/add-edit.tsx'

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
  const stack = useSelection((s) => s.edits)
  const pos = locked !== null && locked < run.views.length ? locked : run.views.length - 1
  const edits = actingEdits(stack)
  const wanted = edits.length > 0
  const result = useQuery({
    queryKey: ['predict', run.id, pos, JSON.stringify(edits)],
    queryFn: ({ signal }) =>
      api.predict({ model: model.path, prompt: promptOf(run), edits: editsOf(run, edits), pos }, signal),
    enabled: wanted,
    retry: false,
  })

  const stored = run.predictions[pos]
  const reply = wanted ? result.data : undefined
  const rows: Row[] = reply
    ? merge(reply.base.top, reply.edited.top)
    : (stored?.top ?? []).map((t, i) => ({ token: stored!.topTokens[i]!, base: t.prob, edited: null }))
  const next = run.views[pos + 1]
  const without = edits.length === 1 ? describeEdit(edits[0]!) : `with ${edits.length} edits`
  const ablated = head !== null && isActive(stack, ablateHead(head))

  return (
    <section className="prediction" aria-label="Prediction">
      <h3
        className="pane-title"
        title={`Softmax of the logits after this position: run ${run.id} of ${nameWithHash(model.name, model.contentHash)}, n = 1 prompt of ${run.views.length} tokens, float32 on ${run.provenance.device}`}
      >
        After {pos} <q className="token-text">{run.views[pos]?.text}</q>
        {next && (
          <span title="The token that really follows, and its probability as it is">
            then <q className="token-text">{next.text}</q>
            {stored?.loss != null && ` ${preciseWeight(Math.exp(-stored.loss))}`}
          </span>
        )}
      </h3>
      <div className="prediction-heads">
        <span />
        <span>as it is</span>
        <span
          className={reply ? 'is-ablated clip' : 'is-blank clip'}
          title={edits.map(describeEdit).join('\n')}
        >
          {wanted ? without : 'with edits'}
        </span>
      </div>
      <ol className="prediction-list">
        {rows.slice(0, reply ? 8 : 6).map((row) => (
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
      {wanted && result.isError && (
        <p className="problem" role="alert">
          {result.error.message}
        </p>
      )}
      <button
        type="button"
        className={ablated ? 'button toggle is-on' : 'button toggle'}
        aria-pressed={ablated}
        disabled={head === null}
        title="Sets the head's output (hook_z) to zero at every position and predicts again. Zero ablation is off-distribution: read the direction, not the exact size."
        onClick={() => head && toggleAblation(head)}
      >
        {ablated ? 'Undo ablation' : 'Ablate this head'}
        <kbd>A</kbd>
      </button>
      <AddEdit model={model} />
    </section>
  )
}

/** A token outside the other list has no number there, only a bound. */
function Probability(props: {
  value: number | null
  look: 'base' | 'ablated'
  below?: number | null | undefined
  pending?: boolean
}) {
  const { value, look, below, pending = false } = props
  const none = pending ? '…' : below == null ? '' : `< ${preciseWeight(below)}`
  return <ProbabilityBar value={value} look={look} none={none} />
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
  const most = (row: Row) => Math.max(row.base ?? 0, row.edited ?? 0)
  return [...rows.values()].sort((a, b) => most(b) - most(a)) // the likeliest of either side are in view
}

/** The smallest probability of a list: whatever is not in it has less. */
function least(top: readonly { prob: number | null }[]): number | null {
  return top.at(-1)?.prob ?? null
}
