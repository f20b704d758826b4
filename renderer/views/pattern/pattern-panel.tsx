/**
 * The selected head's pattern with everything that reads it: title, display switches, read-out, legend, and the bar
 * lists of one row and one column. Used whole in the pattern view and compact beside the head grid.
 */
import { useJobOn } from '../../api/jobs.ts'
import { usePattern, useRun } from '../../api/queries.ts'
import { PatternChart } from '../../charts/pattern-chart.tsx'
import type { Display } from '../../charts/pattern-pixels.ts'
import { headName } from '../../state/selection.ts'
import { select, useSelection } from '../../state/store.ts'
import { useTheme } from '../../state/theme.ts'
import { Empty, Failed, Waiting } from '../../ui/notice.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { ExportMenu } from './export-menu.tsx'
import { Legend } from './legend.tsx'
import { LinkLists } from './link-lists.tsx'
import { ReadOut } from './read-out.tsx'

export function PatternPanel({ compact = false }: { compact?: boolean }) {
  const head = useSelection((s) => s.head)
  const runId = useSelection((s) => s.run)
  const log = useSelection((s) => s.log)
  const bos = useSelection((s) => s.bos)
  const theme = useTheme()
  const run = useRun()
  const loaded = usePattern(runId, head)
  const model = useSelection((s) => s.model)
  const running = useJobOn('run', model)

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
  const problem = run.error ?? loaded.error
  if (problem)
    return <Failed error={problem} retry={() => void Promise.all([run.refetch(), loaded.refetch()])} />
  if (!run.data || !loaded.data || loaded.data.run !== run.data.id)
    return <Waiting text="Reading the pattern…" />

  const display: Display = { theme, log, bos }
  const { pattern } = loaded.data
  const shown = headName(loaded.data)
  const views = run.data.views
  return (
    <section
      className={compact ? 'pattern-panel is-compact' : 'pattern-panel'}
      aria-label={`Pattern of ${shown}`}
    >
      <header className="pattern-head">
        <h3 className="pane-title">
          {shown} {!compact && <span>attention weight, rows sum to 1</span>}
        </h3>
        <span className="spacer" />
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
              { value: 'renormalise', label: compact ? 'Renorm.' : 'Renormalise' },
            ]}
            onChange={(next) => select({ bos: next })}
          />
        </span>
        <ExportMenu
          pattern={pattern}
          tokens={views}
          display={display}
          title={`${run.data.modelName} ${shown}`}
          compact={compact}
        />
      </header>
      <div className="pattern-body">
        <div className="pattern-main">
          <PatternChart
            key={run.data.id}
            name={`${run.data.id}/${shown}`}
            title={`Attention pattern of ${shown}`}
            pattern={pattern}
            tokens={views}
            display={display}
            labels={compact ? 84 : 104}
          >
            <ReadOut pattern={pattern} tokens={views} bos={bos} />
          </PatternChart>
        </div>
        <LinkLists pattern={pattern} tokens={views} bos={bos} rows={compact ? 7 : 14}>
          <Legend theme={theme} log={log} />
        </LinkLists>
      </div>
    </section>
  )
}
