/** The head browser: grid, ranked list, and the selected head's pattern beside them. */

import { useMutation } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { OpenedModel } from '../../../core/api/contract.ts'
import { useJobOn } from '../../api/jobs.ts'
import { useNotes } from '../../api/notebook.ts'
import { useModel, useScan, useThumbnails } from '../../api/queries.ts'
import { rampGradient } from '../../charts/color.ts'
import { FigureMenu } from '../../charts/figure-menu.tsx'
import { scanNow } from '../../state/open.ts'
import { usePins } from '../../state/pins.ts'
import { parseFilter, rankHeads, scoreLabel } from '../../state/rank.ts'
import { headName } from '../../state/selection.ts'
import { select, useSelection, useTool } from '../../state/store.ts'
import { useTheme } from '../../state/theme.ts'
import { Empty, Failed, Waiting } from '../../ui/notice.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { Choice } from '../../ui/select.tsx'
import { useSize } from '../../ui/use-size.ts'
import { PatternPanel } from '../pattern/pattern-panel.tsx'
import { byGroups, byLayers, groupsOf, type Order } from './arrange.ts'
import { COLUMN_LABEL, HeadGrid, ROW_LABEL } from './head-grid.tsx'
import { headsFigure } from './heads-figure.ts'
import { gridLayout } from './layout.ts'
import { RankedList } from './ranked-list.tsx'
import { ScoreScatter } from './score-scatter.tsx'
import { useCare } from './use-care.ts'

export function HeadsView() {
  const model = useModel()
  if (model.isError) return <Failed error={model.error} retry={() => void model.refetch()} />
  if (!model.data) return <Waiting text="Opening the checkpoint…" />
  return <HeadBrowser model={model.data} />
}

