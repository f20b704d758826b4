/** Parts as a waterfall: each bar begins where the one before it ended, the last is the sum. By size: bars from 0. */

import { useCallback, useMemo } from 'react'
import { type ChartColors, chartColors } from '../../charts/css-colors.ts'
import { EChart } from '../../charts/echart.tsx'
import { plainTooltip } from '../../charts/tooltip.ts'
import { signedWeight } from '../../state/format.ts'
import { type HeadId, headName } from '../../state/selection.ts'
import { select, useSelection } from '../../state/store.ts'
import { useTheme } from '../../state/theme.ts'
import type { Part } from './parts.ts'

export function Waterfall({
  parts,
  total,
  ordered,
  pos,
}: {
  parts: readonly Part[]
  total: number
  ordered: boolean
  /** The position that is looked at: a bar of a source locks the edge to it. */
  pos: number
}) {
  const theme = useTheme()
  const head = useSelection((s) => s.head)
  const option = useMemo(
    () => waterfallOption({ parts, total, ordered, head }, chartColors(theme)),
    [parts, total, ordered, theme, head],
  )
  const pick = useCallback(
    (i: number) => {
      const part = parts[i]
      if (part?.head) select({ head: part.head })
      else if (part?.source !== undefined) select({ query: pos, key: part.source, also: [] })
    },
    [parts, pos],
  )
  return (
    <EChart
      option={option}
      onPick={pick}
      label={`${parts.length} parts that sum to ${total.toFixed(3)}; the list beside it has the numbers`}
    />
  )
}

interface Drawn {
  readonly parts: readonly Part[]
  readonly total: number
  readonly ordered: boolean
  readonly head: HeadId | null
}

/** The chart in given colours: on screen those of the theme, on paper the light ones. */
export function waterfallOption({ parts, total, ordered, head }: Drawn, c: ChartColors) {
  const names = [...parts.map((p) => p.name), 'sum']
  let at = 0
  const bars = [
    ...parts.map((part) => {
      const from = ordered ? at : 0
      at += part.value
      return {
        from,
        to: from + part.value,
        value: part.value,
        on: head !== null && part.head !== null && headName(part.head) === headName(head),
      }
    }),
    { from: 0, to: total, value: total, on: false },
  ]
  const text = { color: c.muted, fontSize: 10 }
  return {
    animation: false,
    textStyle: { fontFamily: 'inherit' },
    grid: { left: 44, right: 10, top: 10, bottom: 66 },
    tooltip: {
      trigger: 'axis',
      ...plainTooltip(c),
      axisPointer: { type: 'shadow', shadowStyle: { color: c.line, opacity: 0.35 } },
      formatter: (items: { dataIndex: number }[]) => {
        const i = items[0]?.dataIndex ?? 0
        return `${names[i]}\n${signedWeight(bars[i]!.value)}${ordered && i < parts.length ? `\nso far ${bars[i]!.to.toFixed(3)}` : ''}`
      },
    },
    xAxis: {
      type: 'category',
      data: names,
      axisTick: { show: false },
      axisLine: { lineStyle: { color: c.line } },
      axisLabel: {
        ...text,
        rotate: 90,
        interval: names.length > 100 ? 'auto' : 0,
        hideOverlap: true,
        fontSize: names.length > 60 ? 8.5 : 10,
      },
    },
    yAxis: { type: 'value', axisLabel: text, splitLine: { lineStyle: { color: c.line, opacity: 0.6 } } },
    series: [
      {
        type: 'custom',
        clip: true,
        data: bars.map((bar, i) => [i, bar.from, bar.to]),
        renderItem: (
          _: unknown,
          api: {
            value(i: number): number
            coord(point: number[]): number[]
            size(size: number[]): number[]
          },
        ) => {
          const i = api.value(0)
          const bar = bars[i]!
          const [x, y0] = api.coord([i, bar.from]) as [number, number]
          const [, y1] = api.coord([i, bar.to]) as [number, number]
          const width = Math.max(1, (api.size([1, 0])[0] ?? 8) * 0.72)
          return {
            type: 'rect',
            shape: { x: x - width / 2, y: Math.min(y0, y1), width, height: Math.max(1, Math.abs(y1 - y0)) },
            style: {
              fill: i === parts.length ? c.second : bar.value < 0 ? c.minus : c.bar,
              ...(bar.on ? { stroke: c.selected, lineWidth: 2 } : {}),
            },
          }
        },
      },
    ],
  }
}
