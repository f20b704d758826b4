/**
 * Path patching as a graph that is built by clicking. In: the selected run as the clean prompt, a corrupt one, a metric.
 * Out: what each sender says to each receiver alone, on the edges of the circuit found so far; each measurement is kept
 * as an experiment.
 */
import { useMutation } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { OpenedModel, PathRequest, RunDetail } from '../../../core/api/contract.ts'
import type { PathPlan } from '../../../core/intervene/path.ts'
import type { PathEdge } from '../../../core/intervene/path-names.ts'
import { api } from '../../api/client.ts'
import { startSweep } from '../../api/experiments.ts'
import { useJobOn } from '../../api/jobs.ts'
import type { Figure } from '../../charts/figure.ts'
import { FigureMenu } from '../../charts/figure-menu.tsx'
import { metricText, tokenNames } from '../../state/metric.ts'
import { parseHead } from '../../state/selection.ts'
import { getSelection, select, useSelection, useTool } from '../../state/store.ts'
import { useTheme } from '../../state/theme.ts'
import { Segmented } from '../../ui/segmented.tsx'
import { WithCleanRun } from '../frame/with-clean-run.tsx'
import { SignedLegend } from '../pattern/legend.tsx'
import { aboutSweep, rounded } from '../sweeps/about-sweep.ts'
import { ContinueSweep } from '../sweeps/continue-sweep.tsx'
import { MetricFields } from '../sweeps/metric-fields.tsx'
import { failureOf, PairFields } from '../sweeps/pair-fields.tsx'
import { SweepProblems } from '../sweeps/sweep-frame.tsx'
import { type PairText, usePair } from '../sweeps/use-pair.ts'
import {
  describeEnd,
  edgeName,
  formatEdges,
  nodeOf,
  parseEdges,
  placeExists,
  receiversOf,
  sameCircuit,
  shapeOf,
  toggled,
} from './circuit.ts'
import { circuitBody } from './circuit-figure.ts'
import { CircuitList } from './circuit-list.tsx'
import { PathGraph } from './path-graph.tsx'
import { Ranking } from './ranking.tsx'
import { useEffects } from './use-effects.ts'

type Mlps = NonNullable<PathRequest['mlps']>

export function PathsView() {
  return <WithCleanRun>{(model, run) => <Workspace model={model} run={run} />}</WithCleanRun>
}

