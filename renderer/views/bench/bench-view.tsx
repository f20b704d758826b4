/**
 * The selected head from first principles, on the current prompt: every step as a real matrix, each with its formula; one
 * open in large; what is changed in it and the exact effect; what its sources write, how sharp it is, how it learns.
 */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import type { BenchEditReply, BenchReply, OpenedModel, RunDetail } from '../../../core/api/contract.ts'
import { api } from '../../api/client.ts'
import { rowOf } from '../../api/pattern.ts'
import { useModel, usePattern, useRun } from '../../api/queries.ts'
import { rampGradient, signedGradient } from '../../charts/color.ts'
import { preciseWeight } from '../../state/format.ts'
import { parseToken } from '../../state/metric.ts'
import { type HeadId, headName, sameHead } from '../../state/selection.ts'
import { select, setHover, useHover, useSelection, useTool } from '../../state/store.ts'
import { useTheme } from '../../state/theme.ts'
import { Empty, Failed, Waiting } from '../../ui/notice.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { Choice } from '../../ui/select.tsx'
import '../../ui/bench.css'
import { changesOf } from './changes.ts'
import { Accounting, Basis } from './checks.tsx'
import { EditBar } from './edit-bar.tsx'
import { Effect } from './effect.tsx'
import { Gradients } from './gradients.tsx'
import { difference, extent } from './matrix.ts'
import { type Cell, MatrixGrid } from './matrix-grid.tsx'
import { Reach } from './reach.tsx'
import { Sharpness } from './sharpness.tsx'
import { Sources } from './sources.tsx'
import { type Stage, stagesOf } from './stages.ts'
import { StepStrip } from './step-strip.tsx'

export function BenchView() {
  const model = useModel()
  const run = useRun()
  const head = useSelection((s) => s.head)
  if (run.isError) return <Failed error={run.error} retry={() => void run.refetch()} />
  if (!model.data) return <Waiting text="Opening the checkpoint…" />
  if (!run.data)
    return (
      <Empty title="No prompt yet">
        <p>Run a prompt above: then a head is taken apart, from the residual stream to what it writes.</p>
      </Empty>
    )
  if (!head)
    return (
      <Empty title="No head yet">
        <p>Choose a head under Heads: it is taken apart here, step by step.</p>
      </Empty>
    )
  return <Bench key={run.data.id} model={model.data} run={run.data} head={head} />
}

function Bench({ model, run, head }: { model: OpenedModel; run: RunDetail; head: HeadId }) {
  const length = run.views.length
  const tool = useSelection((s) => s.tool)
  const locked = useSelection((s) => s.query)
  const lockedKey = useSelection((s) => s.key)
  const query = locked !== null && locked < length ? locked : length - 1
  const shown = usePattern(run.id, head)
  const pattern = sameHead(shown.data ?? null, head) ? shown.data!.pattern : null
  const strongest = useMemo(() => (pattern ? mostAttended(rowOf(pattern, query)) : null), [pattern, query])
  const chosen = lockedKey !== null && lockedKey < length ? lockedKey : strongest
  // A run that keeps no pattern has none to choose from.
  const keyAt = chosen ?? (shown.isError ? 0 : null)
  const answer = parseToken(tool.answer ?? '') ?? run.predictions[query]?.topTokens[0] ?? null
  const place = { model: model.path, prompt: { ids: run.views.map((view) => view.id) }, ...head }
  const bench = useQuery({
    queryKey: ['bench', model.path, run.id, head.layer, head.head, query, keyAt, answer?.id],
    queryFn: ({ signal }) =>
      api.benchHead({ ...place, query, key: keyAt!, ...(answer ? { answer: answer.id } : {}) }, signal),
    enabled: keyAt !== null,
    placeholderData: keepPreviousData,
    retry: false,
  })
  const changes = changesOf(tool, length)
  const edit = useQuery({
    queryKey: ['bench-edit', model.path, run.id, head.layer, head.head, changes],
    queryFn: ({ signal }) => api.benchEdit({ ...place, ...changes! }, signal),
    enabled: changes !== null,
    placeholderData: keepPreviousData,
    retry: false,
  })
  if (bench.isError) return <Failed error={bench.error} retry={() => void bench.refetch()} />
  if (!bench.data) return <Waiting text={`Taking ${headName(head)} apart…`} />
  return (
    <Machine
      model={model}
      run={run}
      head={head}
      bench={bench.data}
      changed={changes !== null}
      edit={changes === null ? null : (edit.data ?? null)}
      problem={changes !== null && edit.isError ? edit.error.message : null}
      answer={answer?.text ?? null}
    />
  )
}

