/**
 * The residual stream, layer over layer: what the model would say at every block border (logit lens), one lane a position.
 * In: the selected run, and another prompt beside it. Out: a table of cells for each; one cell in detail, and who wrote
 * it; a cell that is carried into the other prompt, and what that changes.
 */
import { type ReactNode, useState } from 'react'
import type { LensReply, OpenedModel, RunDetail } from '../../../core/api/contract.ts'
import { api } from '../../api/client.ts'
import { useModel, useRun } from '../../api/queries.ts'
import { rampGradient } from '../../charts/color.ts'
import { FigureMenu } from '../../charts/figure-menu.tsx'
import { actingEdits } from '../../state/edits.ts'
import { formatToken, parseToken } from '../../state/metric.ts'
import { promptWith } from '../../state/prompt-of.ts'
import { select, setTool, useSelection, useTool } from '../../state/store.ts'
import { useTheme } from '../../state/theme.ts'
import { Empty, Failed, Waiting } from '../../ui/notice.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { TokenField } from '../sweeps/token-field.tsx'
import {
  borderName,
  type CellRef,
  formatCarry,
  formatCell,
  type Place,
  parseCarry,
  parseCell,
} from './cells.ts'
import { LensCard } from './lens-card.tsx'
import { lensFigure } from './lens-figure.ts'
import { LensGrid, type LensSource, pageOf, useLens } from './lens-grid.tsx'
import type { LensColour } from './lens-table.tsx'
import { useOther } from './use-other.ts'

export function ResidualView() {
  const model = useModel()
  const run = useRun()
  if (run.isError) return <Failed error={run.error} retry={() => void run.refetch()} />
  if (!model.data) return <Waiting text="Opening the checkpoint…" />
  if (!run.data)
    return (
      <Empty title="No prompt yet">
        <p>Run a prompt above: every position then shows what the model would say after each layer.</p>
      </Empty>
    )
  return <Lanes key={run.data.id} model={model.data} run={run.data} />
}

const ENDS: Readonly<Record<LensColour, readonly [string, string]>> = {
  probability: ['0', '1'],
  entropy: ['sure', 'even'],
  loss: ['0', '8 nats'],
  answer: ['0', '1'],
  rank: ['last', 'first'],
}

