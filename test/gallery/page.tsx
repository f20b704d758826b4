/** Every chart of the app drawn from fixed data, one figure each. Built and photographed by charts.test.ts. */
import '../../renderer/ui/theme.css'
import '../../renderer/ui/controls.css'
import '../../renderer/ui/frame.css'
import '../../renderer/ui/views.css'
import '../../renderer/ui/sweeps.css'
import '../../renderer/ui/paths.css'
import '../../renderer/ui/corpus.css'
import { QueryClientProvider } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { createRoot } from 'react-dom/client'
import type { HeadScores } from '../../core/analysis/types.ts'
import type { ScanReply } from '../../core/api/contract.ts'
import type { Pattern } from '../../renderer/api/pattern.ts'
import { queryClient } from '../../renderer/api/query-client.ts'
import { EffectGrid } from '../../renderer/charts/effect-grid.tsx'
import { FIT, type View } from '../../renderer/charts/labels.ts'
import { PatternChart } from '../../renderer/charts/pattern-chart.tsx'
import { weightReading } from '../../renderer/charts/reading.ts'
import { currentTheme } from '../../renderer/state/theme.ts'
import { partsOf } from '../../renderer/views/attribution/parts.ts'
import { Waterfall } from '../../renderer/views/attribution/waterfall.tsx'
import { ScoreScatter } from '../../renderer/views/heads/score-scatter.tsx'
import { ArcsForm } from '../../renderer/views/pattern/arcs-form.tsx'
import { TextForm } from '../../renderer/views/pattern/text-form.tsx'
import { curvesOf, type Step } from '../../renderer/views/series/curves.ts'
import { SeriesChart } from '../../renderer/views/series/series-chart.tsx'
import { Bars, Borders, Circuit, Divergence, Lens, Repeats, ScoreBars, SourceCircuit } from './figures.tsx'
import { views } from './views.tsx'

const theme = currentTheme()
document.documentElement.dataset.theme = theme

const SIZE = 16
const tokens = Array.from({ length: SIZE }, (_, i) => ({
  id: i % 8,
  text: ['<bos>', '·the', '·king', '<b>', '·met', '·a', '·"fox"', '·&', '·the', '·king'][i % 10]!,
  special: i === 0,
  group: null,
}))

/** Weights of a head that looks back by `by`, the rest on the first position; rows sum to 1. */
function lookingBack(by: number, share: number): Pattern {
  const data = new Float32Array((SIZE * (SIZE + 1)) / 2)
  for (let q = 0; q < SIZE; q++) {
    const start = (q * (q + 1)) / 2
    data[start] = 1 - (q >= by ? share : 0)
    if (q >= by) data[start + q - by]! += share
  }
  return { size: SIZE, layout: 'tri', data }
}
const before = lookingBack(7, 0.8)
const after = lookingBack(7, 0.25)
const display = { theme, log: false, bos: 'show' } as const

const score = (value: number) => ({ value, n: 8, rows: 64, low: value - 0.03, high: value + 0.03 })
const heads: HeadScores[] = Array.from({ length: 16 }, (_, i) => ({
  layer: i >> 3,
  head: i & 7,
  scores: { induction: score(i > 7 ? 1 - (i - 8) / 8 : 0.02), previous_token: score(i === 2 ? 0.97 : 0.04) },
}))
const steps: Step[] = [0, 256, 512, 1024, 4096].map((step, i) => ({
  at: `step${step}`,
  path: `/step${step}`,
  step,
  scan: {
    heads: heads.map((h) => ({
      ...h,
      scores: { induction: score(h.scores.induction!.value! * [0, 0.02, 0.1, 0.8, 1][i]!) },
    })),
    loss: { first: 7, second: [7, 6.8, 6, 1, 0.1][i]! },
  } as unknown as ScanReply,
}))
const effect = (layer: number, column: number) =>
  layer === 2 && column > 12
    ? undefined
    : layer === 0 && column === 3
      ? null
      : Math.sin(layer * 2 + column) * (column === 9 ? 2 : 0.6)
