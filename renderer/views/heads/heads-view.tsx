/** The head browser: grid, ranked list, and the selected head's pattern beside them; a held run's grid beside its own. */
import { useMemo } from 'react'
import type { OpenedModel } from '../../../core/api/contract.ts'
import { useNotes } from '../../api/notebook.ts'
import { useModel, useScan, useThumbnails } from '../../api/queries.ts'
import { usePins } from '../../state/pins.ts'
import { parseFilter, rankHeads } from '../../state/rank.ts'
import { headName } from '../../state/selection.ts'
import { useSelection } from '../../state/store.ts'
import { useTheme } from '../../state/theme.ts'
import { Failed, Waiting } from '../../ui/notice.tsx'
import { useSize } from '../../ui/use-size.ts'
import { PatternPanel } from '../pattern/pattern-panel.tsx'
import { byGroups, byLayers, groupsOf } from './arrange.ts'
import { GridPane } from './grid-pane.tsx'
import { COLUMN_LABEL, ROW_LABEL } from './head-grid.tsx'
import { headsFigure } from './heads-figure.ts'
import { HeadsToolbar, useAgainst, useHue, useOrder, useTileSize } from './heads-toolbar.tsx'
import { BETWEEN, gridLayout, NARROW } from './layout.ts'
import { RankedList } from './ranked-list.tsx'
import { ScoreScatter } from './score-scatter.tsx'
import { Unscored } from './unscored.tsx'
import { useCare } from './use-care.ts'
import { useHeldGrid } from './use-held-grid.ts'

const PADDING = 24 // of the body, both sides
const RANKED = 226 + 16 // the ranked list and the gap before it

export function HeadsView() {
  const model = useModel()
  if (model.isError) return <Failed error={model.error} retry={() => void model.refetch()} />
  if (!model.data) return <Waiting text="Opening the checkpoint…" />
  return <HeadBrowser model={model.data} />
}

function HeadBrowser({ model }: { model: OpenedModel }) {
  const scan = useScan()
  const thumbnails = useThumbnails().data ?? null
  const theme = useTheme()
  const score = useSelection((s) => s.score)
  const wanted = useSelection((s) => s.tiles)
  const typed = useSelection((s) => s.filter)
  const selected = useSelection((s) => s.head)
  const [measure, size] = useSize<HTMLDivElement>()
  const [order] = useOrder()
  const [zoom] = useTileSize()
  const [against] = useAgainst()
  const [chosenHue] = useHue()
  const hue = chosenHue || score
  const care = useCare()
  const kept = useHeldGrid()

  const heads = scan.data?.heads ?? null
  const scattered = wanted === 'scatter' && (heads !== null || scan.isPending) // without scores there is nothing to scatter
  const held = scattered ? null : kept
  const names = useMemo(() => Object.keys(heads?.[0]?.scores ?? {}), [heads])
  const pinned = usePins()
  const notes = useNotes().data
  const noted = useMemo(() => new Map((notes ?? []).map((note) => [headName(note), note.text])), [notes])
  const filter = useMemo(
    () => parseFilter(typed, names, pinned, new Set(noted.keys())),
    [typed, names, pinned, noted],
  )
  const { matches } = filter
  const ranked = heads ? rankHeads(heads.filter(matches), score) : []

  const layout = gridLayout(model.spec, size, ROW_LABEL, COLUMN_LABEL, held?.spec)
  const pitch = zoom === 'fit' ? layout.pitch : zoom === 'medium' ? 44 : 76
  const room = layout.beside
    ? Math.min(layout.widest ?? size.width, (size.width - PADDING) * (held ? 0.5 : 0.42))
    : size.width - PADDING - (size.width < NARROW ? 0 : RANKED)
  const own = held ? (room - BETWEEN) / 2 : room
  const looks = order === 'alike' ? thumbnails : null
  const groups = useMemo(
    () => (heads && order !== 'layers' ? groupsOf(order, heads.filter(matches), score, pinned, looks) : null),
    [order, heads, matches, score, pinned, looks],
  )
  const arrangement = useMemo(
    () => (groups ? byGroups(order, groups, pitch, own) : byLayers(model.spec, pitch)),
    [order, groups, pitch, own, model.spec],
  )
  // Without scores small pictures say more than empty squares.
  const auto = pitch >= 28 || (!heads && !scan.isPending) ? 'patterns' : 'scores'
  const tiles = scattered ? 'scatter' : wanted === 'auto' || wanted === 'scatter' ? auto : wanted
  const whole = zoom === 'fit' && order === 'layers' && !held

  return (
    <div className="view heads-view">
      <HeadsToolbar
        spec={model.spec}
        score={score}
        names={names}
        tiles={tiles}
        scored={heads !== null}
        typed={typed}
        filter={filter}
        found={{ count: ranked.length, of: heads?.length ?? 0, best: ranked[0] ?? null }}
        theme={theme}
        figure={() =>
          headsFigure({
            model,
            scan: scan.data ?? null,
            thumbnails: tiles === 'patterns' ? thumbnails : null,
            score,
            against: tiles === 'scatter' ? against : null,
            hue,
            order,
            groups,
            filter: typed,
            matches,
            selected,
          })
        }
      />
      <div className={`heads-body ${layout.beside ? 'is-beside' : 'is-stacked'}`} ref={measure}>
        <div
          className="grid-scroll"
          style={
            whole
              ? { maxWidth: layout.widest ?? undefined }
              : { maxWidth: room, maxHeight: layout.beside ? undefined : size.height * 0.42 }
          }
        >
          {size.width > 0 && tiles === 'scatter' && heads && (
            <div
              className="scatter-box"
              style={{ width: room, height: layout.beside ? size.height - 16 : 240 }}
            >
              <ScoreScatter heads={heads} x={score} y={against} hue={hue} matches={matches} />
            </div>
          )}
          {size.width > 0 && tiles !== 'scatter' && (
            <GridPane
              held={held}
              spec={model.spec}
              arrangement={arrangement}
              heads={heads}
              thumbnails={thumbnails}
              score={score}
              tiles={tiles}
              matches={matches}
              cares={care?.on ? care.heads : null}
              pinned={pinned}
              noted={noted}
              pitch={pitch}
              theme={theme}
              scrolls={!whole || (layout.widest !== null && ROW_LABEL + arrangement.width > layout.widest)}
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
