/**
 * Activation patching. In: the selected run as the clean prompt, a corrupt one, a metric, a site, a direction. Out: a
 * heatmap that fills in as cells are run, the strongest cells, and any one cell as a run of its own.
 */
import { useMutation, useQuery } from '@tanstack/react-query'
import { useDeferredValue } from 'react'
import type { OpenedModel, PatchRequest, RunDetail } from '../../../core/api/contract.ts'
import { api } from '../../api/client.ts'
import { startSweep } from '../../api/experiments.ts'
import { useJobOn } from '../../api/jobs.ts'
import { useModel, useRun } from '../../api/queries.ts'
import { setTool, useTool } from '../../state/store.ts'
import { Empty, Failed, Waiting } from '../../ui/notice.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { Choice } from '../../ui/select.tsx'
import { MetricFields, useMetric, useMetricPosition } from '../sweeps/metric-fields.tsx'
import { AlignedPrompts } from './aligned-prompts.tsx'
import { align } from './alignment.ts'
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
/** Exact runs beside the estimates. */
const VERIFY = 40

const HEADED: readonly Site[] = ['z', 'q', 'k', 'v', 'pattern']

export function PatchingView() {
  const model = useModel()
  const run = useRun()
  if (run.isError) return <Failed error={run.error} retry={() => void run.refetch()} />
  if (!model.data) return <Waiting text="Opening the checkpoint…" />
  if (!run.data)
    return (
      <Empty title="No clean prompt yet">
        <p>Run a prompt above: it is the clean one. Then write a corrupt one that differs in what matters.</p>
      </Empty>
    )
  return <Workspace model={model.data} run={run.data} />
}

function Workspace({ model, run }: { model: OpenedModel; run: RunDetail }) {
  const [text, setText] = useTool<string>('corrupt', '')
  const [site, setSite] = useTool<Site>('site', 'resid_pre')
  const [by, setBy] = useTool<By>('by', 'layer,pos')
  const [direction, setDirection] = useTool<'denoise' | 'noise'>('direction', 'denoise')
  const asked = useDeferredValue(text)
  const bos = run.views[0]?.special ? 'yes' : 'no'
  const tokens = useQuery({
    queryKey: ['tokenize', model.path, asked, bos],
    queryFn: ({ signal }) => api.tokenize({ model: model.path, text: asked, bos }, signal),
    enabled: asked !== '' && model.tokenizer !== null,
    retry: false,
  })
  const corrupt = text === '' ? [] : (tokens.data?.tokens ?? [])
  const { differing, problem } = align(run.views, corrupt)
  const ready = corrupt.length > 0 && problem === null
  const clean = run.views.map((view) => view.id)
  const corruptIds = corrupt.map((view) => view.id)
  const pos = useMetricPosition(run.views.length)
  const said = useQuery({
    queryKey: ['predict', model.path, corruptIds, pos],
    queryFn: ({ signal }) =>
      api.predict({ model: model.path, prompt: { ids: corruptIds }, edits: [], pos }, signal),
    enabled: ready,
    retry: false,
  })
  const cleanTop = run.predictions[pos]?.topTokens ?? []
  const corruptTop = said.data?.base.top.map(({ token }) => token) ?? []
  const answer = cleanTop[0] ?? null
  const wrong = corruptTop.find((token) => token.id !== answer?.id) ?? cleanTop[1] ?? null
  const metric = useMetric(answer, wrong)
  const shownBy: By = HEADED.includes(site) ? by : 'layer,pos'
  const running = useJobOn('patch', model.path)
  const start = useMutation({
    mutationFn: () =>
      startSweep(
        'patch',
        {
          model: model.path,
          clean: { ids: clean },
          corrupt: { ids: corruptIds },
          site,
          by: shownBy,
          direction,
          metric: metric!,
        },
        `Patching ${SITES.find((s) => s.value === site)?.label}`,
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
          clean: { ids: clean },
          corrupt: { ids: corruptIds },
          metric: metric!,
          verify: VERIFY,
        },
        'Estimating every place',
        (id) => setTool('attribute', String(id)),
      ),
  })
  const failed =
    estimate.error && (estimate.error as { code?: string }).code !== 'cancelled'
      ? estimate.error.message
      : start.error && (start.error as { code?: string }).code !== 'cancelled'
        ? start.error.message
        : null
  const likely = [
    ...cleanTop,
    ...corruptTop.filter((token) => !cleanTop.some((t) => t.id === token.id)),
  ].slice(0, 10)

  return (
    <div className="view sweep-view">
      <div className="toolbar is-wrapping">
        <input
          className="input corrupt-input mono"
          aria-label="Corrupt prompt"
          placeholder={`corrupt prompt: as many tokens as “${(run.text ?? '').slice(0, 40)}…”, one thing changed`}
          value={text}
          spellCheck={false}
          disabled={model.tokenizer === null}
          onChange={(event) => setText(event.target.value)}
        />
        {run.text !== null && text === '' && (
          <button type="button" className="button small" onClick={() => setText(run.text!)}>
            Copy the clean text
          </button>
        )}
      </div>
      <AlignedPrompts clean={run.views} corrupt={corrupt} differing={corrupt.length === 0 ? [] : differing} />
      <p className="problem sweep-problem" role="alert">
        {problem ?? failed ?? (tokens.isError ? tokens.error.message : '')}
      </p>
      <div className="toolbar is-wrapping">
        <span className="field">
          <span>patch</span>
          <Choice label="Site" value={site} options={SITES} onChange={setSite} />
        </span>
        <Segmented
          label="Columns"
          value={shownBy}
          options={[
            { value: 'layer,pos', label: 'layer × position' },
            { value: 'layer,head', label: 'layer × head', disabled: !HEADED.includes(site) },
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
        <MetricFields model={model} answer={answer} wrong={wrong} likely={likely} />
        <button
          type="button"
          className="button primary"
          disabled={!ready || metric === null || running !== undefined}
          title={metric === null ? 'Choose the tokens of the metric first' : undefined}
          onClick={() => start.mutate()}
        >
          {running ? 'Running…' : 'Patch'}
        </button>
        <button
          type="button"
          className="button"
          disabled={!ready || metric === null || estimating !== undefined}
          title="Attribution patching: every head, MLP and position from a few passes with gradients, and exact runs of the largest"
          onClick={() => estimate.mutate()}
        >
          {estimating ? 'Estimating…' : 'Estimate all'}
        </button>
      </div>
      <div className="patch-results">
        <PatchResult model={model} />
        <EstimateResult model={model} />
      </div>
    </div>
  )
}
