/** More charts from fixed data: those that read a reply of the engine. Each with a value of every kind that it can show. */
import type { CompareReply, InductionView, LensReply, ScanReply } from '../../core/api/contract.ts'
import type { TokenView } from '../../core/checkpoint/types.ts'
import type { PathCell } from '../../core/intervene/path.ts'
import { ScoreBar } from '../../renderer/charts/score-bar.tsx'
import { KlStrip } from '../../renderer/views/compare/kl-strip.tsx'
import { ArcDiagram } from '../../renderer/views/induction/arc-diagram.tsx'
import { HeadBars } from '../../renderer/views/induction/head-bars.tsx'
import { edgeName } from '../../renderer/views/paths/circuit.ts'
import { PathGraph } from '../../renderer/views/paths/path-graph.tsx'
import { LensTable } from '../../renderer/views/residual/lens-table.tsx'
import { BorderChart } from '../../renderer/views/words/border-chart.tsx'

type Theme = 'light' | 'dark'
const nothing = () => undefined

/** Places where the text repeats: weights from 0 to 1, one miss. */
export function Repeats({ tokens }: { tokens: readonly TokenView[] }) {
  const pairs = [8, 9, 10, 11].map((query, i) => ({ query, target: i + 2 }))
  return (
    <ArcDiagram
      tokens={tokens}
      pairs={pairs}
      weights={[0.9, 0.6, 0.3, 0.02]}
      misses={[false, false, false, true]}
    />
  )
}

/** Scores of eight heads on random repeats, with intervals, beside what each does in a prompt; one is undefined. */
export function Bars() {
  const score = (value: number | null) => ({
    value,
    n: 8,
    rows: 64,
    low: value === null ? null : value - 0.05,
    high: value === null ? null : value + 0.05,
  })
  const heads = Array.from({ length: 8 }, (_, i) => ({ layer: i >> 2, head: i & 3 }))
  const data = {
    pairs: [],
    heads: heads.map((id, i) => ({ ...id, weights: [], prefix_matching: score(i === 3 ? null : i / 9) })),
  } as unknown as InductionView
  const scan = {
    heads: heads.map((id, i) => ({ ...id, scores: { induction: score(1 - i / 8) } })),
  } as unknown as ScanReply
  return <HeadBars data={data} scan={scan} />
}

/** Two lines over five borders, one with a hole. */
export function Borders() {
  const lines = [
    { name: '·king', values: [-0.4, 0.1, 0.3, 0.7, 0.95] },
    { name: '·queen', values: [-0.8, null, 0, 0.2, 0.3] },
  ]
  return (
    <BorderChart lines={lines} border={2} label="cosine with a word through the layers" onPick={nothing} />
  )
}

const edge = (path: string, delta: number | null) => {
  const [from = '', to = ''] = path.split(' ')
  return { from, to, delta }
}

/** Two layers of four heads; an edge that helps, one that hurts, one that is not measured. */
export function Circuit({ theme }: { theme: Theme }) {
  const edges = [edge('L0H1 L1H2.k', -2), edge('L0H3 L1H2.v', 0.8), edge('L1H2 logits', null)]
  return <Graph edges={edges} place="L1H2.k" cross={false} theme={theme} />
}

/** The same of a decoder with heads over a source, which sends too. */
export function SourceCircuit({ theme }: { theme: Theme }) {
  const edges = [
    edge('source L1H2.cross.v', -2),
    edge('L0H1 L1H2.cross.q', 0.8),
    edge('L0H3.cross L1H0.k', -0.5),
    edge('L1H2.cross logits', null),
  ]
  return <Graph edges={edges} place="L1H2.cross.v" cross theme={theme} />
}

interface GraphProps {
  readonly edges: readonly ReturnType<typeof edge>[]
  readonly place: string
  readonly cross: boolean
  readonly theme: Theme
}

function Graph({ edges, place, cross, theme }: GraphProps) {
  const measured = edges.filter(({ delta }) => delta !== null)
  const effects = new Map<string, PathCell>(
    measured.map((one) => [edgeName(one), { ...one, value: 5 + one.delta! }]),
  )
  return (
    <PathGraph
      shape={{ layers: 2, heads: 4, parallel: false, mlpReceives: true, cross, source: cross }}
      edges={edges}
      effects={effects}
      most={2}
      place={place}
      theme={theme}
      onPlace={nothing}
      onToggle={nothing}
    />
  )
}

/** The words of three borders over eight positions, from unsure to sure, one undefined. */
export function Lens({ tokens }: { tokens: readonly TokenView[] }) {
  const lens = {
    definition: '',
    tokens,
    words: Object.fromEntries(tokens.map((token) => [token.id, token])),
    layers: [0, 1, 2].map((layer) => ({
      layer,
      positions: Array.from({ length: 8 }, (_, pos) => ({
        item: 0,
        pos,
        top:
          layer === 0 && pos === 7
            ? [{ id: 1, logit: 0, prob: null }]
            : [{ id: (pos + layer) % 8, logit: 1, prob: (layer + 1) * (pos + 1) * 0.04 }],
        entropy: 2,
        loss: 1,
        rank: null,
        prob: null,
      })),
    })),
  } as unknown as LensReply
  return (
    <LensTable
      label="lens"
      lens={lens}
      views={tokens}
      vocab={64}
      colour="probability"
      selected={{ border: 1, pos: 4 }}
      causal
      shared={false}
      onPick={nothing}
    />
  )
}

/** The divergence under each token, one of them not a number, two with another likeliest token. */
export function Divergence({ tokens }: { tokens: readonly TokenView[] }) {
  const prediction = {
    kl: tokens.map((_, i) => (i === 5 ? null : (i % 7) / 6)),
    top1_equal: tokens.map((_, i) => i % 6 !== 4),
  } as unknown as CompareReply['prediction']['prompts'][number]
  return <KlStrip tokens={tokens} prediction={prediction} most={1} />
}

/** Score bars: certain, unsure, zero, and undefined. */
export function ScoreBars() {
  const bars = [
    { value: 0.93, low: 0.91, high: 0.95 },
    { value: 0.5, low: 0.2, high: 0.8 },
    { value: 0, low: 0, high: 0 },
    { value: null, low: null, high: null },
  ]
  return (
    <div style={{ flex: 1, padding: 12, display: 'grid', gap: 10, alignContent: 'start' }}>
      {bars.map((bar, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: fixed data
        <ScoreBar key={i} score={{ n: 8, rows: 64, ...bar }} />
      ))}
    </div>
  )
}
