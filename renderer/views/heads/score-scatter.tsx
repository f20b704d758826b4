/** Every head by two scores. A click chooses the head; the filter fades the others. */

import { useCallback, useMemo } from 'react'
import type { HeadScores } from '../../../core/analysis/types.ts'
import { type ChartColors, chartColors } from '../../charts/css-colors.ts'
import { EChart } from '../../charts/echart.tsx'
import { plainTooltip } from '../../charts/tooltip.ts'
import { preciseWeight } from '../../state/format.ts'
import { scoreLabel } from '../../state/rank.ts'
import { type HeadId, headName, sameHead } from '../../state/selection.ts'
import { select, useSelection } from '../../state/store.ts'
import { useTheme } from '../../state/theme.ts'

interface Props {
  readonly heads: readonly HeadScores[]
  readonly x: string
  readonly y: string
  readonly matches: (head: HeadScores) => boolean
}

export function ScoreScatter({ heads, x, y, matches }: Props) {
  const theme = useTheme()
  const selected = useSelection((s) => s.head)
  const shown = useMemo(() => withBoth(heads, x, y), [heads, x, y])
  const option = useMemo(
    () => scatterOption({ shown, x, y, matches, selected }, chartColors(theme)),
    [shown, x, y, matches, selected, theme],
  )
  const pick = useCallback(
    (index: number) => {
      const h = shown[index]
      if (h) select({ head: { layer: h.layer, head: h.head } })
    },
    [shown],
  )
  return (
    <EChart
      option={option}
      onItem={pick}
      label={`${shown.length} heads by ${scoreLabel(x)} and ${scoreLabel(y)}; the ranked list beside it has the same heads as buttons`}
    />
  )
}

/** Heads that have both scores. */
export function withBoth(heads: readonly HeadScores[], x: string, y: string): readonly HeadScores[] {
  return heads.filter((h) => h.scores[x]?.value != null && h.scores[y]?.value != null)
}

interface Drawn {
  readonly shown: readonly HeadScores[]
  readonly x: string
  readonly y: string
  readonly matches: (head: HeadScores) => boolean
  readonly selected: HeadId | null
}

/** The chart in given colours: on screen those of the theme, on paper the light ones. */
export function scatterOption({ shown, x, y, matches, selected }: Drawn, c: ChartColors) {
  const axis = (name: string) => ({
    type: 'value',
    name: scoreLabel(name),
    nameLocation: 'middle',
    nameGap: 28,
    nameTextStyle: { color: c.muted, fontSize: 11.5 },
    axisLabel: { color: c.muted, fontSize: 10.5 },
    axisLine: { lineStyle: { color: c.line } },
    splitLine: { lineStyle: { color: c.line, opacity: 0.6 } },
  })
  return {
    animation: false,
    textStyle: { fontFamily: 'inherit' },
    grid: { left: 52, right: 44, top: 12, bottom: 44 },
    tooltip: {
      ...plainTooltip(c),
      formatter: ({ dataIndex }: { dataIndex: number }) => {
        const h = shown[dataIndex]!
        return `${headName(h)}\n${scoreLabel(x)} ${preciseWeight(h.scores[x]!.value!)}\n${scoreLabel(y)} ${preciseWeight(h.scores[y]!.value!)}`
      },
    },
    xAxis: axis(x),
    yAxis: axis(y),
    series: [
      {
        type: 'scatter',
        symbolSize: shown.length > 600 ? 6 : 9,
        data: shown.map((h) => {
          const on = sameHead(selected, h)
          return {
            value: [h.scores[x]!.value, h.scores[y]!.value],
            itemStyle: {
              color: on ? c.selected : c.bar,
              opacity: on ? 1 : matches(h) ? 0.72 : 0.12,
              borderColor: on ? c.selected : c.surface,
              borderWidth: on ? 2 : 0.5,
            },
            label: {
              show: on || (shown.length <= 40 && matches(h)),
              formatter: headName(h),
              position: 'right',
              color: on ? c.selected : c.muted,
              fontSize: 10,
            },
          }
        }),
        labelLayout: { hideOverlap: true },
      },
    ],
  }
}
