/**
 * What a head is made of, without any prompt: which heads it composes with, its spectra, whether it copies, and the token
 * pairs of its circuits. In: the checkpoint's weights, read once as a job. Out: a grid around the selected head.
 */

import { useMutation, useQuery } from '@tanstack/react-query'
import { useCallback, useMemo } from 'react'
import type { OpenedModel, WeightsReply } from '../../../core/api/contract.ts'
import { analyseWeights, useJobOn } from '../../api/jobs.ts'
import { useModel } from '../../api/queries.ts'
import { queryClient } from '../../api/query-client.ts'
import { effectBody } from '../../charts/effect-figure.ts'
import { EffectGrid, type EffectValue } from '../../charts/effect-grid.tsx'
import type { Figure } from '../../charts/figure.ts'
import { FigureMenu } from '../../charts/figure-menu.tsx'
import { grouped, preciseWeight, signedWeight } from '../../state/format.ts'
import { nameWithHash } from '../../state/model-name.ts'
import { headName } from '../../state/selection.ts'
import { select, useSelection, useTool } from '../../state/store.ts'
import { useTheme } from '../../state/theme.ts'
import { Empty, Failed, Waiting } from '../../ui/notice.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { SignedLegend } from '../pattern/legend.tsx'
import { CellReadOut } from '../sweeps/cell-read-out.tsx'
import type { Place } from '../sweeps/cells.ts'
import { useOverCell } from '../sweeps/use-over-cell.ts'
import { composedWith } from './composed.ts'
import { networkEdges } from './network.ts'
import { networkBody } from './network-figure.ts'
import { NetworkGraph, NetworkList } from './network-graph.tsx'
import { Spectra } from './spectra.tsx'
import { TokenPairs } from './token-pairs.tsx'

type Kind = 'q' | 'k' | 'v'
const THROUGH: Readonly<Record<Kind, string>> = { q: 'queries', k: 'keys', v: 'values' }

export function WeightsView() {
  const model = useModel()
  if (model.isError) return <Failed error={model.error} retry={() => void model.refetch()} />
  if (!model.data) return <Waiting text="Opening the checkpoint…" />
  return <Weights model={model.data} />
}

function Weights({ model }: { model: OpenedModel }) {
  const read = useQuery<WeightsReply | null>({
    queryKey: ['weights', model.path],
    queryFn: () => null,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  })
  const running = useJobOn('weights', model.path)
  const start = useMutation({
    mutationFn: async () => {
      const reply = await analyseWeights({ model: model.path }, model.name)
      queryClient.setQueryData(['weights', model.path], reply)
    },
  })
  if (!read.data)
    return (
      <div className="view">
        {running || start.isPending ? (
          <Waiting text="Multiplying out every pair of heads…" />
        ) : (
          <Empty title="The weights have not been read yet">
            <p>
              Singular values of every head's maps, whether it copies, and how much each head reads of what
              earlier ones write. No prompt is needed.
            </p>
            {start.isError && <p className="problem">{start.error.message}</p>}
            <button type="button" className="button primary" onClick={() => start.mutate()}>
              Read the weights of {model.spec.n_layers * model.spec.n_heads} heads
            </button>
          </Empty>
        )}
      </div>
    )
  return <Network model={model} data={read.data} />
}

