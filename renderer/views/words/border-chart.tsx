/** Numbers along the block borders, one line a series. A click chooses a border. */
import { useMemo } from 'react'
import { type ChartColors, chartColors } from '../../charts/css-colors.ts'
import { EChart } from '../../charts/echart.tsx'
import { chartFigure } from '../../charts/echart-figure.ts'
import type { Figure } from '../../charts/figure.ts'
import { plainTooltip } from '../../charts/tooltip.ts'
import { useTheme } from '../../state/theme.ts'
import { borderName } from '../residual/cells.ts'

export interface BorderLine {
  readonly name: string
  /** One per border; null where it is undefined. */
  readonly values: readonly (number | null)[]
}

interface Props {
  readonly lines: readonly BorderLine[]
  readonly border: number | null
  readonly label: string
  readonly onPick?: (border: number) => void
}

export function BorderChart({ lines, border, label, onPick }: Props) {
  const theme = useTheme()
  const option = useMemo(() => borderOption(lines, border, chartColors(theme)), [lines, border, theme])
  return <EChart option={option} label={label} {...(onPick ? { onPick } : {})} />
}

/** The chart as it leaves the app. */
export function borderFigure(
  lines: readonly BorderLine[],
  title: string,
  note: string,
  facts: readonly string[],
  reproduce: Figure['reproduce'],
): Figure {
  return {
    title,
    note,
    facts,
    ofModel: true,
    body: () => chartFigure((c) => borderOption(lines, null, c), 640, 360),
    table: () => ({
      columns: ['border', ...lines.map(({ name }) => name)],
      rows: (lines[0]?.values ?? []).map((_, i) => [i, ...lines.map(({ values }) => values[i] ?? null)]),
    }),
    reproduce,
  }
}

/** The chart in given colours: on screen those of the theme, on paper the light ones. */
export function borderOption(lines: readonly BorderLine[], border: number | null, c: ChartColors) {
  const last = (lines[0]?.values.length ?? 1) - 1
  const colours = [c.bar, c.selected, c.second, c.loss, c.minus, c.muted]
  const text = { color: c.muted, fontSize: 10.5 }
  const least = Math.min(0, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0)))
  const step = least < -0.5 ? 0.5 : 0.25 // both ends and zero are on a tick: no two labels meet
  return {
    animation: false,
    textStyle: { fontFamily: 'inherit' },
    grid: { left: 40, right: 16, top: 30, bottom: 38 },
    legend: { top: 0, left: 0, textStyle: { color: c.text, fontSize: 11 }, itemHeight: 8 },
    tooltip: {
      trigger: 'axis',
      ...plainTooltip(c),
      valueFormatter: (v: number | null) => v?.toFixed(3) ?? '–',
    },
    xAxis: {
      type: 'category',
      data: Array.from({ length: last + 1 }, (_, i) => borderName(i, last)),
      name: 'block border',
      nameLocation: 'middle',
      nameGap: 22,
      nameTextStyle: text,
      axisLabel: text,
      axisLine: { lineStyle: { color: c.line } },
    },
    yAxis: {
      type: 'value',
      min: Math.floor(least / step) * step,
      max: 1,
      interval: step,
      axisLabel: text,
      splitLine: { lineStyle: { color: c.line, opacity: 0.6 } },
    },
    series: lines.map(({ name, values }, i) => ({
      type: 'line',
      name,
      data: values,
      symbolSize: 6,
      lineStyle: { color: colours[i % colours.length], width: 2 },
      itemStyle: { color: colours[i % colours.length] },
      ...(i === 0 && border !== null
        ? {
            markLine: {
              silent: true,
              symbol: 'none',
              label: { show: false },
              lineStyle: { color: c.selected, type: 'solid' },
              data: [{ xAxis: border }],
            },
          }
        : {}),
    })),
  }
}