function Lanes({ model, run }: { model: OpenedModel; run: RunDetail }) {
  const theme = useTheme()
  const [colour, setColour] = useTool<LensColour>('lens', 'probability')
  const given = useSelection((s) => s.tool.answer)
  const query = useSelection((s) => s.query)
  const edits = actingEdits(useSelection((s) => s.edits))
  const [which, setWhich] = useTool<'edited' | 'plain'>('lensrun', 'edited')
  const other = useOther(model, run)
  const [border] = useTool<string>('border', '')
  const [otherCell] = useTool<string>('othercell', '')
  const [carried, setCarried] = useTool<string>('carry', '')
  const [kind, setKind] = useTool<'below' | 'start' | 'cell'>('since', 'below')
  const [sinceText] = useTool<string>('sincecell', '')
  const [held, setHeld] = useState<CellRef | null>(null)
  const answer = parseToken(given ?? '')

  const last = model.spec.n_layers
  const causal = model.spec.causal !== false
  const views = { this: run.views, other: other.views }
  const ids = { this: run.views.map((view) => view.id), other: other.views.map((view) => view.id) }
  const limits = { borders: last + 1, lengths: { this: views.this.length, other: views.other.length } }
  const own = query === null ? null : parseCell(`t${Math.min(Number(border), last)}.${query}`, limits)
  const mine = border === '' ? null : own
  const theirs = parseCell(otherCell, limits)
  const since = parseCell(sinceText, limits)
  const carry = parseCarry(carried, limits)
  const cell = theirs ?? mine
  const asked = { model: model.path, top: 5, ...(answer ? { answer: answer.id } : {}) }
  const acting = which === 'edited' ? edits : []

  const lensOf = (side: 'this' | 'other', with_: typeof edits): LensSource => ({
    key: [model.path, ids[side], answer?.id ?? null, with_],
    ask: (positions, signal) =>
      api.lens(
        {
          ...asked,
          prompt: promptWith(run, ids[side]),
          positions,
          ...(with_.length > 0 ? { edits: with_ } : {}),
        },
        signal,
      ),
  })
  const patched: LensSource | null = carry && {
    key: [model.path, ids, answer?.id ?? null, carried, acting],
    ask: (positions, signal) => {
      const at = ({ side, border, pos }: CellRef) => ({
        prompt: promptWith(run, ids[side]),
        border,
        pos,
        ...(side === 'this' && acting.length > 0 ? { edits: acting } : {}),
      })
      return api.patched({ ...asked, positions, from: at(carry.from), to: at(carry.to) }, signal)
    },
  }
  const source = { this: lensOf('this', acting), other: lensOf('other', []) }
  const side = cell?.side ?? 'this'
  const around = useLens(cell ? source[side] : null, pageOf(views[side].length, cell?.pos ?? 0))

  const pick = (at: 'this' | 'other') => (place: Place | null, compare: boolean) => {
    if (compare && place && cell) {
      setTool('sincecell', formatCell({ side: at, ...place }))
      return setKind('cell')
    }
    if (at === 'other') return setTool('othercell', place ? formatCell({ side: at, ...place }) : '')
    setTool('othercell', '')
    setTool('border', place ? String(place.border) : '')
    return select({ query: place?.pos ?? null, key: null, also: [] }, { replace: true })
  }
  const drop = (at: 'this' | 'other') => (place: Place) => {
    if (held) setCarried(formatCarry({ from: held, to: { side: at, ...place } }))
    setHeld(null)
  }
  const drag = (at: 'this' | 'other') => (place: Place) => setHeld({ side: at, ...place })
  const name = (at: CellRef) =>
    `${borderName(at.border, last)} · ${at.pos} ‘${views[at.side][at.pos]?.text ?? ''}’ of ${at.side === 'this' ? 'this prompt' : 'the other prompt'}`
  const shared = {
    vocab: model.spec.d_vocab,
    colour,
    causal,
  }
  const both = other.views.length > 0
  // Where a decoder reads an encoder, the lanes are the decoder's, over one source.
  const stack = model.spec.encoder ? <span>residual stream of the decoder</span> : null
  const tools =
    (what: string, tokens: 'this' | 'other', plain: boolean) =>
    (lens: LensReply, positions: readonly number[]): ReactNode => (
      <FigureMenu
        name={what}
        figure={() =>
          lensFigure({
            lens,
            views: views[tokens],
            vocab: model.spec.d_vocab,
            colour,
            title: `logit lens${model.spec.encoder ? ' of the decoder' : ''}, ${what}`,
            answer: answer?.text ?? null,
            reproduce: plain
              ? { kind: 'lens', request: { ...asked, prompt: promptWith(run, ids[tokens]), positions } }
              : null,
          })
        }
      />
    )
  return (
    <div className="view sweep-view">
      <div className="toolbar is-wrapping">
        <span className="field">
          <span>colour</span>
          <Segmented
            label="What colours a cell"
            value={colour}
            options={[
              { value: 'probability', label: 'top probability' },
              { value: 'entropy', label: 'entropy' },
              { value: 'loss', label: 'loss' },
              { value: 'answer', label: 'answer', disabled: !answer },
              { value: 'rank', label: 'its rank', disabled: !answer },
            ]}
            onChange={setColour}
          />
        </span>
        <TokenField
          label="answer"
          model={model}
          value={answer}
          likely={run.predictions.at(-1)?.topTokens ?? []}
          onChange={(token) => {
            setTool('answer', formatToken(token))
            if (colour !== 'rank') setColour('answer')
          }}
        />
        {edits.length > 0 && (
          <Segmented
            label="Which run"
            value={which}
            options={[
              { value: 'plain', label: 'as it is' },
              { value: 'edited', label: edits.length === 1 ? 'with the edit' : `with ${edits.length} edits` },
            ]}
            onChange={setWhich}
          />
        )}
        <span className="legend" title={around.data?.definition}>
          {ENDS[colour][0]}
          <i style={{ background: rampGradient(theme) }} />
          {ENDS[colour][1]}
        </span>
      </div>
      <div className="toolbar is-wrapping">
        <input
          className="input other-input mono"
          aria-label="Other prompt"
          placeholder={
            model.spec.encoder
              ? "another text of the decoder, over the same source: then drag a cell of one table onto the other's"
              : 'another prompt: then drag a cell of one table onto a cell of the other'
          }
          spellCheck={false}
          value={other.text}
          onChange={(event) => other.setText(event.target.value)}
        />
        {held && (
          <span className="carry-note" role="status">
            carrying {name(held)}: choose where it goes{' '}
            <button type="button" className="button small" onClick={() => setHeld(null)}>
              Cancel
            </button>
          </span>
        )}
        {other.problem && (
          <span className="problem" role="alert">
            {other.problem}
          </span>
        )}
      </div>
      <div className="sweep-result">
        <div className="lens-stack">
          <LensGrid
            {...shared}
            label={acting.length > 0 ? 'This prompt with the edits' : 'This prompt'}
            title={
              <>
                This prompt {stack}
                {acting.length > 0 && <span>with {acting.length === 1 ? 'the edit' : 'the edits'}</span>}
              </>
            }
            views={views.this}
            source={source.this}
            before={acting.length > 0 ? lensOf('this', []) : null}
            selected={theirs ? null : mine}
            since={since?.side === 'this' && kind === 'cell' ? since : null}
            shared
            onPick={pick('this')}
            tools={tools('this prompt', 'this', acting.length === 0)}
            {...(both ? { onDrag: drag('this'), onDrop: drop('this'), awaiting: held !== null } : {})}
          />
          {both && (
            <LensGrid
              {...shared}
              label="The other prompt"
              title={<>The other prompt {stack}</>}
              views={views.other}
              source={source.other}
              selected={theirs}
              since={since?.side === 'other' && kind === 'cell' ? since : null}
              shared={false}
              onPick={pick('other')}
              onDrag={drag('other')}
              onDrop={drop('other')}
              awaiting={held !== null}
              tools={tools('the other prompt', 'other', true)}
            />
          )}
          {both && patched && carry && (
            <LensGrid
              {...shared}
              label="With the carried cell"
              title={
                <>
                  {carry.to.side === 'this' ? 'This prompt' : 'The other prompt'}, carried
                  <span>
                    {name(carry.from)} → {borderName(carry.to.border, last)} · {carry.to.pos}; grey: out of
                    its reach
                  </span>
                </>
              }
              views={views[carry.to.side]}
              source={patched}
              before={source[carry.to.side]}
              selected={null}
              cone={carry.to}
              shared={carry.to.side === 'this'}
              onPick={pick(carry.to.side)}
              tools={(lens, positions) => (
                <span className="button-row">
                  <button type="button" className="button small" onClick={() => setCarried('')}>
                    Remove
                  </button>
                  {tools('with the carried cell', carry.to.side, false)(lens, positions)}
                </span>
              )}
            />
          )}
        </div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling part is reached by keyboard */}
        <aside className="sweep-side" aria-label="The chosen cell" tabIndex={0}>
          <LensCard
            model={model}
            run={run}
            views={views}
            lens={around.data}
            edits={acting}
            cell={cell}
            since={since}
            kind={kind === 'cell' && !since ? 'below' : kind}
            onKind={setKind}
            {...(both && cell ? { onCarry: () => setHeld(cell) } : {})}
          />
        </aside>
      </div>
    </div>
  )
}
