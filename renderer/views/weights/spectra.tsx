/** Singular values of one head's two maps, largest first. */

import { useMemo } from 'react'
import type { HeadSpectrum } from '../../../core/analysis/weights.ts'
import type { WeightsRequest } from '../../../core/api/contract.ts'
import { type ChartColors, chartColors } from '../../charts/css-colors.ts'
import { EChart } from '../../charts/echart.tsx'
import { chartFigure } from '../../charts/echart-figure.ts'
import type { Figure } from '../../charts/figure.ts'
import { FigureMenu } from '../../charts/figure-menu.tsx'
import { plainTooltip } from '../../charts/tooltip.ts'
import { preciseWeight } from '../../state/format.ts'
import { headName } from '../../state/selection.ts'
import { useTheme } from '../../state/theme.ts'

interface Props {
  /** What gave it. */
  readonly request: WeightsRequest
  readonly own: HeadSpectrum
  /** What the two are, in words. */
  readonly title: { readonly ov: string; readonly qk: string }
}

export function Spectra({ request, own, title }: Props) {
  const theme = useTheme()
  const option = useMemo(() => spectraOption(own, chartColors(theme)), [own, theme])
  const figure = (): Figure => ({
    title: `singular values of ${headName(own)}`,
    note: 'Singular values by falling size; blue, left axis: OV, what the head writes; green, right axis: QK, where it looks.',
    ofModel: true,
    facts: [title.ov, title.qk],
    body: () => chartFigure((c) => spectraOption(own, c), 620, 320),
    table: () => ({
      columns: ['map', 'index', 'singular_value'],
      rows: (['ov', 'qk'] as const).flatMap((map) => own[map].map((value, i) => [map, i + 1, value])),
    }),
    reproduce: { kind: 'weights', request },
  })
  return (
    <section className="spectra" aria-label="Spectra">
      <h3 className="pane-title">
        Singular values of {headName(own)}
        <span title={`${title.ov}\n${title.qk}`}>
          |OV| {preciseWeight(own.ov_norm)} · |QK| {preciseWeight(own.qk_norm)}
        </span>
        <FigureMenu figure={figure} name="the spectra" />
      </h3>
      <EChart option={option} label={`Singular values of the OV and QK maps of ${headName(own)}`} />
    </section>
  )
}

/** The chart in given colours: on screen those of the theme, on paper the light ones. */
function spectraOption(own: HeadSpectrum, c: ChartColors) {
  const text = { color: c.muted, fontSize: 10.5 }
  const line = (name: string, values: readonly number[], color: string, yAxisIndex: number) => ({
    name,
    type: 'line',
    yAxisIndex,
    data: values.map((value, i) => [i + 1, value]),
    symbolSize: 5,
    lineStyle: { color, width: 1.5 },
    itemStyle: { color },
  })
  const axis = (color: string) => ({
    type: 'value',
    min: 0,
    axisLabel: { ...text, color },
    splitLine: { lineStyle: { color: c.line, opacity: 0.5 } },
  })
  return {
    animation: false,
    textStyle: { fontFamily: 'inherit' },
    grid: { left: 44, right: 44, top: 26, bottom: 26 },
    legend: { top: 0, left: 40, itemHeight: 8, textStyle: { ...text, fontSize: 11 }, selectedMode: false },
    tooltip: {
      trigger: 'axis',
      ...plainTooltip(c),
    },
    xAxis: {
      type: 'value',
      min: 1,
      max: Math.max(own.ov.length, own.qk.length),
      axisLabel: text,
      splitLine: { show: false },
      axisLine: { lineStyle: { color: c.line } },
    },
    yAxis: [axis(c.bar), { ...axis(c.second), splitLine: { show: false } }],
    series: [line('OV, what it writes', own.ov, c.bar, 0), line('QK, where it looks', own.qk, c.second, 1)],
  }
}
