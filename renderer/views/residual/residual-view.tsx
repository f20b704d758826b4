/**
 * The residual stream, layer over layer: what the model would say at every block border (logit lens), one lane a position.
 * In: the selected run, and another prompt beside it. Out: a table of cells for each; one cell in detail, and who wrote
 * it; a cell that is carried into the other prompt, and what that changes.
 */
import type { OpenedModel, RunDetail } from '../../../core/api/contract.ts'
import { WithRun } from '../frame/with-run.tsx'
import { LensCard } from './lens-card.tsx'
import { LensLanes } from './lens-lanes.tsx'
import { LensToolbar } from './lens-toolbar.tsx'
import { useLanes } from './use-lanes.ts'

export function ResidualView() {
  return (
    <WithRun hint="Run a prompt above: every position then shows what the model would say after each layer.">
      {(model, run) => <Lanes key={run.id} model={model} run={run} />}
    </WithRun>
  )
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
