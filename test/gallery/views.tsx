/**
 * Charts that ask the engine for what they show, over replies that are in the cache already: nothing is fetched. Each with
 * a value of every kind that it can show. Importing this sets the selection that the replies belong to.
 */
import { useState } from 'react'
import type { HeadSpectrum } from '../../core/analysis/weights.ts'
import type {
  BenchReply,
  ChangeReply,
  CompoundReply,
  ContextsReply,
  ExperimentDetail,
  GridReply,
  NeighboursReply,
  OpenedModel,
  RunDetail,
  SummaryReply,
} from '../../core/api/contract.ts'
import type { TokenView } from '../../core/checkpoint/types.ts'
import type { AttributionCell } from '../../core/intervene/attribute.ts'
import type { Thumbnails } from '../../renderer/api/client.ts'
import type { Pattern } from '../../renderer/api/pattern.ts'
import { queryClient } from '../../renderer/api/query-client.ts'
import type { View } from '../../renderer/charts/labels.ts'
import { PatternChart } from '../../renderer/charts/pattern-chart.tsx'
import { select } from '../../renderer/state/store.ts'
import { Reach } from '../../renderer/views/bench/reach.tsx'
import { EstimateResult } from '../../renderer/views/patching/estimate-result.tsx'
import { SummaryView } from '../../renderer/views/summary/summary-view.tsx'
import { TextsView } from '../../renderer/views/texts/texts-view.tsx'
import { Spectra } from '../../renderer/views/weights/spectra.tsx'
import { Compound } from '../../renderer/views/words/compound.tsx'
import { Contexts } from '../../renderer/views/words/contexts.tsx'
import { Directions } from '../../renderer/views/words/directions.tsx'

const PATH = '/gallery'
const words = (texts: readonly string[]): TokenView[] =>
  texts.map((text, id) => ({ id, text, special: id === 0, group: null }))
const tokens = words(['<bos>', '·the', '·king', '<b>', '·met', '·a', '·"fox"', '·&', '·the', '·king'])
const source = words(['·der', '·König', '·traf', '·<i>', '·den', '·Fuchs', '</s>'])

const model = {
  path: PATH,
  name: 'gallery',
  contentHash: '0123456789ab',
  series: [],
  spec: { n_layers: 2, n_heads: 4, n_kv_heads: 4, d_vocab: 64, encoder: { n_layers: 2, n_heads: 4 } },
} as unknown as OpenedModel
const run = {
  id: 1,
  modelName: 'gallery',
  text: 'der König traf',
  views: tokens,
  source,
  predictions: tokens.map(() => ({ topTokens: tokens.slice(1, 3) })),
  provenance: { contentHash: '0123456789ab', edits: [] },
} as unknown as RunDetail

// --- What the engine would say, under the name by which each view asks ---

const know = <T,>(key: readonly unknown[], reply: T) => queryClient.setQueryData(key, reply)
const PIECES = [2, 6]
const TEXTS = ['the fox met the king', 'a king', 'the king & the fox']
const PLACES = [4, 1, 1]

know(['model', PATH], model)
know(['run', 1], run)
know(['about'], { headscope: '0' })
know<SummaryReply>(['summary', PATH, 1, 'rollout', 9, 'with'], {
  definition: 'Rollout of mean attention with half of each residual kept. It ignores what values say.',
  tokens,
  values: [0.31, 0, 0.24, 0.002, 0.05, 0.01, 0.08, 0.003, 0.1, 0.205],
})
const weights = tokens.map((_, row) =>
  source.map((_, key) => (key === row % 7 ? 0.7 : key === 6 ? 0.24 : 0.012)),
)
know<GridReply>(['text-pattern', 1, 'cross', 0, 0], { shape: [10, 7], values: weights.flat() })
know<Thumbnails>(['text-thumbnails', 1, 'cross'], {
  layers: 2,
  heads: 4,
  bytes: Uint8Array.from({ length: 8 * 1024 }, (_, n) =>
    Math.abs((n & 31) - ((n >> 5) & 31)) <= n >> 10 ? 255 - 30 * (n >> 10) : 0,
  ),
  full: true,
})
know<NeighboursReply>(['neighbours', PATH, '·king - ·the'], {
  terms: [],
  norm: 1.25,
  neighbours: [2, 6, 3, 5, 7].map((id, i) => ({
    id,
    cosine: [0.93, 0.41, 0.22, 0.03, -0.12][i]!,
    named: i === 0,
  })),
  words: Object.fromEntries(tokens.map((token) => [token.id, token])),
} as NeighboursReply)
know<CompoundReply>(['compound', PATH, 1, PIECES], {
  tokens,
  pairs: 1,
  controlPairs: 3,
  borders: [
    { pieces: -0.1, controls: 0.05 },
    { pieces: 0.3, controls: 0.1 },
    { pieces: 0.6, controls: null },
  ],
} as unknown as CompoundReply)
const read = TEXTS.map((text) => words(text.split(' ').map((word, i) => (i === 0 ? word : `·${word}`))))
TEXTS.forEach((text, i) => {
  know(['tokenize', PATH, text], { tokens: read[i]!.map((token) => ({ ...token, special: false })) })
})
const places = TEXTS.map((text, i) => ({ prompt: { text }, pos: PLACES[i]! }))
know<ContextsReply>(['contexts', PATH, places], {
  token: null,
  tokens: read,
  pairs: [
    [0, 1],
    [0, 2],
    [1, 2],
  ].flatMap(([a, b], n) =>
    [1, 0.9, 0.4].map((cosine, border) => ({ a, b, border, cosine: cosine - (border * n) / 4 })),
  ),
} as unknown as ContextsReply)
const at = (i: number) => ({ ...places[i]!, border: 2 })
know<ChangeReply>(['change', PATH, at(0), at(1)], {
  distance: 4.2,
  writers: [
    { name: 'L1H3', share: 0.7, norm: 3 },
    { name: 'L0 mlp', share: 0.45, norm: 2 },
    { name: 'L0H2', share: -0.15, norm: 1 },
    { name: 'embed', share: 0, norm: 0 },
  ],
} as unknown as ChangeReply)
know(['experiment', 5], {
  id: 5,
  kind: 'attribute',
  complete: true,
  cells: 24,
  done: 24,
  request: {
    model: PATH,
    clean: { ids: tokens.map(({ id }) => id) },
    corrupt: { ids: [2] },
    sites: ['z', 'mlp_out'],
  },
  prompts: [],
  result: { trust: { n: 24, correlation: 0.97 }, warnings: [] },
  cellList: Array.from({ length: 24 }, (_, i): Partial<AttributionCell> => {
    const estimate = Math.sin(i * 1.7) * (i % 5)
    return {
      layer: i % 2,
      head: i % 4,
      site: 'z',
      pos: i % 10,
      estimate,
      exact: estimate * 0.8 + (i % 3) * 0.2,
    }
  }),
} as unknown as ExperimentDetail<'attribute'>)

