/**
 * The selected head's pattern with everything that reads it: title, display switches, what it is compared with, read-out,
 * legend, and the lists of one row and one column. Used whole in the pattern view and compact beside the head grid.
 */
import { useJobOn } from '../../api/jobs.ts'
import { usePattern, useRun } from '../../api/queries.ts'
import { onOneScale } from '../../charts/derived-pattern.ts'
import type { Display } from '../../charts/pattern-pixels.ts'
import { hasHead } from '../../state/head-name.ts'
import { type Compare, headName } from '../../state/selection.ts'
import { select, useSelection } from '../../state/store.ts'
import { useTheme } from '../../state/theme.ts'
import { Empty, Failed, Waiting } from '../../ui/notice.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { Choice } from '../../ui/select.tsx'
import { EditMenu } from './edit-menu.tsx'
import { ExportMenu } from './export-menu.tsx'
import { HoldButtons } from './hold-buttons.tsx'
import { PatternBody } from './pattern-body.tsx'
import { MASSES, useDerived, useMass, useWeighting, WEIGHTINGS } from './use-derived.ts'
import { type Pair, usePair } from './use-pair.ts'
import { useView } from './use-view.ts'

export function PatternPanel({ compact = false }: { compact?: boolean }) {
  const head = useSelection((s) => s.head)
  const runId = useSelection((s) => s.run)
  const log = useSelection((s) => s.log)
  const bos = useSelection((s) => s.bos)
  const form = useSelection((s) => s.form)
  const compare = useSelection((s) => s.compare)
  const theme = useTheme()
  const run = useRun()
  const [view, setView] = useView(run.data ?? null)
  const loaded = usePattern(runId, head)
  const model = useSelection((s) => s.model)
  const running = useJobOn('run', model)
  const ready = run.data && loaded.data && loaded.data.run === run.data.id ? loaded.data : null
  const current =
    run.data && ready
      ? { run: run.data, head: { layer: ready.layer, head: ready.head }, pattern: ready.pattern }
      : null
  const pair = usePair(current)
  const differs = pair !== null && compare === 'difference'
  const drawn = useDerived(current && { ...current, label: headName(current.head) }, bos, differs)
  const before = useDerived(pair?.before ?? null, bos, differs)
  const after = useDerived(pair?.after ?? null, bos, differs)

  if (runId === null && running) return <Waiting text="Running the prompt…" />
  if (runId === null)
    return (
      <Empty title="No prompt yet">
        <p>Type a prompt above and run it: every head's attention on it appears here.</p>
      </Empty>
    )
  if (!head)
    return (
      <Empty title="No head chosen">
        <p>Click a head in the grid, or use the arrow keys.</p>
      </Empty>
    )
  const spec = run.data?.spec
  if (spec && !hasHead(spec, head))
    return (
      <Empty title={`No head ${headName(head)} here`}>
        <p>
          {run.data?.modelName} has {spec.n_layers} layers of {spec.n_heads} heads, counted from 0. Choose one
          in the grid.
        </p>
      </Empty>
    )
  const problem = run.error ?? loaded.error
  if (problem)
    return <Failed error={problem} retry={() => void Promise.all([run.refetch(), loaded.refetch()])} />
  if (!current) return <Waiting text="Reading the pattern…" />

  const display: Display = { theme, log, bos: drawn.bos }
  const [left, right] =
    before.side && after.side ? onOneScale(before.side.pattern, after.side.pattern) : [null, null]
  const drawnPair = pair && {
    ...pair,
    before: before.side ? { ...before.side, pattern: left ?? before.side.pattern } : pair.before,
    after: before.side && after.side && right ? { ...after.side, pattern: right } : null,
    problem: pair.problem ?? before.problem ?? after.problem,
  }
  const shown = headName(current.head)
  const views = current.run.views
  return (
    <section
      className={compact ? 'pattern-panel is-compact' : 'pattern-panel'}
      aria-label={`Pattern of ${shown}`}
    >
      <header className="pattern-head">
        <h3 className="pane-title">{shown}</h3>
        <What definition={drawn.unit.definition} compact={compact} />
        {pair && <CompareChoice pair={pair} compact={compact} compare={compare} />}
        <HoldButtons compact={compact} run={runId} />
        <div className="pattern-tools">
          {!compact && (
            <Segmented
              label="Form"
              value={form}
              options={[
                { value: 'matrix', label: 'Matrix' },
                { value: 'arcs', label: 'Arcs' },
                { value: 'text', label: 'Text' },
              ]}
              onChange={(next) => select({ form: next })}
            />
          )}
          <Segmented
            label="Scale"
            value={log ? 'log' : 'linear'}
            options={[
              { value: 'linear', label: 'Linear' },
              { value: 'log', label: 'Log' },
            ]}
            onChange={(next) => select({ log: next === 'log' })}
          />
          <span className="field">
            <span title="The first position (beginning of text): attention that has nowhere to go often rests there. Hiding it changes the picture only, never the data.">
              {views[0]?.special ? 'BOS' : 'pos 0'}
            </span>
            <Segmented
              label="First token"
              value={bos}
              options={[
                { value: 'show', label: 'Show' },
                { value: 'hide', label: 'Hide' },
                { value: 'renormalise', label: 'Renorm.' },
              ]}
              onChange={(next) => select({ bos: next })}
            />
          </span>
          {!compact && <EditMenu />}
          {drawn.side && (
            <ExportMenu
              current={drawn.side}
              pair={drawnPair}
              unit={drawn.unit}
              compare={compact && compare === 'both' ? 'difference' : compare}
              form={compact ? 'matrix' : form}
              display={display}
              compact={compact}
            />
          )}
        </div>
      </header>
      {drawn.side ? (
        <PatternBody
          current={drawn.side}
          pair={drawnPair}
          unit={drawn.unit}
          compare={compact && compare === 'both' ? 'difference' : compare}
          form={compact ? 'matrix' : form}
          display={display}
          compact={compact}
          view={view}
          onView={setView}
        />
      ) : drawn.problem ? (
        <p className="problem pattern-problem" role="alert">
          {drawn.problem.message}
        </p>
      ) : (
        <Waiting text="Measuring the values…" />
      )}
    </section>
  )
}

/** What a cell says, and how much of each row is shown. */
function What({ definition, compact }: { definition: string; compact: boolean }) {
  const [weighting, setWeighting] = useWeighting()
  const [mass, setMass] = useMass()
  return (
    <>
      <span title={definition}>
        <Choice label="What a cell says" value={weighting} options={WEIGHTINGS} onChange={setWeighting} />
      </span>
      {!compact && (
        <span title="The fewest keys of each row that together hold this share of it; the others are left out.">
          <Choice label="Keys of each row" value={mass} options={MASSES} onChange={setMass} />
        </span>
      )}
    </>
  )
}

/** Which of the two, or both beside each other, or their difference. */
function CompareChoice({ pair, compact, compare }: { pair: Pair; compact: boolean; compare: Compare }) {
  const names = pair.kind === 'edits' ? (['Before', 'After'] as const) : (['Held', 'Now'] as const)
  const options: { value: Compare; label: string }[] = [
    ...(compact ? [] : [{ value: 'both' as const, label: 'Side by side' }]),
    { value: 'before', label: names[0] },
    { value: 'after', label: names[1] },
    { value: 'difference', label: compact ? 'Diff.' : 'Difference' },
  ]
  return (
    <Segmented
      label="Compare"
      value={compact && compare === 'both' ? 'difference' : compare}
      options={options}
      onChange={(next) => select({ compare: next })}
    />
  )
}
