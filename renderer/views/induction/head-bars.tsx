/** Two scores per head side by side: induction on random repeats, with its interval, and prefix matching in this prompt. */

import { useCallback, useMemo } from 'react'
import type { InductionView, ScanReply } from '../../../core/api/contract.ts'
import { type ChartColors, chartColors } from '../../charts/css-colors.ts'
import { EChart } from '../../charts/echart.tsx'
import { plainTooltip } from '../../charts/tooltip.ts'
import { formatWeight } from '../../state/rank.ts'
import { headName } from '../../state/selection.ts'
import { select, useSelection } from '../../state/store.ts'
import { useTheme } from '../../state/theme.ts'
import { scoreText } from '../../ui/score-text.ts'

export function HeadBars({ data, scan }: { data: InductionView; scan: ScanReply | null }) {
  const theme = useTheme()
  const selected = useSelection((s) => (s.head ? headName(s.head) : null))
  const option = useMemo(
    () => barOption(data, scan, selected, chartColors(theme), MOST_AT_ONCE),
    [data, scan, selected, theme],
  )
  const pick = useCallback(
    (index: number) => {
      const head = data.heads[index]
      if (head) select({ head: { layer: head.layer, head: head.head } })
    },
    [data],
  )
  return (
    <EChart
      option={option}
      onPick={pick}
      label={`Per head: induction on random repeats, and prefix matching in this prompt. ${selected ?? ''}`}
    />
  )
}

const MOST_AT_ONCE = 64

/** The chart in given colours; of more heads than `atOnce` a slider shows that many. On paper all are shown. */
export function barOption(
  data: InductionView,
  scan: ScanReply | null,
  selected: string | null,
  c: ChartColors,
  atOnce: number,
) {
  const names = data.heads.map(headName)
  const scored = new Map(scan?.heads.map((head) => [headName(head), head.scores.induction]))
  const random = names.map((name) => scored.get(name))
  const here = data.heads.map((h) => h.prefix_matching)
  const many = names.length > atOnce
  const at = Math.max(0, selected === null ? 0 : names.indexOf(selected))
  const start = Math.max(0, Math.min(names.length - atOnce, at - atOnce / 2))
  const text = { color: c.muted, fontSize: 10.5 }
  // A style of its own costs a bar as much as all the rest of it.
  const bar = (value: number | null, i: number) =>
    names[i] === selected ? { value, itemStyle: { borderColor: c.selected, borderWidth: 1.5 } } : value
  return {
    animation: false,
    textStyle: { fontFamily: 'inherit' },
    grid: { left: 34, right: 8, top: 26, bottom: many ? 60 : names.length > 10 ? 42 : 24 },
    legend: {
      top: 0,
      right: 8,
      itemWidth: 10,
      itemHeight: 8,
      textStyle: { ...text, fontSize: 11 },
      selectedMode: false,
    },
    tooltip: {
      trigger: 'axis',
      ...plainTooltip(c),
      axisPointer: { type: 'shadow', shadowStyle: { color: c.line, opacity: 0.35 } },
      formatter: (items: { dataIndex: number }[]) => {
        const i = items[0]?.dataIndex ?? 0
        return `${names[i]}\nrandom repeats ${scoreText(random[i])}\nthis prompt ${here[i]?.value == null ? 'undefined' : formatWeight(here[i].value)} (${here[i]?.rows ?? 0} tokens)`
      },
    },
    xAxis: {
      type: 'category',
      data: names,
      axisTick: { show: false },
      axisLine: { lineStyle: { color: c.line } },
      axisLabel: {
        ...text,
        fontSize: 9.5,
        rotate: names.length > 10 ? 90 : 0,
        interval: names.length > 32 && Number.isFinite(atOnce) ? 'auto' : 0, // as many names as fit; on paper all do
        color: (name: string) => (name === selected ? c.selected : c.muted),
      },
    },
    yAxis: {
      type: 'value',
      min: 0,
      max: 1,
      interval: 0.25,
      axisLabel: text,
      splitLine: { lineStyle: { color: c.line, opacity: 0.6 } },
    },
    ...(many
      ? {
          dataZoom: [
            {
              type: 'slider',
              startValue: start,
              endValue: start + atOnce,
              height: 14,
              bottom: 4,
              brushSelect: false,
              textStyle: text,
            },
          ],
        }
      : {}),
    series: [
      {
        name: 'random repeats (95 % interval)',
        type: 'bar',
        barMaxWidth: 14,
        itemStyle: { color: c.bar },
        data: random.map((s, i) => bar(s?.value ?? null, i)),
      },
      {
        name: 'this prompt: prefix matching',
        type: 'bar',
        barMaxWidth: 14,
        barGap: '10%',
        itemStyle: { color: c.second },
        data: here.map((s, i) => bar(s.value, i)),
      },
      {
        type: 'custom',
        silent: true,
        tooltip: { show: false },
        itemStyle: { color: c.text },
        encode: { x: 0, y: [1, 2] },
        data: random.flatMap((s, i) => (s?.low == null || s.high === null ? [] : [[i, s.low, s.high]])),
        renderItem: whisker(c.text, 14),
        z: 5,
      },
    ],
  }
}

interface RenderApi {
  value(dimension: number): number
  coord(point: [number, number]): [number, number]
  size(extent: [number, number]): [number, number]
}

/** An interval as a thin line over the first bar of its head. */
function whisker(color: string, widest: number) {
  return (_: unknown, api: RenderApi) => {
    const [x, low] = api.coord([api.value(0), api.value(1)])
    const high = api.coord([api.value(0), api.value(2)])[1]
    const bar = Math.min(widest, (api.size([1, 0])[0] * 0.8) / 2.1)
    const middle = x - bar * 0.55
    const line = (x1: number, y1: number, x2: number, y2: number) => ({
      type: 'line',
      shape: { x1, y1, x2, y2 },
      style: { stroke: color, lineWidth: 1.2, opacity: 0.85 },
    })
    return {
      type: 'group',
      children: [
        line(middle, low, middle, high),
        line(middle - 2.5, low, middle + 2.5, low),
        line(middle - 2.5, high, middle + 2.5, high),
      ],
    }
  }
}
