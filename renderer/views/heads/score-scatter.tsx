/** Every head by two scores, coloured by a third or by one of them. A click chooses the head; the filter fades the others. */

import { useCallback, useMemo } from 'react'
import type { HeadScores } from '../../../core/analysis/types.ts'
import { weightColor } from '../../charts/color.ts'
import { type ChartColors, chartColors } from '../../charts/css-colors.ts'
import { EChart } from '../../charts/echart.tsx'
import { plainTooltip } from '../../charts/tooltip.ts'
import { preciseWeight } from '../../state/format.ts'
import { scoreLabel } from '../../state/rank.ts'
import { type HeadId, headName, sameHead } from '../../state/selection.ts'
import { select, useSelection } from '../../state/store.ts'
import { type Theme, useTheme } from '../../state/theme.ts'

interface Props {
  readonly heads: readonly HeadScores[]
  readonly x: string
  readonly y: string
  /** The score that colours the dots. */
  readonly hue: string
  readonly matches: (head: HeadScores) => boolean
}

export function ScoreScatter({ heads, x, y, hue, matches }: Props) {
  const theme = useTheme()
  const selected = useSelection((s) => s.head)
  const shown = useMemo(() => withBoth(heads, x, y, selected), [heads, x, y, selected])
  const option = useMemo(
    () => scatterOption({ shown, x, y, hue, matches, selected }, theme, chartColors(theme)),
    [shown, x, y, hue, matches, selected, theme],
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
      label={`${shown.length} heads by ${scoreLabel(x)} and ${scoreLabel(y)}, coloured by ${scoreLabel(hue)}; the ranked list beside it has the same heads as buttons`}
    />
  )
}

/** Heads that have both scores; the selected one last, so that it is drawn over the others. */
export function withBoth(
  heads: readonly HeadScores[],
  x: string,
  y: string,
  selected: HeadId | null,
): readonly HeadScores[] {
  const both = heads.filter((h) => h.scores[x]?.value != null && h.scores[y]?.value != null)
  const on = both.find((h) => sameHead(selected, h))
  return on ? [...both.filter((h) => h !== on), on] : both
}

interface Drawn {
  readonly shown: readonly HeadScores[]
  readonly x: string
  readonly y: string
  readonly hue: string
  readonly matches: (head: HeadScores) => boolean
  readonly selected: HeadId | null
}

/** The chart in given colours: on screen those of the theme, on paper the light ones. */
export function scatterOption({ shown, x, y, hue, matches, selected }: Drawn, theme: Theme, c: ChartColors) {
  const told = [...new Set([x, y, hue])]
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
        return [
          headName(h),
          ...told.map((name) => `${scoreLabel(name)} ${said(h.scores[name]?.value)}`),
        ].join('\n')
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
              color: colorOf(theme, h.scores[hue]?.value, c),
              opacity: on ? 1 : matches(h) ? 0.85 : 0.12,
              borderColor: on ? c.selected : c.muted, // the least is as white as the ground
              borderWidth: on ? 2.5 : 0.75,
            },
            label: {
              show: on || (shown.length <= 40 && matches(h)),
              formatter: headName(h),
              position: 'right',
              color: on ? c.selected : c.muted,
              fontSize: 10,
              textBorderColor: c.surface,
              textBorderWidth: on ? 3 : 0,
            },
          }
        }),
        labelLayout: { hideOverlap: true },
      },
    ],
  }
}

/** Where the colouring score is undefined a dot is grey: on the scale it would be a value. */
function colorOf(theme: Theme, value: number | null | undefined, c: ChartColors): string {
  return value == null ? c.line : weightColor(theme, value)
}

function said(value: number | null | undefined): string {
  return value == null ? 'undefined' : preciseWeight(value)
}
