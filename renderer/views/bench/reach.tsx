/** How far a score can move its output: |∂o/∂s_j| over α_j for the chosen key, and where the row's scores stand. */
import { useMemo } from 'react'
import type { BenchHeadInput, BenchReply } from '../../../core/api/contract.ts'
import { type ChartColors, chartColors } from '../../charts/css-colors.ts'
import { EChart } from '../../charts/echart.tsx'
import { chartFigure } from '../../charts/echart-figure.ts'
import type { Figure } from '../../charts/figure.ts'
import { FigureMenu } from '../../charts/figure-menu.tsx'
import { preciseWeight } from '../../state/format.ts'
import { useTheme } from '../../state/theme.ts'
import { Fact } from './effect.tsx'
import { pickPair } from './pick.ts'

export function Reach({ bench, place }: { bench: BenchReply; place: BenchHeadInput }) {
  const theme = useTheme()
  const { query, key, curve, reach, tokens, key_tokens: keys } = bench
  const own = reach.find((one) => one.key === key)
  const peak = curve.reduce((a, b) => (b.size > a.size ? b : a), { alpha: 0, size: 0 })
  const option = useMemo(() => reachOption(bench, chartColors(theme)), [bench, theme])
  const figure = (): Figure => ({
    title: `reach of the score ${query} → ${key} in L${place.layer}H${place.head}`,
    note: 'How far a score moves the output, |∂o/∂s_j|, over its weight α_j. Line: the chosen key at every weight; dots: the scores of this row; orange: the chosen one.',
    facts: [`query ${query} ‘${tokens[query]?.text ?? ''}’, key ${key} ‘${keys[key]?.text ?? ''}’`],
    body: () => chartFigure((c) => reachOption(bench, c), 600, 360),
    table: () => ({
      columns: ['key', 'token', 'alpha', 'size', 'away'],
      rows: reach.map((one) => [one.key, keys[one.key]?.text ?? '', one.alpha, one.size, one.away]),
    }),
    reproduce: { kind: 'bench', request: place },
  })
  const ranked = [...reach].sort((a, b) => b.size - a.size).slice(0, 12)
  return (
    <section className="bench-chart" aria-label="Reach of a score">
      <h3 className="pane-title">
        Reach of {query} → {key} <q>{keys[key]?.text}</q>
        <span>dots: the scores of this row</span>
        <FigureMenu figure={figure} name="the reach" />
      </h3>
      <EChart
        option={option}
        label={`How far a score moves the output, over its weight, with the peak at ${peak.alpha}`}
      />
      <dl className="facts">
        <Fact name="peak at α">{peak.size === 0 ? 'flat' : peak.alpha}</Fact>
        {own && (
          <Fact name="now: α, |∂o/∂s|">{`${preciseWeight(own.alpha)}, ${preciseWeight(own.size)}`}</Fact>
        )}
        {own && <Fact name="|v_j − v̄ of the others|">{preciseWeight(own.away)}</Fact>}
      </dl>
      <ol>
        {ranked.map((one) => (
          <li key={one.key}>
            <button
              type="button"
              className={one.key === key ? 'effect-line is-selected' : 'effect-line'}
              onClick={() => pickPair(place, query, one.key)}
            >
              <span className="clip">
                <i className="index">{one.key}</i> <span className="token-text">{keys[one.key]?.text}</span>
              </span>
              <span className="number">α {preciseWeight(one.alpha)}</span>
              <span className="number">{preciseWeight(one.size)}</span>
            </button>
          </li>
        ))}
      </ol>
    </section>
  )
}

/** The chart in given colours: on screen those of the theme, on paper the light ones. */
function reachOption({ curve, reach, key }: BenchReply, c: ChartColors) {
  const own = reach.find((one) => one.key === key)
  const text = { color: c.muted, fontSize: 10.5 }
  const axis = { axisLabel: text, nameTextStyle: text, axisLine: { lineStyle: { color: c.line } } }
  return {
    animation: false,
    textStyle: { fontFamily: 'inherit' },
    grid: { left: 46, right: 12, top: 24, bottom: 34 },
    xAxis: {
      ...axis,
      type: 'value',
      min: 0,
      max: 1,
      interval: 0.25,
      name: 'α_j',
      nameLocation: 'middle',
      nameGap: 20,
      splitLine: { show: false },
    },
    yAxis: {
      ...axis,
      type: 'value',
      min: 0,
      name: '|∂o/∂s_j|',
      nameTextStyle: { ...text, align: 'left' },
      splitLine: { lineStyle: { color: c.line, opacity: 0.5 } },
    },
    series: [
      {
        type: 'line',
        data: curve.map(({ alpha, size }) => [alpha, size]),
        symbol: 'none',
        lineStyle: { color: c.bar, width: 2 },
        markLine: {
          silent: true,
          symbol: 'none',
          label: { ...text, formatter: 'one half' },
          lineStyle: { color: c.muted, type: 'dashed' },
          data: [{ xAxis: 0.5 }],
        },
      },
      {
        type: 'scatter',
        data: reach.map(({ alpha, size }) => [alpha, size]),
        symbolSize: 6,
        itemStyle: { color: c.second, opacity: 0.8 },
      },
      ...(own
        ? [
            {
              type: 'scatter',
              data: [[own.alpha, own.size]],
              symbolSize: 10,
              itemStyle: { color: c.selected },
            },
          ]
        : []),
    ],
  }
}
