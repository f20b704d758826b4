/** One line a head over the steps of training; the selected head in front, the shown step and the onset marked. */

import { useCallback, useMemo } from 'react'
import { type ChartColors, chartColors } from '../../charts/css-colors.ts'
import { EChart } from '../../charts/echart.tsx'
import { plainTooltip } from '../../charts/tooltip.ts'
import { type HeadId, headName, sameHead } from '../../state/selection.ts'
import { select, useSelection } from '../../state/store.ts'
import { useTheme } from '../../state/theme.ts'
import { scoreText } from '../../ui/score-text.ts'
import type { Curve, Step } from './curves.ts'

interface Drawn {
  readonly steps: readonly Step[]
  readonly curves: readonly Curve[]
  readonly axis: 'log' | 'linear'
  readonly at: number
  readonly onset: number | null
  /** First and last step that the interval of the best head allows for the onset. */
  readonly range?: readonly [number, number] | null
  readonly label: string
}

interface Props extends Drawn {
  readonly onMove: (index: number) => void
}

export function SeriesChart({ steps, curves, axis, at, onset, range = null, label, onMove }: Props) {
  const theme = useTheme()
  const selected = useSelection((s) => s.head)
  const option = useMemo(
    () => seriesOption({ steps, curves, axis, at, onset, range, label, selected }, chartColors(theme)),
    [steps, curves, axis, at, onset, range, label, selected, theme],
  )
  const pick = useCallback(
    (index: number, series: number) => {
      const curve = curves[series]
      if (curve) select({ head: { layer: curve.layer, head: curve.head } })
      if (index !== at) onMove(index)
    },
    [curves, at, onMove],
  )
  return (
    <EChart
      option={option}
      onItem={pick}
      label={`${label} of ${curves.length} heads over ${steps.length} steps; the table beside it has the numbers`}
    />
  )
}

/** The chart in given colours: on screen those of the theme, on paper the light ones. */
export function seriesOption(
  {
    steps,
    curves,
    axis,
    at,
    onset,
    range = null,
    label,
    selected,
  }: Drawn & { readonly selected: HeadId | null },
  c: ChartColors,
) {
  const positive = steps.map((s) => s.step).filter((step) => step > 0)
  const zero = Math.min(...positive) / 2 // a log axis has no 0: it stands here
  const x = (i: number) => (axis === 'log' ? Math.max(zero, steps[i]!.step) : steps[i]!.step)
  const text = { color: c.muted, fontSize: 10.5 }
  const losses = steps.map((s, i) => [x(i), s.scan?.loss.second ?? null])
  const marks = [
    {
      xAxis: x(at),
      lineStyle: { color: c.selected, type: 'solid' },
      label: { formatter: steps[at]!.at, color: c.selected },
    },
    ...(onset === null
      ? []
      : [
          {
            xAxis: x(onset),
            lineStyle: { color: c.muted, type: 'dashed' },
            label: { formatter: 'onset', color: c.muted, position: 'insideEndTop' },
          },
        ]),
  ]
  return {
    animation: false,
    textStyle: { fontFamily: 'inherit' },
    grid: { left: 40, right: 46, top: 24, bottom: 34 },
    tooltip: {
      trigger: 'item',
      ...plainTooltip(c),
      formatter: ({ seriesIndex, dataIndex }: { seriesIndex: number; dataIndex: number }) => {
        const curve = curves[seriesIndex]
        const found = curve?.scores[dataIndex]
        return curve
          ? `${headName(curve)} at ${steps[dataIndex]!.at}\n${label} ${scoreText(found ?? undefined)}${found ? `, n = ${found.n}` : ''}`
          : `loss on the second copy at ${steps[dataIndex]!.at}\n${steps[dataIndex]!.scan?.loss.second?.toFixed(3) ?? '–'} nats`
      },
    },
    xAxis: {
      type: axis === 'log' ? 'log' : 'value',
      ...(axis === 'log' ? { min: zero } : {}),
      name: axis === 'log' ? `step, log (0 stands at ${zero})` : 'step',
      nameLocation: 'middle',
      nameGap: 20,
      nameTextStyle: text,
      axisLabel: text,
      axisLine: { lineStyle: { color: c.line } },
      splitLine: { show: false },
    },
    yAxis: [
      {
        type: 'value',
        axisLabel: text,
        splitLine: { lineStyle: { color: c.line, opacity: 0.6 } },
      },
      {
        type: 'value',
        name: 'loss',
        nameTextStyle: { color: c.loss, fontSize: 10 },
        splitNumber: 3,
        axisLabel: { ...text, color: c.loss },
        splitLine: { show: false },
      },
    ],
    series: [
      ...curves.map((curve) => {
        const on = sameHead(selected, curve)
        return {
          type: 'line',
          data: curve.values.map((value, i) => [x(i), value]),
          connectNulls: false,
          symbol: 'circle',
          symbolSize: on ? 6 : curves.length > 100 ? 0 : 4,
          z: on ? 5 : 2,
          lineStyle: {
            color: on ? c.selected : c.bar,
            width: on ? 2.5 : 1.2,
            opacity: on ? 1 : curves.length > 100 ? 0.25 : 0.5,
          },
          itemStyle: { color: on ? c.selected : c.bar, opacity: on ? 1 : 0.6 },
          emphasis: { focus: 'series', lineStyle: { opacity: 1, width: 2 } },
          ...(on
            ? {
                endLabel: {
                  show: true,
                  formatter: headName(curve),
                  color: c.selected,
                  fontSize: 11,
                  distance: 4,
                },
              }
            : {}),
        }
      }),
      {
        type: 'line',
        yAxisIndex: 1,
        data: losses,
        symbol: 'none',
        z: 1,
        lineStyle: { color: c.loss, width: 1.5, type: 'dotted' },
        markLine: { silent: true, symbol: 'none', label: { fontSize: 10 }, data: marks },
        ...(range
          ? {
              markArea: {
                silent: true,
                itemStyle: { color: c.muted, opacity: 0.12 },
                data: [[{ xAxis: x(range[0]) }, { xAxis: x(range[1]) }]],
              },
            }
          : {}),
      },
      intervalsOf(
        curves.find((curve) => sameHead(selected, curve)),
        x,
        c,
      ),
    ],
  }
}

/** The interval of the selected head at each step, as a whisker. */
function intervalsOf(curve: Curve | undefined, x: (i: number) => number, c: ChartColors) {
  const data = (curve?.scores ?? []).flatMap((score, i) =>
    score?.low == null || score.high == null ? [] : [[x(i), score.low, score.high]],
  )
  return {
    type: 'custom',
    silent: true,
    z: 6,
    data,
    renderItem: (_: unknown, api: { value(i: number): number; coord(point: number[]): [number, number] }) => {
      const [left, low] = api.coord([api.value(0), api.value(1)])
      const [, high] = api.coord([api.value(0), api.value(2)])
      const line = (x1: number, y1: number, x2: number, y2: number) => ({
        type: 'line',
        shape: { x1, y1, x2, y2 },
        style: { stroke: c.text, lineWidth: 1 },
      })
      return {
        type: 'group',
        children: [
          line(left, low, left, high),
          line(left - CAP, low, left + CAP, low),
          line(left - CAP, high, left + CAP, high),
        ],
      }
    },
  }
}

/** Half the width of a whisker's ends, px. */
const CAP = 3
