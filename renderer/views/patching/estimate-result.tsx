/** Attribution patching beside the exact runs of its largest estimates: a scatter that says how far to trust it. */

import { useCallback, useMemo } from 'react'
import type { OpenedModel, RunDetail } from '../../../core/api/contract.ts'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import type { AttributionCell } from '../../../core/intervene/attribute.ts'
import { type ChartColors, chartColors } from '../../charts/css-colors.ts'
import { EChart } from '../../charts/echart.tsx'
import { chartFigure } from '../../charts/echart-figure.ts'
import type { Figure } from '../../charts/figure.ts'
import { FigureMenu } from '../../charts/figure-menu.tsx'
import { plainTooltip } from '../../charts/tooltip.ts'
import { signedWeight } from '../../state/format.ts'
import { select, setHover, useTool } from '../../state/store.ts'
import { useTheme } from '../../state/theme.ts'
import { ContinueSweep } from '../sweeps/continue-sweep.tsx'
import { OtherPrompt } from '../sweeps/elsewhere.tsx'
import { SweepProblems } from '../sweeps/sweep-frame.tsx'
import { useSweep } from '../sweeps/use-sweep.ts'
import { sourceFacts } from './source-of.ts'

interface Props {
  readonly model: OpenedModel
  readonly run: RunDetail
  /** The corrupt prompt as it is written now. */
  readonly corrupt: readonly TokenView[]
}

export function EstimateResult({ model, run, corrupt }: Props) {
  const [chosen] = useTool<string>('attribute', '')
  const found = useSweep('attribute', chosen, model)
  const sweep = found?.here ? found : null
  const all = sweep?.cells
  const cells = useMemo(() => (all ?? []).filter((cell) => cell.exact !== undefined), [all])
  if (!sweep) return null
  const { request, running, prompts } = sweep
  const grouped = model.spec.n_kv_heads < model.spec.n_heads
  const trust = sweep.result?.trust
  const figure = (): Figure => ({
    title: 'attribution patching against exact runs',
    note: 'Each dot is a place of the largest estimates: across its estimate (gradient times the difference of the two runs), upwards the exact patch. On the dashed line both are equal.',
    source: { checkpoints: [{ name: model.name, hash: model.contentHash }], run: null },
    facts: [
      ...prompts.map(
        (views, i) => `${i === 0 ? 'clean' : 'corrupt'} “${views.map((view) => view.text).join('')}”`,
      ),
      ...sourceFacts(request),
      trust ? `of the ${trust.n} largest, exact runs correlate ${trust.correlation.toFixed(3)}` : '',
    ],
    body: () => chartFigure((c) => scatterOption(cells, grouped, c), 520, 480),
    table: () => ({
      columns: ['place', 'layer', 'head', 'site', 'position', 'estimate', 'dropped', 'exact'],
      rows: cells.map((cell) => [
        placeName(cell, grouped),
        cell.layer,
        cell.head ?? null,
        cell.site,
        cell.pos,
        cell.estimate,
        cell.dropped ?? null,
        cell.exact ?? null,
      ]),
    }),
    reproduce: { kind: 'attribute', request },
  })
  return (
    <section className="estimates" aria-label="Estimate against exact">
      <h3 className="pane-title">
        Estimates of {(request.sites ?? ['z', 'mlp_out']).join(', ').replace('_', ' ')}
        {request.gradDrop ? ', GradDrop' : ''}
        <span title="Attribution patching: gradient times the difference of the two runs, against the exact patch of the largest ones.">
          {trust
            ? `of the ${trust.n} largest, exact runs correlate ${trust.correlation.toFixed(2)}`
            : 'too few exact runs to say how far to trust them'}
        </span>
        <ContinueSweep
          kind="attribute"
          id={sweep.id}
          request={request}
          done={sweep.cells.length}
          planned={sweep.planned}
          running={running}
          title="Going on: estimating every place"
        />
        {cells.length > 0 && <FigureMenu figure={figure} name="the estimates" />}
      </h3>
      <SweepProblems warnings={sweep.warnings} problem={sweep.problem} />
      <OtherPrompt sweep={sweep} run={run} corrupt={corrupt} />
      {cells.length > 0 ? (
        <Scatter cells={cells} grouped={grouped} />
      ) : (
        <p className="muted small-text">{running ? 'Estimating…' : 'No exact runs in this one.'}</p>
      )}
    </section>
  )
}

function Scatter({ cells, grouped }: { cells: readonly AttributionCell[]; grouped: boolean }) {
  const theme = useTheme()
  const option = useMemo(() => scatterOption(cells, grouped, chartColors(theme)), [cells, grouped, theme])
  const pick = useCallback(
    (index: number) => {
      const cell = cells[index]
      if (!cell) return
      setHover(cell.pos, null)
      const query = cell.site !== 'k' && cell.site !== 'v'
      if (cell.head !== undefined && (query || !grouped))
        select({ head: { layer: cell.layer, head: cell.head } })
    },
    [cells, grouped],
  )
  return (
    <EChart option={option} onItem={pick} label={`${cells.length} places: estimated against exact effect`} />
  )
}

/** The chart in given colours: on screen those of the theme, on paper the light ones. */
function scatterOption(cells: readonly AttributionCell[], grouped: boolean, c: ChartColors) {
  const text = { color: c.muted, fontSize: 10.5 }
  const most = roundUp(
    Math.max(1e-6, ...cells.flatMap((cell) => [Math.abs(cell.estimate), Math.abs(cell.exact ?? 0)])),
  )
  const axis = (name: string) => ({
    type: 'value',
    min: -most,
    max: most,
    name,
    nameLocation: 'middle',
    nameGap: 24,
    nameTextStyle: text,
    axisLabel: text,
    axisLine: { lineStyle: { color: c.line } },
    splitLine: { lineStyle: { color: c.line, opacity: 0.5 } },
  })
  return {
    animation: false,
    textStyle: { fontFamily: 'inherit' },
    grid: { left: 50, right: 14, top: 8, bottom: 38 },
    tooltip: {
      ...plainTooltip(c),
      formatter: ({ dataIndex }: { dataIndex: number }) => {
        const cell = cells[dataIndex]!
        return `${placeName(cell, grouped)}\nestimate ${signedWeight(cell.estimate)}\nexact ${signedWeight(cell.exact ?? 0)}`
      },
    },
    xAxis: axis('estimate'),
    yAxis: axis('exact'),
    series: [
      {
        type: 'scatter',
        symbolSize: 8,
        itemStyle: { color: c.bar, opacity: 0.8 },
        data: cells.map((cell) => [cell.estimate, cell.exact]),
        markLine: {
          silent: true,
          symbol: 'none',
          lineStyle: { color: c.muted, type: 'dashed' },
          label: { show: false },
          data: [[{ coord: [-most, -most] }, { coord: [most, most] }]],
        },
      },
    ],
  }
}

function placeName(cell: AttributionCell, grouped: boolean): string {
  const head = grouped && (cell.site === 'k' || cell.site === 'v') ? ' K/V ' : 'H'
  return `${cell.head === undefined ? `L${cell.layer} MLP` : `L${cell.layer}${head}${cell.head} ${cell.site}`} at ${cell.pos}`
}

/** The next 1, 2 or 5 times a power of ten: an axis that ends on a round number. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  return ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10) * power
}