const components = ['embed', 'L0H0', 'L0H1', 'L0 mlp', 'L1H0', 'L1H1', 'L1 mlp', 'norm bias'].map(
  (name, i) => {
    const at = /L(\d)H(\d)/.exec(name)
    return {
      name,
      layer: at ? Number(at[1]) : null,
      head: at ? Number(at[2]) : null,
      value: [0.4, -0.9, 0.3, 0.8, 2.1, -0.2, -0.7, 0.05][i]!,
    }
  },
)

function Figure({
  name,
  width,
  height,
  children,
}: {
  name: string
  width: number
  height: number
  children: ReactNode
}) {
  return (
    <figure
      data-chart={name}
      style={{ width, height, margin: 8, display: 'flex', background: 'var(--surface)' }}
    >
      {children}
    </figure>
  )
}

function Matrix({ pattern, against }: { pattern: Pattern; against: Pattern | null }) {
  const [view, setView] = useState<View>(FIT)
  return (
    <PatternChart
      name={against ? 'difference' : 'pattern'}
      title="pattern"
      pattern={pattern}
      against={against}
      tokens={tokens}
      display={display}
      labels={90}
      view={view}
      onView={setView}
    />
  )
}

const nothing = () => undefined

function Gallery() {
  return (
    <div
      style={{
        display: 'flex',
        flexWrap: 'wrap',
        alignContent: 'flex-start',
        overflow: 'auto',
        height: '100%',
      }}
    >
      <Figure name="pattern" width={420} height={420}>
        <Matrix pattern={before} against={null} />
      </Figure>
      <Figure name="difference" width={420} height={420}>
        <Matrix pattern={after} against={before} />
      </Figure>
      <Figure name="arcs" width={520} height={300}>
        <ArcsForm reading={weightReading(before, 'hide')} tokens={tokens} />
      </Figure>
      <Figure name="text" width={520} height={120}>
        <TextForm reading={weightReading(before, 'show')} tokens={tokens} theme={theme} log={false} />
      </Figure>
      <Figure name="effects" width={620} height={260}>
        <EffectGrid
          label="effects"
          layers={4}
          columns={SIZE}
          value={effect}
          most={2}
          columnLabel={(i) => tokens[i]!.text}
          marked={[3]}
          selected={{ layer: 1, column: 9 }}
          hovered={null}
          theme={theme}
          format={(x) => x.toFixed(1)}
          onHover={nothing}
          onPick={nothing}
        />
      </Figure>
      <Figure name="waterfall" width={520} height={300}>
        <Waterfall parts={partsOf(components, 'part', 'depth')} total={1.85} ordered pos={15} />
      </Figure>
      <Figure name="scatter" width={520} height={300}>
        <ScoreScatter
          heads={heads}
          x="induction"
          y="previous_token"
          hue="induction"
          matches={(h) => h.layer === 1}
        />
      </Figure>
      <Figure name="series" width={620} height={300}>
        <SeriesChart
          steps={steps}
          curves={curvesOf(steps, 'induction')}
          axis="log"
          at={2}
          onset={3}
          label="induction"
          onMove={nothing}
        />
      </Figure>
      <Figure name="repeats" width={520} height={300}>
        <Repeats tokens={tokens} />
      </Figure>
      <Figure name="bars" width={520} height={260}>
        <Bars />
      </Figure>
      <Figure name="borders" width={420} height={240}>
        <Borders />
      </Figure>
      <Figure name="circuit" width={620} height={360}>
        <Circuit theme={theme} />
      </Figure>
      <Figure name="circuit-source" width={620} height={440}>
        <SourceCircuit theme={theme} />
      </Figure>
      <Figure name="lens" width={620} height={200}>
        <Lens tokens={tokens} />
      </Figure>
      <Figure name="divergence" width={620} height={90}>
        <Divergence tokens={tokens} />
      </Figure>
      <Figure name="score-bars" width={260} height={120}>
        <ScoreBars />
      </Figure>
      {views(before, theme).map(([name, width, height, chart]) => (
        <Figure key={name} name={name} width={width} height={height}>
          <div style={{ flex: 1, minWidth: 0, display: 'grid', gridTemplateColumns: 'minmax(0, 1fr)' }}>
            {chart}
          </div>
        </Figure>
      ))}
    </div>
  )
}

createRoot(document.getElementById('root')!).render(
  <QueryClientProvider client={queryClient}>
    <Gallery />
  </QueryClientProvider>,
)