function mostAttended(row: Float32Array): number {
  return row.reduce((best, weight, key) => (weight > row[best]! ? key : best), 0)
}

type Panel = 'effect' | 'sources' | 'sharpness' | 'reach' | 'gradients' | 'basis' | 'counts'
type Shown = 'before' | 'changed' | 'difference'

const PANELS: readonly { readonly value: Panel; readonly label: string }[] = [
  { value: 'effect', label: 'Effect of the changes' },
  { value: 'sources', label: 'Source contributions' },
  { value: 'sharpness', label: 'Sharpness, ranks, loss' },
  { value: 'reach', label: 'Reach of a score' },
  { value: 'gradients', label: 'Routing gradients, nudge' },
  { value: 'basis', label: 'Basis check' },
  { value: 'counts', label: 'Parameters, memory' },
]

interface MachineProps {
  readonly model: OpenedModel
  readonly run: RunDetail
  readonly head: HeadId
  readonly bench: BenchReply
  readonly changed: boolean
  readonly edit: BenchEditReply | null
  readonly problem: string | null
  readonly answer: string | null
}

function Machine({ model, run, head, bench, changed, edit, problem, answer }: MachineProps) {
  const theme = useTheme()
  const [layout, setLayout] = useTool<'app' | 'lecture'>('bench_layout', 'app')
  const [name, setName] = useTool<string>('bench_step', 'weights')
  const [side, setSide] = useTool<string>('bench_side', '')
  const stages = useMemo(() => stagesOf(bench.steps, edit, layout === 'lecture'), [bench.steps, edit, layout])
  const open = Math.max(
    0,
    stages.findIndex((stage) => stage.name === name),
  )
  // Until a panel is chosen, a change shows its effect at once.
  const panel = PANELS.find(({ value }) => value === side)?.value ?? (changed ? 'effect' : 'sources')
  const scores = bench.steps.find((step) => step.name === 'masked scores')!
  return (
    <div className="view sweep-view">
      <div className="toolbar is-wrapping bench-toolbar">
        <Segmented
          label="Layout"
          value={layout}
          options={[
            { value: 'app', label: 'rows are queries' },
            { value: 'lecture', label: 'lecture layout' },
          ]}
          onChange={setLayout}
        />
        <EditBar tokens={bench.tokens} scores={scores} query={bench.query} keyAt={bench.key} />
      </div>
      <StepStrip
        stages={stages}
        open={open}
        theme={theme}
        changed={changed}
        onOpen={(index) => setName(stages[index]!.name)}
      />
      <div className="sweep-result bench-result">
        <OpenStep stage={stages[open]!} bench={bench} lecture={layout === 'lecture'} />
        <aside className="sweep-side bench-side">
          <Choice label="What is shown beside the step" value={panel} options={PANELS} onChange={setSide} />
          {problem && (
            <p className="problem" role="alert">
              {problem}
            </p>
          )}
          {panel === 'effect' &&
            (edit ? (
              <Effect edit={edit} query={bench.query} />
            ) : (
              <p className="muted small-text">
                {changed
                  ? 'Running the changed head…'
                  : 'Type a score, move the temperature, drop the mask or √d_k: what the model then says stands here.'}
              </p>
            ))}
          {panel === 'sources' && <Sources bench={bench} answer={answer} />}
          {panel === 'sharpness' && <Sharpness bench={bench} />}
          {panel === 'reach' && <Reach bench={bench} />}
          {panel === 'gradients' && <Gradients model={model} run={run} head={head} bench={bench} />}
          {panel === 'basis' && <Basis model={model} run={run} head={head} />}
          {panel === 'counts' && <Accounting model={model} />}
        </aside>
      </div>
    </div>
  )
}

