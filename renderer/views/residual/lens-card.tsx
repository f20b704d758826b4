/** One cell of the residual stream: its likeliest tokens, who wrote what changed since another cell, and what to do with it. */
import { useQuery } from '@tanstack/react-query'
import type { LensReply, OpenedModel, PromptInput, RunDetail } from '../../../core/api/contract.ts'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import type { Edit } from '../../../core/run/types.ts'
import { api } from '../../api/client.ts'
import { isActive, toggleEdit } from '../../state/edit-history.ts'
import { preciseWeight, signedWeight } from '../../state/format.ts'
import { promptWith } from '../../state/prompt-of.ts'
import { parseHead } from '../../state/selection.ts'
import { select, useSelection } from '../../state/store.ts'
import { SignedBar } from '../../ui/bars.tsx'
import { Choice } from '../../ui/select.tsx'
import { aboutRun } from '../sweeps/about-sweep.ts'
import { borderName, type CellRef, formatCell, type Side } from './cells.ts'
import { NormProfile } from './norm-profile.tsx'

interface Props {
  readonly model: OpenedModel
  /** Whose encoder text both prompts have, where there is one. */
  readonly run: RunDetail
  /** Of each prompt: its tokens and its lens; the other one may be absent. */
  readonly views: Readonly<Record<Side, readonly TokenView[]>>
  readonly lens: LensReply | undefined
  /** Of this prompt's run. */
  readonly edits: readonly Edit[]
  readonly cell: CellRef | null
  /** The chosen cell to compare with. */
  readonly since: CellRef | null
  readonly kind: 'below' | 'start' | 'cell'
  readonly onKind: (kind: 'below' | 'start' | 'cell') => void
  /** Begins to carry this cell; absent while there is no other prompt. */
  readonly onCarry?: () => void
}

const SHOWN = 16

export function LensCard({ model, run, views, lens, edits, cell, since, kind, onKind, onCarry }: Props) {
  const stack = useSelection((s) => s.edits)
  const last = model.spec.n_layers
  const promptOf = (side: Side): PromptInput =>
    promptWith(
      run,
      views[side].map((view) => view.id),
    )
  const editsOf = (side: Side) => (side === 'this' ? edits : [])
  const inRun = ({ side, pos, border }: CellRef) => ({
    prompt: promptOf(side),
    pos,
    border,
    ...(editsOf(side).length > 0 ? { edits: editsOf(side) } : {}),
  })
  const from: CellRef | null =
    cell === null
      ? null
      : kind === 'cell'
        ? since
        : cell.border === 0
          ? null
          : { ...cell, border: kind === 'start' ? 0 : cell.border - 1 }
  const change = useQuery({
    queryKey: ['change', model.path, promptOf('this'), promptOf('other'), edits, from, cell],
    queryFn: ({ signal }) =>
      api.change(
        {
          model: model.path,
          from: inRun(from!),
          to: inRun(cell!),
        },
        signal,
      ),
    enabled: from !== null && cell !== null,
    retry: false,
  })
  const shown =
    cell && lens?.layers.find((l) => l.layer === cell.border)?.positions.find((c) => c.pos === cell.pos)
  if (!cell || !shown || !lens)
    return (
      <p className="muted small-text">
        Choose a cell: its likeliest tokens, and which heads and MLPs wrote what changed there. Shift-click a
        second one to see who wrote the difference between the two.
      </p>
    )
  const { border, pos } = cell
  const text = views[cell.side]
  const edit =
    border < last
      ? { hook: `blocks.${border}.hook_resid_pre`, pos, op: 'zero' as const }
      : { hook: `blocks.${border - 1}.hook_resid_post`, pos, op: 'zero' as const }
  const on = isActive(stack, edit)
  const about = aboutRun(
    model,
    lens.definition,
    edits.length > 0 && cell.side === 'this' ? ['with the active edits'] : [],
  )
  const writers = change.data?.writers.slice(0, SHOWN) ?? []
  const shares = (change.data?.writers ?? []).reduce((sum, { share }) => sum + share, 0)
  const most = Math.max(1e-9, ...writers.map((w) => Math.abs(w.share)))
  const named = (at: CellRef) =>
    `${at.side === cell.side ? '' : at.side === 'this' ? 'this prompt, ' : 'other prompt, '}${borderName(at.border, last)} · ${at.pos}`
  return (
    <>
      <section aria-label="The cell">
        <h3 className="pane-title">
          {border === last ? 'end' : `before L${border}`} · {pos} <q>{text[pos]?.text}</q>
          {model.spec.encoder && <span title="The encoder's own stream is not shown here.">decoder</span>}
          {cell.side === 'other' && <span>other prompt</span>}
        </h3>
        <ol className="prediction-list is-single" title={about}>
          {shown.top.map((t) => (
            <li key={t.id} className={t.id === text[pos + 1]?.id ? 'is-target' : ''}>
              <span className="token-text clip">{lens.words[t.id]?.text ?? t.id}</span>
              <span className="prob prob-base">
                <span className="prob-bar" style={{ width: `${(t.prob ?? 0) * 100}%` }} />
                <span className="prob-number">{t.prob === null ? 'undefined' : preciseWeight(t.prob)}</span>
              </span>
            </li>
          ))}
        </ol>
        <p className="button-row">
          {cell.side === 'this' && (
            <button
              type="button"
              className={on ? 'button small toggle is-on' : 'button small toggle'}
              aria-pressed={on}
              onClick={() => toggleEdit(edit)}
            >
              Zero the residual here
            </button>
          )}
          {onCarry && (
            <button
              type="button"
              className="button small"
              title="Then choose a cell of the other prompt. Dragging the cell there does the same."
              onClick={onCarry}
            >
              Carry it…
            </button>
          )}
        </p>
      </section>
      <section aria-label="Who wrote it">
        <h3 className="pane-title">
          Written since
          <Choice
            label="Since which cell"
            value={kind}
            options={[
              { value: 'below', label: border <= 1 ? 'in' : `L${border - 1}` },
              { value: 'start', label: 'the input' },
              ...(since && formatCell(since) !== formatCell(cell)
                ? [{ value: 'cell' as const, label: named(since) }]
                : []),
            ]}
            onChange={onKind}
          />
        </h3>
        {from === null && <p className="muted small-text">Nothing is written before the first block.</p>}
        {change.isError && <p className="problem">{change.error.message}</p>}
        {from !== null && change.data && (
          <>
            <p className="muted small-text" title="Shares are projections on the change.">
              |change| {preciseWeight(change.data.distance)}; shares sum to {shares.toFixed(2)}
              {Math.abs(shares - 1) > 0.01 && ', an edit wrote the rest'}
            </p>
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
                      <SignedBar value={writer.share} most={most} />
                      <span className="number">{signedWeight(writer.share)}</span>
                    </button>
                  </li>
                )
              })}
            </ol>
          </>
        )}
      </section>
      <section aria-label="Norms and cosines">
        <h3 className="pane-title">
          Through the layers <span>position {pos}</span>
        </h3>
        <NormProfile
          model={model}
          prompt={promptOf(cell.side)}
          edits={editsOf(cell.side)}
          pos={pos}
          border={border}
        />
      </section>
    </>
  )
}