function HeadBrowser({ model }: { model: OpenedModel }) {
  const scan = useScan()
  const thumbnails = useThumbnails()
  const theme = useTheme()
  const score = useSelection((s) => s.score)
  const wanted = useSelection((s) => s.tiles)
  const typed = useSelection((s) => s.filter)
  const [measure, size] = useSize<HTMLDivElement>()

  const heads = scan.data?.heads ?? null
  const names = useMemo(() => Object.keys(heads?.[0]?.scores ?? {}), [heads])
  const pinned = usePins()
  const notes = useNotes().data
  const noted = useMemo(() => new Map((notes ?? []).map((note) => [headName(note), note.text])), [notes])
  const filter = useMemo(
    () => parseFilter(typed, names, pinned, new Set(noted.keys())),
    [typed, names, pinned, noted],
  )
  const ranked = heads ? rankHeads(heads.filter(filter.matches), score) : []
  const [order, setOrder] = useTool<Order>('order', 'layers')
  const [zoom, setZoom] = useTool<'fit' | 'medium' | 'large'>('size', 'fit')
  const [against, setAgainst] = useTool<string>('against', 'previous_token')
  const layout = gridLayout(model.spec, size, ROW_LABEL, COLUMN_LABEL)
  const pitch = zoom === 'fit' ? layout.pitch : zoom === 'medium' ? 44 : 76
  const room = layout.beside ? (size.width - 24) * 0.42 : size.width - 24 - 226 - 16
  const { matches } = filter
  const care = useCare()
  const cares = care?.on ? care.heads : null
  const looks = order === 'alike' ? (thumbnails.data ?? null) : null
  const arrangement = useMemo(
    () =>
      order === 'layers' || !heads
        ? byLayers(model.spec, pitch)
        : byGroups(order, groupsOf(order, heads.filter(matches), score, pinned, looks), pitch, room),
    [order, heads, matches, score, pinned, looks, pitch, room, model.spec],
  )
  const tiles = wanted === 'auto' ? (pitch >= 28 ? 'patterns' : 'scores') : wanted
  const selected = useSelection((s) => s.head)
  const figure = () =>
    headsFigure({
      model,
      scan: scan.data ?? null,
      thumbnails: tiles === 'patterns' ? (thumbnails.data ?? null) : null,
      score,
      against: tiles === 'scatter' ? against : null,
      order,
      groups:
        heads && order !== 'layers' ? groupsOf(order, heads.filter(matches), score, pinned, looks) : null,
      filter: typed,
      matches,
      selected,
    })

  return (
    <div className="view heads-view">
      <div className="toolbar is-wrapping">
        <span className="field">
          <span>colour</span>
          <Choice
            label="Score that colours the heads"
            value={score}
            options={(names.length ? names : [score]).map((name) => ({
              value: name,
              label: scoreLabel(name),
            }))}
            onChange={(next) => select({ score: next })}
          />
        </span>
        <Segmented
          label="What a tile shows"
          value={tiles}
          options={[
            { value: 'patterns', label: 'Patterns' },
            { value: 'scores', label: 'Scores' },
            { value: 'scatter', label: 'Scatter', disabled: !heads },
          ]}
          onChange={(next) => select({ tiles: next })}
        />
        {tiles === 'scatter' ? (
          <span className="field">
            <span>against</span>
            <Choice
              label="Score on the other axis"
              value={against}
              options={names.map((name) => ({ value: name, label: scoreLabel(name) }))}
              onChange={setAgainst}
            />
          </span>
        ) : (
          <>
            <span className="field">
              <span>order</span>
              <Choice label="Order of the heads" value={order} options={ORDERS} onChange={setOrder} />
            </span>
            <Segmented
              label="Size of the tiles"
              value={zoom}
              options={[
                { value: 'fit', label: 'Fit' },
                { value: 'medium', label: 'M' },
                { value: 'large', label: 'L' },
              ]}
              onChange={setZoom}
            />
          </>
        )}
        <input
          className="input search"
          type="search"
          aria-label="Find or filter heads"
          placeholder="L1H3 · induction > .5 · pinned"
          title="L1H3 or 1.3 finds a head; L1, induction > .5, class induction, pinned and noted (has a note) filter"
          value={typed}
          onChange={(event) => select({ filter: event.target.value }, { replace: true })}
          onKeyDown={(event) => {
            if (
              event.key === 'Enter' &&
              filter.head &&
              filter.head.layer < model.spec.n_layers &&
              filter.head.head < model.spec.n_heads
            )
              select({ head: filter.head, filter: '' })
            else if (event.key === 'Enter' && ranked[0])
              select({ head: { layer: ranked[0].layer, head: ranked[0].head } })
          }}
        />
        {filter.problem && <span className="problem">{filter.problem}</span>}
        {!filter.problem && typed !== '' && heads && (
          <span className="muted">
            {ranked.length} of {heads.length}
          </span>
        )}
        {care && (
          <button
            type="button"
            className={care.on ? 'button small toggle is-on care' : 'button small toggle care'}
            aria-pressed={care.on}
            title={`${care.definition}\nClick: ${care.on ? 'fade none' : 'fade the others'}`}
            onClick={() => care.turn(!care.on)}
          >
            {care.heads.size} <span className="token-text clip">{care.label}</span>
          </button>
        )}
        <span className="toolbar-end">
          <span className="legend legend-score">
            0 <i style={{ background: rampGradient(theme) }} /> 1
          </span>
          <FigureMenu figure={figure} name="the heads" />
        </span>
      </div>
      <div className={`heads-body ${layout.beside ? 'is-beside' : 'is-stacked'}`} ref={measure}>
        <div
          className="grid-scroll"
          style={
            zoom === 'fit' && order === 'layers'
              ? {}
              : { maxWidth: room, maxHeight: layout.beside ? undefined : size.height * 0.42 }
          }
        >
          {size.width > 0 && tiles === 'scatter' && heads && (
            <div
              className="scatter-box"
              style={{ width: room, height: layout.beside ? size.height - 16 : 240 }}
            >
              <ScoreScatter heads={heads} x={score} y={against} matches={matches} />
            </div>
          )}
          {size.width > 0 && tiles !== 'scatter' && (
            <HeadGrid
              spec={model.spec}
              arrangement={arrangement}
              heads={heads}
              thumbnails={thumbnails.data ?? null}
              score={score}
              tiles={tiles}
              matches={matches}
              cares={cares}
              pinned={pinned}
              noted={noted}
              pitch={pitch}
              theme={theme}
            />
          )}
        </div>
        <div className="heads-pattern">
          <PatternPanel compact />
        </div>
        {heads ? (
          <RankedList heads={ranked} score={score} noted={noted} />
        ) : (
          <Unscored model={model} waiting={scan.isPending} />
        )}
      </div>
    </div>
  )
}

const ORDERS: readonly { readonly value: Order; readonly label: string }[] = [
  { value: 'layers', label: 'layers' },
  { value: 'score', label: 'score' },
  { value: 'class', label: 'class' },
  { value: 'pinned', label: 'pinned first' },
  { value: 'alike', label: 'alike patterns' },
]

function Unscored({ model, waiting }: { model: OpenedModel; waiting: boolean }) {
  const scan = useMutation({ mutationFn: () => scanNow(model) })
  const running = useJobOn('scan', model.path)
  return (
    <section className="ranked" aria-label="Heads ranked">
      <h3 className="pane-title">Ranked</h3>
      {waiting || running || scan.isPending ? (
        <Waiting text="Scoring every head on repeated random tokens…" />
      ) : (
        <Empty title="Not scored yet">
          <p>Runs 32 sequences of random tokens, each twice, and measures where every head looks.</p>
          <button type="button" className="button primary" onClick={() => scan.mutate()}>
            Score {model.spec.n_layers * model.spec.n_heads} heads
          </button>
        </Empty>
      )}
    </section>
  )
}
