/**
 * Ablation sweeps. In: the selected run, a metric, what is taken away and what stands in its place. Out: total effect
 * beside direct effect where it exists, the strongest places, and any of them as an active edit.
 */
import { useMutation } from '@tanstack/react-query'
import type { AblateRequest, OpenedModel, RunDetail } from '../../../core/api/contract.ts'
import { startSweep } from '../../api/experiments.ts'
import { useJobOn } from '../../api/jobs.ts'
import { promptOf } from '../../state/prompt-of.ts'
import { setTool, useTool } from '../../state/store.ts'
import { Segmented } from '../../ui/segmented.tsx'
import { Choice } from '../../ui/select.tsx'
import { WithRun } from '../frame/with-run.tsx'
import { MetricFields, useMetric, useMetricPosition } from '../sweeps/metric-fields.tsx'
import { AblationResult } from './ablation-result.tsx'

type Over = AblateRequest['over']
type Kind = AblateRequest['kind']

const OVERS: readonly { readonly value: Over; readonly label: string }[] = [
  { value: 'heads', label: 'every head' },
  { value: 'mlps', label: 'every MLP' },
  { value: 'layers', label: 'every layer' },
  { value: 'positions', label: 'layer × position' },
]
/** Where a decoder reads an encoder's text. */
const CROSS = { value: 'cross_heads', label: 'every head over the source' } as const
const KINDS: readonly { readonly value: Kind; readonly label: string }[] = [
  { value: 'zero', label: 'zero' },
  { value: 'mean', label: 'mean over texts' },
  { value: 'resample', label: 'another prompt' },
]

export function AblationView() {
  return (
    <WithRun hint="Run a prompt above: every head is then taken away in turn, and the metric says what is lost.">
      {(model, run) => <Workspace model={model} run={run} />}
    </WithRun>
  )
}

function Workspace({ model, run }: { model: OpenedModel; run: RunDetail }) {
  const [over, setOver] = useTool<Over>('over', 'heads')
  const overs = model.spec.encoder ? [...OVERS, CROSS] : OVERS
  const [kind, setKind] = useTool<Kind>('kind', 'zero')
  const [texts, setTexts] = useTool<string>('texts', '')
  const [meanOver, setMeanOver] = useTool<'all' | 'pos'>('meanover', 'all')
  const pos = useMetricPosition(run.views.length)
  const top = run.predictions[pos]?.topTokens ?? []
  const metric = useMetric(model, top[0] ?? null, top[1] ?? null)
  const running = useJobOn('ablate', model.path)
  const lines = texts.split('\n').filter((line) => line.trim() !== '')
  const needsTexts = kind !== 'zero'
  const start = useMutation({
    mutationFn: () =>
      startSweep(
        'ablate',
        {
          model: model.path,
          prompt: promptOf(run),
          over,
          kind,
          metric: metric!,
          ...(needsTexts ? { reference: lines.map((text) => ({ text })) } : {}),
          ...(kind === 'mean' ? { meanOver } : {}),
        },
        `Ablating ${overs.find((o) => o.value === over)?.label}`,
        (id) => setTool('ablation', String(id)),
      ),
  })
  const failed =
    start.error && (start.error as { code?: string }).code !== 'cancelled' ? start.error.message : ''
  return (
    <div className="view sweep-view">
      <div className="toolbar is-wrapping">
        <span className="field">
          <span>take away</span>
          <Choice label="What is ablated" value={over} options={overs} onChange={setOver} />
        </span>
        <span className="field">
          <span>put in its place</span>
          <Choice label="What stands in its place" value={kind} options={KINDS} onChange={setKind} />
        </span>
        {kind === 'mean' && (
          <Segmented
            label="What the mean is over"
            value={meanOver}
            options={[
              { value: 'all', label: 'all positions' },
              { value: 'pos', label: 'position by position' },
            ]}
            onChange={setMeanOver}
          />
        )}
        <MetricFields model={model} answer={top[0] ?? null} wrong={top[1] ?? null} likely={top} />
        <button
          type="button"
          className="button primary"
          disabled={metric === null || running !== undefined || (needsTexts && lines.length === 0)}
          onClick={() => start.mutate()}
        >
          {running ? 'Running…' : 'Ablate'}
        </button>
      </div>
      {needsTexts && (
        <textarea
          className="input editor-text sweep-texts"
          aria-label={
            kind === 'mean' ? 'Texts of the mean, one a line' : 'The other prompt, of the same length'
          }
          rows={kind === 'mean' ? 3 : 1}
          placeholder={
            kind === 'mean'
              ? `texts ${model.spec.encoder ? 'of the decoder ' : ''}whose mean stands in its place, one a line`
              : 'another prompt with as many tokens'
          }
          value={texts}
          spellCheck={false}
          onChange={(event) => setTexts(event.target.value)}
        />
      )}
      <p className="problem sweep-problem" role="alert">
        {failed}
      </p>
      <AblationResult model={model} run={run} />
    </div>
  )
}