function Workspace({ model, run }: { model: OpenedModel; run: RunDetail }) {
  const theme = useTheme()
  const [mlps, setMlps] = useTool<Mlps>('mlps', 'recompute')
  const [written, setWritten] = useTool<string>('edges', '')
  const [looked, setLooked] = useTool<string>('to', 'logits')
  const [measured, setMeasured] = useTool<string>('path', '')
  const pair = usePair(model, run)
  const source = pair.source !== null && sends(pair.source)
  const shape = useMemo(() => shapeOf(model, source), [model, source])
  const edges = useMemo(() => parseEdges(written, shape), [written, shape])
  const place = placeExists(looked, shape) ? looked : 'logits'
  const ids = measured.split('.').filter(Boolean).map(Number).filter(Number.isSafeInteger)
  const asked = {
    prompts: pair.prompts,
    metric: pair.metric,
    chosen: useSelection((s) => s.tool),
    mlps,
  }
  const effects = useEffects(model, ids, asked)
  const { cells, ends, live } = effects
  const most = useMemo(
    () => Math.max(0, ...[...cells.values()].map((cell) => Math.abs(cell.delta ?? 0))),
    [cells],
  )
  const job = useJobOn('path', model.path)
  const request = (plan: PathPlan): PathRequest => ({
    model: model.path,
    ...pair.prompts,
    ...plan,
    metric: pair.metric!,
    mlps,
  })
  const start = useMutation({
    mutationFn: ({ plan, title }: { plan: PathPlan; title: string }) =>
      startSweep('path', request(plan), title, (id) => {
        const before = getSelection().tool.path ?? ''
        setMeasured(
          [
            ...before
              .split('.')
              .filter(Boolean)
              .slice(1 - MOST_KEPT),
            String(id),
          ].join('.'),
        )
      }),
  })
  const blocked = job !== undefined ? 'A measurement is running' : pair.missing
  const saved = effects.fitting.findLast(
    (detail) => detail.complete && detail.request.edges && sameCircuit(detail.request.edges, edges),
  )
  const look = (next: string) => {
    setLooked(next)
    const head = parseHead(nodeOf(next))
    if (head) select({ head })
  }
  const change = (next: readonly PathEdge[]) => setWritten(formatEdges(next))
  const toggleEdge = ({ from, to }: PathEdge) => change(toggled(edges, from, to, shape))
  const stopped = live?.state === 'stopped' && live.problem !== 'Cancelled.' ? live.problem : null
  const names = tokenNames([...pair.clean, ...pair.corrupt, ...pair.likely])
  const broken = effects.fitting.findLast((detail) => !detail.complete)
  const about = pair.metric
    ? aboutSweep(
        model,
        pair.metric,
        `Effect of an edge: the metric when the sender’s output of the corrupt prompt reaches this receiver alone, minus that of the clean run. Other heads are held; MLPs between are ${mlps === 'freeze' ? 'held' : 'recomputed'}.`,
        effects.warnings,
      )
    : ''
  const figure = (): Figure => ({
    title: 'circuit by path patching',
    note: `Each edge is the change of the ${pair.metric ? metricText(pair.metric, names) : 'metric'} when its sender’s output of the corrupt prompt reaches this receiver alone; MLPs between are ${mlps === 'freeze' ? 'held' : 'recomputed'}. Width and colour are the effect; dashed edges are not measured.`,
    source: { checkpoints: [{ name: model.name, hash: model.contentHash }], run: null },
    facts: [
      `clean “${pair.clean.map(({ text }) => text).join('')}”`,
      `corrupt “${pair.corrupt.map(({ text }) => text).join('')}”`,
      ...(pair.source
        ? [
            `clean source “${pair.source.clean.map(({ text }) => text).join('')}”`,
            `corrupt source “${pair.source.corrupt.map(({ text }) => text).join('')}”`,
          ]
        : []),
      ends ? `metric: clean ${rounded(ends.clean, 5)}, corrupt ${rounded(ends.corrupt, 5)}` : '',
    ],
    body: () => circuitBody(shape, edges, cells),
    table: () => ({
      columns: ['from', 'to', 'value', 'delta'],
      rows: edges.map((edge) => {
        const cell = cells.get(edgeName(edge))
        return [edge.from, edge.to, cell?.value ?? null, cell?.delta ?? null]
      }),
    }),
    reproduce:
      pair.missing === null && edges.length > 0 ? { kind: 'path', request: request({ edges }) } : null,
  })

  return (
    <div className="view sweep-view">
      <PairFields run={run} pair={pair} failed={failureOf(start.error) ?? stopped} />
      <div className="toolbar is-wrapping">
        <span className="field">
          <span title="Whether MLPs between a sender and its receiver are held at the clean run, or carry the change on.">
            MLPs between
          </span>
          <Segmented
            label="MLPs between"
            value={mlps}
            options={[
              { value: 'recompute', label: 'recompute' },
              { value: 'freeze', label: 'freeze' },
            ]}
            onChange={setMlps}
          />
        </span>
        <MetricFields model={model} answer={pair.answer} wrong={pair.wrong} likely={pair.likely} />
        <button
          type="button"
          className="button primary"
          disabled={blocked !== null || edges.length === 0}
          title={
            blocked ??
            (edges.length === 0
              ? 'Click a sender below the receiver that is marked'
              : 'Measures every edge of the circuit, and keeps it as an experiment')
          }
          onClick={() => start.mutate({ plan: { edges }, title: `Measuring ${edges.length} edges` })}
        >
          {edges.length === 0
            ? 'Measure the circuit'
            : `Measure ${edges.length === 1 ? '1 edge' : `${edges.length} edges`}`}
        </button>
      </div>
      <div className="sweep-result">
        <section className="sweep-main" aria-label="Graph">
          <header className="pattern-head">
            <h3 className="pane-title">
              Paths
              <span title={about}>
                {pair.metric ? metricText(pair.metric, names) : 'no metric yet'}
                {ends && ` · clean ${rounded(ends.clean)}, corrupt ${rounded(ends.corrupt)}`}
              </span>
            </h3>
            <div className="pattern-tools">
              {job && live?.state === 'running' ? (
                <>
                  <span className="muted small-text mono" role="status">
                    {live.cells.length}/{live.estimate?.cells ?? '…'}
                    {secondsText(job.progress?.secondsLeft ?? live.estimate?.seconds ?? null)}
                  </span>
                  <button
                    type="button"
                    className="button small"
                    onClick={() => void api.cancelJob(job.id).catch(() => undefined) /* it has just ended */}
                  >
                    Cancel
                  </button>
                </>
              ) : (
                saved && <span className="muted small-text">saved as experiment {saved.id}</span>
              )}
              {broken && (
                <ContinueSweep
                  kind="path"
                  id={broken.id}
                  request={broken.request}
                  done={broken.done}
                  planned={broken.cells}
                  running={job !== undefined}
                  title="Going on: measuring paths"
                />
              )}
              {edges.length > 0 && (
                <button type="button" className="button small" onClick={() => change([])}>
                  Clear
                </button>
              )}
              <FigureMenu figure={figure} name="this circuit" />
            </div>
          </header>
          <SweepProblems warnings={effects.warnings} problem={null} />
          {effects.others > 0 && cells.size === 0 && pair.missing === null && (
            <p className="warning">
              What was measured so far is of another checkpoint, other prompts, another metric or another
              choice of MLPs; measure again to see effects.
            </p>
          )}
          <PathGraph
            shape={shape}
            edges={edges}
            effects={cells}
            most={most}
            place={place}
            theme={theme}
            onPlace={look}
            onToggle={(sender) => change(toggled(edges, sender, place, shape))}
          />
          <p className="path-foot">
            {cells.size > 0 && <SignedLegend theme={theme} most={most} />}
            <span className="muted small-text">
              {cells.size === 0
                ? `Rank what leads into ${describeEnd(place)}, or click a node below it.`
                : 'red: the metric falls when this path alone carries the corrupt prompt · dashed: not measured'}
            </span>
          </p>
        </section>
        <aside className="sweep-side">
          {edges.length > 0 && (
            <CircuitList edges={edges} effects={cells} onPlace={look} onRemove={toggleEdge} />
          )}
          <Ranking
            shape={shape}
            place={place}
            edges={edges}
            effects={cells}
            most={most}
            blocked={blocked}
            onPlace={look}
            onExpand={() =>
              start.mutate({
                plan: { from: ['all'], to: receiversOf(place).map(({ name }) => name) },
                title: `Ranking what leads into ${describeEnd(place)}`,
              })
            }
            onToggle={toggleEdge}
          />
        </aside>
      </div>
    </div>
  )
}

/** Whether the source tells the prompts apart, token by token. */
function sends({ clean, corrupt, differing }: PairText): boolean {
  return differing.length > 0 && clean.length === corrupt.length
}

/** Measurements whose effects are shown together; their numbers stand in the address. */
const MOST_KEPT = 24

function secondsText(seconds: number | null): string {
  return seconds === null ? '' : ` · ${seconds < 1 ? 'under 1' : Math.ceil(seconds)} s`
}
