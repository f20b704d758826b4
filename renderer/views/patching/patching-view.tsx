/**
 * Activation patching. In: the selected run as the clean prompt, a corrupt one, a metric, a site, a direction. Out: a
 * heatmap that fills in as cells are run, the strongest cells, and any one cell as a run of its own.
 */
import { useMutation } from '@tanstack/react-query'
import type { OpenedModel, PatchRequest, RunDetail } from '../../../core/api/contract.ts'
import { hasHeads } from '../../../core/intervene/patch-sites.ts'
import { startSweep } from '../../api/experiments.ts'
import { useJobOn } from '../../api/jobs.ts'
import { setTool, useTool } from '../../state/store.ts'
import { Segmented } from '../../ui/segmented.tsx'
import { Choice } from '../../ui/select.tsx'
import { WithCleanRun } from '../frame/with-clean-run.tsx'
import { MetricFields } from '../sweeps/metric-fields.tsx'
import { failureOf, PairFields } from '../sweeps/pair-fields.tsx'
import { usePair } from '../sweeps/use-pair.ts'
import { EstimateResult } from './estimate-result.tsx'
import { PatchResult } from './patch-result.tsx'

type Site = PatchRequest['site']
type By = NonNullable<PatchRequest['by']>

const SITES: readonly { readonly value: Site; readonly label: string }[] = [
  { value: 'resid_pre', label: 'residual' },
  { value: 'attn_out', label: 'attention out' },
  { value: 'mlp_out', label: 'MLP out' },
  { value: 'z', label: 'head output z' },
  { value: 'q', label: 'queries' },
  { value: 'k', label: 'keys' },
  { value: 'v', label: 'values' },
  { value: 'pattern', label: 'pattern' },
]
/** Where a decoder reads an encoder: what its look at the source writes. */
const CROSS_SITES: typeof SITES = [
  { value: 'cross_attn_out', label: 'attention to the source' },
  { value: 'cross_z', label: 'its heads, z' },
  { value: 'cross_pattern', label: 'its pattern' },
]
const ESTIMATED = {
  written: { label: 'heads and MLPs', sites: ['z', 'mlp_out'] },
  read: { label: 'queries, keys, values', sites: ['q', 'k', 'v'] },
  all: { label: 'all of them', sites: ['z', 'mlp_out', 'q', 'k', 'v'] },
} as const
/** Exact runs beside the estimates. */
const VERIFY = 40

export function PatchingView() {
  return <WithCleanRun>{(model, run) => <Workspace model={model} run={run} />}</WithCleanRun>
}

function Workspace({ model, run }: { model: OpenedModel; run: RunDetail }) {
  const sites = model.spec.encoder ? [...SITES, ...CROSS_SITES] : SITES
  const [chosen, setSite] = useTool<Site>('site', 'resid_pre')
  const site = sites.some(({ value }) => value === chosen) ? chosen : 'resid_pre'
  const [by, setBy] = useTool<By>('by', 'layer,pos')
  const [direction, setDirection] = useTool<'denoise' | 'noise'>('direction', 'denoise')
  const [estimated, setEstimated] = useTool<keyof typeof ESTIMATED>('estimate', 'written')
  const [drop, setDrop] = useTool<'off' | 'on'>('drop', 'off')
  const pair = usePair(model, run)
  const { missing, metric } = pair
  const written = pair.ready ? pair.corrupt : []
  const shownBy: By = hasHeads(site) ? by : 'layer,pos'
  const running = useJobOn('patch', model.path)
  const start = useMutation({
    mutationFn: () =>
      startSweep(
        'patch',
        {
          model: model.path,
          ...pair.prompts,
          site,
          by: shownBy,
          direction,
          metric: metric!,
        },
        `Patching ${sites.find((s) => s.value === site)?.label}`,
        (id) => setTool('patch', String(id)),
      ),
  })
  const estimating = useJobOn('attribute', model.path)
  const estimate = useMutation({
    mutationFn: () =>
      startSweep(
        'attribute',
        {
          model: model.path,
          ...pair.prompts,
          metric: metric!,
          sites: ESTIMATED[estimated].sites,
          verify: VERIFY,
          ...(drop === 'on' ? { gradDrop: true } : {}),
        },
        `Estimating ${ESTIMATED[estimated].label}`,
        (id) => setTool('attribute', String(id)),
      ),
  })
  return (
    <div className="view sweep-view">
      <PairFields run={run} pair={pair} failed={failureOf(estimate.error, start.error)} />
      <div className="toolbar is-wrapping">
        <span className="field">
          <span>patch</span>
          <Choice label="Site" value={site} options={sites} onChange={setSite} />
        </span>
        <Segmented
          label="Columns"
          value={shownBy}
          options={[
            { value: 'layer,pos', label: 'layer × position' },
            { value: 'layer,head', label: 'layer × head', disabled: !hasHeads(site) },
          ]}
          onChange={setBy}
        />
        <Segmented
          label="Direction"
          value={direction}
          options={[
            { value: 'denoise', label: 'clean → corrupt' },
            { value: 'noise', label: 'corrupt → clean' },
          ]}
          onChange={setDirection}
        />
        <MetricFields model={model} answer={pair.answer} wrong={pair.wrong} likely={pair.likely} />
        <button
          type="button"
          className="button primary"
          disabled={missing !== null || running !== undefined}
          title={missing ?? undefined}
          onClick={() => start.mutate()}
        >
          {running ? 'Running…' : 'Patch'}
        </button>
        <span className="field">
          <span title="What attribution patching estimates at every position. Queries and keys have their softmax recomputed (AtP*).">
            estimate
          </span>
          <Choice
            label="What is estimated"
            value={estimated}
            options={(['written', 'read', 'all'] as const).map((value) => ({
              value,
              label: ESTIMATED[value].label,
            }))}
            onChange={setEstimated}
          />
        </span>
        <button
          type="button"
          className={drop === 'on' ? 'button toggle is-on' : 'button toggle'}
          aria-pressed={drop === 'on'}
          title="GradDrop (AtP*): also averages over passes in which one layer passes no gradient, so that effects that cancel are not missed. One more pass a layer."
          onClick={() => setDrop(drop === 'on' ? 'off' : 'on')}
        >
          GradDrop
        </button>
        <button
          type="button"
          className="button"
          disabled={missing !== null || estimating !== undefined}
          title={
            missing ??
            'Attribution patching: every head, MLP and position from a few passes with gradients, and exact runs of the largest'
          }
          onClick={() => estimate.mutate()}
        >
          {estimating ? 'Estimating…' : 'Estimate'}
        </button>
      </div>
      <div className="patch-results">
        <PatchResult model={model} run={run} corrupt={written} likely={pair.likely} />
        <EstimateResult model={model} run={run} corrupt={written} />
      </div>
    </div>
  )
}