function Network({ model, data }: { model: OpenedModel; data: WeightsReply }) {
  const theme = useTheme()
  const [at, over] = useOverCell()
  const [shows, setShows] = useTool<'composition' | 'network' | 'copying'>('weights', 'composition')
  const [kind, setKind] = useTool<Kind>('through', 'k')
  const head = useSelection((s) => s.head) ?? { layer: model.spec.n_layers - 1, head: 0 }
  const { spec } = model
  const with_ = composedWith(data.composition?.[kind] ?? [], head, spec.n_heads, data.random_baseline)
  const composition = useCallback(
    (layer: number, column: number): EffectValue => with_.value(layer, column),
    [with_],
  )
  const copying = useCallback(
    (layer: number, column: number): EffectValue => data.copying.heads[layer]?.[column]?.value ?? null,
    [data],
  )
  const copies = shows === 'copying' || !data.composition
  const whole = shows === 'network' && !copies
  const shape = useMemo(() => ({ layers: spec.n_layers, heads: spec.n_heads }), [spec])
  const pairs = useMemo(
    () =>
      networkEdges(whole ? (data.composition?.[kind] ?? []) : [], data.random_baseline, {
        layer: head.layer,
        head: head.head,
      }),
    [whole, data, kind, head.layer, head.head],
  )
  const drawnText = `${pairs.edges.length} drawn of ${grouped(pairs.above)} above random, of ${grouped(pairs.pairs)} pairs`
  const moreOf = ({ layer, column }: Place) => {
    if (copies) return data.copying.heads[layer]?.[column]?.why ?? ''
    const over = with_.value(layer, column)
    return over == null ? '' : `over random; ${preciseWeight(over + data.random_baseline)} in all`
  }
  const about = `${copies ? data.copying.definition : data.definitions.composition}\nExact for the weights: no prompt, no seed, no interval. Random matrices give ${preciseWeight(data.random_baseline)}.\ncheckpoint ${nameWithHash(model.name, model.contentHash)}`
  const own = data.heads.find((h) => h.layer === head.layer && h.head === head.head)
  const name = headName(head)
  const request = { model: model.path }
  const figure = (): Figure => ({
    title: copies
      ? 'eigenvalue copying of every head'
      : whole
        ? `composition of all heads through ${THROUGH[kind]}, over random`
        : `composition with ${name} through ${THROUGH[kind]}, over random`,
    note: copies
      ? 'Rows are layers, columns heads. +1: what the head attends to, it says again.'
      : whole
        ? `Layers from below; an edge is as wide as its pair is over random. ${drawnText}: the strongest, and those of ${name}.`
        : 'Rows are layers, columns heads. Below the head: what it reads of them; above: what they read of it. Value minus that of random matrices.',
    ofModel: true,
    facts: [
      copies ? data.copying.definition : data.definitions.composition,
      `random matrices give ${data.random_baseline.toPrecision(4)}${data.folded ? '; norm gains folded in' : ''}`,
      ...data.caveats,
    ],
    body: () =>
      whole
        ? networkBody(shape, pairs.edges)
        : effectBody({
            layers: spec.n_layers,
            columns: spec.n_heads,
            value: copies ? copying : composition,
            most: copies ? 1 : with_.most,
            columnLabel: (i) => `H${i}`,
            ...(copies ? {} : { blank: 'no path in one step' }),
          }),
    table: () =>
      copies
        ? {
            columns: ['head', 'copying'],
            rows: data.copying.heads.flatMap((heads, layer) =>
              heads.map((score, i) => [headName({ layer, head: i }), score.value]),
            ),
          }
        : {
            columns: ['through', 'from', 'to', 'value', 'random'],
            rows: (['q', 'k', 'v'] as const).flatMap((through) =>
              (data.composition?.[through] ?? []).map((c) => [
                through,
                headName(c.from),
                headName(c.to),
                c.value,
                data.random_baseline,
              ]),
            ),
          },
    reproduce: { kind: 'weights', request },
  })
  return (
    <div className="view sweep-view">
      <div className="toolbar is-wrapping">
        <Segmented
          label="What a tile shows"
          value={copies ? 'copying' : whole ? 'network' : 'composition'}
          options={[
            { value: 'composition', label: `composition with ${name}`, disabled: !data.composition },
            { value: 'network', label: 'of all heads', disabled: !data.composition },
            { value: 'copying', label: 'copying' },
          ]}
          onChange={setShows}
        />
        {!copies && (
          <Segmented
            label="Through"
            value={kind}
            options={[
              { value: 'q', label: 'queries' },
              { value: 'k', label: 'keys' },
              { value: 'v', label: 'values' },
            ]}
            onChange={setKind}
          />
        )}
        <span className="muted small-text" title={data.caveats.join('\n')}>
          random matrices give {preciseWeight(data.random_baseline)}
          {data.folded ? ' · norm gains folded in' : ''}
        </span>
      </div>
      <div className="sweep-result">
        <section className="sweep-main" aria-label="Weights">
          <h3 className="pane-title">
            {copies
              ? 'Eigenvalue copying'
              : whole
                ? `Composition through ${THROUGH[kind]}`
                : `${name} through ${THROUGH[kind]}`}
            <span title={copies ? data.copying.definition : data.definitions.composition}>
              {copies
                ? '1: what it attends to, it says again'
                : whole
                  ? `edges begin at random · ${drawnText}`
                  : 'below it: what it reads of them; above it: what they read of it. Over the random baseline'}
            </span>
            <FigureMenu figure={figure} name="the grid" />
          </h3>
          {whole ? (
            <NetworkGraph
              label={`Composition of all heads through ${THROUGH[kind]}`}
              shape={shape}
              edges={pairs.edges}
              head={head}
            />
          ) : (
            <div className="pattern-figure" title={about}>
              <EffectGrid
                label={copies ? 'Copying by head' : `Composition with ${name}`}
                layers={spec.n_layers}
                columns={spec.n_heads}
                value={copies ? copying : composition}
                most={copies ? 1 : with_.most}
                columnLabel={null}
                selected={{ layer: head.layer, column: head.head }}
                hovered={null}
                theme={theme}
                format={signedWeight}
                onHover={over}
                onPick={(layer, column) => select({ head: { layer, head: column } })}
              >
                <SignedLegend theme={theme} most={copies ? 1 : with_.most} />
                <CellReadOut
                  name={at && headName({ layer: at.layer, head: at.column })}
                  value={at ? (copies ? copying : composition)(at.layer, at.column) : undefined}
                  blank="no path in one step"
                  more={at ? moreOf(at) : ''}
                >
                  {copies ? '' : 'hatched: no path in one step'}
                </CellReadOut>
              </EffectGrid>
            </div>
          )}
          {own && <Spectra request={request} own={own} title={data.definitions} />}
        </section>
        <aside className="sweep-side">
          {whole && (
            <NetworkList
              edges={pairs.edges}
              head={head}
              about={`${data.definitions.composition}\nRandom matrices give ${preciseWeight(data.random_baseline)}.`}
              through={THROUGH[kind]}
            />
          )}
          <TokenPairs key={`${model.path}/${name}`} model={model} head={head} />
        </aside>
      </div>
    </div>
  )
}
