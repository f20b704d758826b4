/**
 * The residual stream, layer over layer: what the model would say at every block border (logit lens), one lane a position.
 * In: the selected run, and another prompt beside it. Out: a table of cells for each; one cell in detail, and who wrote
 * it; a cell that is carried into the other prompt, and what that changes.
 */
import type { OpenedModel, RunDetail } from '../../../core/api/contract.ts'
import { useModel, useRun } from '../../api/queries.ts'
import { Empty, Failed, Waiting } from '../../ui/notice.tsx'
import { LensCard } from './lens-card.tsx'
import { LensLanes } from './lens-lanes.tsx'
import { LensToolbar } from './lens-toolbar.tsx'
import { useLanes } from './use-lanes.ts'

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

function Lanes({ model, run }: { model: OpenedModel; run: RunDetail }) {
  const lanes = useLanes(model, run)
  const { views, around, acting, cell, since, kind, setKind, other, setHeld } = lanes
  return (
    <div className="view sweep-view">
      <LensToolbar model={model} run={run} lanes={lanes} />
      <div className="sweep-result">
        <LensLanes model={model} run={run} lanes={lanes} />
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling part is reached by keyboard */}
        <aside className="sweep-side" aria-label="The chosen cell" tabIndex={0}>
          <LensCard
            model={model}
            run={run}
            views={views}
            lens={around}
            edits={acting}
            cell={cell}
            since={since}
            kind={kind === 'cell' && !since ? 'below' : kind}
            onKind={setKind}
            {...(other.views.length > 0 && cell ? { onCarry: () => setHeld(cell) } : {})}
          />
        </aside>
      </div>
    </div>
  )
}