select({
  model: PATH,
  run: 1,
  tool: {
    attribute: '5',
    texts_change: 'pair',
    direction: '·king - ·the',
    pieces: PIECES.join('.'),
    contexts: TEXTS.join('\n'),
    'context-word': 'king',
  },
})

// --- The figures ---

const bench = {
  tokens,
  key_tokens: tokens,
  query: 9,
  key: 2,
  curve: Array.from({ length: 41 }, (_, i) => ({ alpha: i / 40, size: 2 * (i / 40) * (1 - i / 40) })),
  reach: [0.05, 0.02, 0.35, 0.08, 0.5].map((alpha, key) => ({
    key,
    alpha,
    size: (1.2 + key / 4) * alpha * (1 - alpha),
    away: 1.2 + key / 4,
  })),
} as unknown as BenchReply

const spectrum: HeadSpectrum = {
  layer: 1,
  head: 3,
  ov: Array.from({ length: 16 }, (_, i) => 3 * 0.8 ** i),
  qk: Array.from({ length: 16 }, (_, i) => 12 * Math.max(0, 1 - i / 12)),
  ov_norm: 5,
  qk_norm: 23,
}

/** A pattern of which a quarter is in the window: the map beside it says which. */
function Zoomed({ pattern, theme }: { pattern: Pattern; theme: 'light' | 'dark' }) {
  const [view, setView] = useState<View>({ zoom: 2, x: 3, y: 6 })
  return (
    <PatternChart
      name="zoomed"
      title="pattern"
      pattern={pattern}
      tokens={Array.from({ length: pattern.size }, (_, i) => tokens[i % tokens.length]!)}
      display={{ theme, log: false, bos: 'show' }}
      labels={90}
      view={view}
      onView={setView}
    />
  )
}

/** Name, width and height of each, and what is in it. */
export const views = (pattern: Pattern, theme: 'light' | 'dark') =>
  [
    ['minimap', 420, 420, <Zoomed key="zoomed" pattern={pattern} theme={theme} />],
    ['estimates', 420, 420, <EstimateResult key="estimates" model={model} run={run} corrupt={[]} />],
    [
      'reach',
      460,
      420,
      <Reach key="reach" bench={bench} place={{ model: PATH, prompt: {}, layer: 1, head: 3 }} />,
    ],
    [
      'spectra',
      520,
      300,
      <Spectra
        key="spectra"
        request={{ model: PATH }}
        own={spectrum}
        title={{ ov: 'W_V W_O', qk: 'W_Q W_Kᵀ' }}
      />,
    ],
    ['rollout', 520, 400, <SummaryView key="rollout" />],
    [
      'directions',
      620,
      260,
      <section key="directions" className="view words-view">
        <Directions model={model} />
      </section>,
    ],
    [
      'compound',
      620,
      420,
      <section key="compound" className="view words-view">
        <Compound model={model} />
      </section>,
    ],
    [
      'contexts',
      720,
      560,
      <section key="contexts" className="view words-view">
        <Contexts model={model} />
      </section>,
    ],
    ['texts', 820, 460, <TextsView key="texts" />],
  ] as const