/** One step in large, with the number under the pointer. */
function OpenStep({ stage, bench, lecture }: { stage: Stage; bench: BenchReply; lecture: boolean }) {
  const theme = useTheme()
  const [shown, setShown] = useState<Shown>('changed')
  const [cell, setCell] = useState<Cell | null>(null)
  const over = useHover()
  const { after, before, axes } = stage
  const delta = useMemo(() => (after ? difference(after, before) : null), [after, before])
  const view = after === null ? 'before' : shown
  const grid = view === 'difference' ? delta! : view === 'changed' ? after! : before
  const scale = view === 'difference' ? 'signed' : stage.scale
  const range = useMemo(
    () => (view === 'difference' ? extent(grid.values) : { end: stage.end, largest: stage.largest }),
    [view, grid, stage],
  )
  const square = axes.includes('key')
  const place = (at: Cell | null) => {
    setCell(at)
    if (!at) return setHover(null, null)
    const [first, second] = lecture ? [at.column, at.row] : [at.row, at.column]
    setHover(first, square ? second : null)
  }
  const pick = (at: Cell) => {
    const [first, second] = lecture ? [at.column, at.row] : [at.row, at.column]
    select({ query: first, key: square ? second : null, also: [] }, { replace: true })
  }
  const turn = (first: number | null, second: number | null) =>
    lecture ? { row: second, column: first } : { row: first, column: second }
  const elsewhere =
    over.query !== null && square && over.key !== null ? (turn(over.query, over.key) as Cell) : null
  const hovered = cell ?? elsewhere
  const value = hovered && (grid.values[hovered.row * grid.shape[1] + hovered.column] ?? null)
  const end = scale === 'weight' ? '1' : preciseWeight(range.end)
  return (
    <section className="sweep-main" aria-label={`Step: ${stage.name}`}>
      <div className="bench-head">
        <h3 className="pane-title">
          {stage.name}
          <span className="mono bench-open-formula">{stage.formula}</span>
          <span>
            {axes[0]} {grid.shape[0]} × {axes[1]} {grid.shape[1]}
          </span>
        </h3>
        {after && (
          <Segmented
            label="Before or after the changes"
            value={view}
            options={[
              { value: 'before', label: 'before' },
              { value: 'changed', label: 'changed' },
              { value: 'difference', label: 'difference' },
            ]}
            onChange={setShown}
          />
        )}
        <span className="legend" title={`largest magnitude ${preciseWeight(range.largest)}`}>
          {scale === 'weight' ? '0' : `−${end}`}
          <i style={{ background: scale === 'weight' ? rampGradient(theme) : signedGradient(theme) }} />
          {scale === 'weight' ? end : `+${end}`}
          {range.largest > range.end && ` · to ${preciseWeight(range.largest)}`}
        </span>
      </div>
      <p className="bench-reading" role="status">
        {hovered ? (
          <>
            {label(axes[0], hovered.row)} · {label(axes[1], hovered.column)}
            <b>{value === null ? (square ? 'hidden' : 'none') : precise(value)}</b>
          </>
        ) : (
          <span className="muted">{stage.note ?? 'Hover a cell for its number; click to lock it.'}</span>
        )}
      </p>
      <MatrixGrid
        label={stage.name}
        grid={grid}
        axes={axes}
        tokens={bench.tokens}
        scale={scale}
        end={range.end}
        theme={theme}
        marked={turn(bench.query, square ? bench.key : null)}
        hovered={hovered}
        onHover={place}
        onPick={pick}
      />
    </section>
  )

  function label(axis: string, index: number): string {
    const token = axis === 'pos' || axis === 'query' || axis === 'key' ? bench.tokens[index]?.text : undefined
    return `${axis} ${index}${token === undefined ? '' : ` ‘${token}’`}`
  }
}

/** Six digits: what a float32 is worth. */
function precise(value: number): string {
  return String(Number(value.toPrecision(6))).replace('-', '−')
}
