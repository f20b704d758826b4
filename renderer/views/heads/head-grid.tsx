/**
 * Every head as a tile, in layers or in groups. Up to FEW heads each tile is an element over one canvas of thumbnails;
 * beyond, everything is drawn on one canvas, and only the selected and the hovered head are elements, so that thousands
 * cost no more than a few. Arrow keys walk, Enter opens the pattern, A ablates, P pins.
 */
import {
  type KeyboardEvent,
  type PointerEvent,
  useEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react'
import type { HeadScores } from '../../../core/analysis/types.ts'
import type { SpecSummary } from '../../../core/api/contract.ts'
import type { Thumbnails } from '../../api/client.ts'
import { fetchPattern } from '../../api/patterns.ts'
import { scoreLabel } from '../../state/rank.ts'
import { type HeadId, headName, sameHead } from '../../state/selection.ts'
import { getSelection, select, useSelection } from '../../state/store.ts'
import type { Theme } from '../../state/theme.ts'
import { beyond } from '../../ui/keep-in-view.ts'
import { range } from '../../ui/range.ts'
import { type Arrangement, headAt, neighbour } from './arrange.ts'
import { type GridSide, SELECTED } from './grid-side.ts'
import { HeadCanvas } from './head-canvas.tsx'
import { Tile } from './head-tile.tsx'
import { hoveredHead } from './hovered-head.ts'

export const ROW_LABEL = 30
export const COLUMN_LABEL = 26

/** Above this many heads the tiles are pixels. */
const FEW = 400

export interface GridProps {
  readonly spec: SpecSummary
  readonly arrangement: Arrangement
  readonly heads: readonly HeadScores[] | null
  readonly thumbnails: Thumbnails | null
  readonly score: string
  readonly tiles: 'patterns' | 'scores'
  readonly matches: (head: HeadScores) => boolean
  /** The heads that what is locked concerns; the others fade. null: all. */
  readonly cares: ReadonlySet<string> | null
  readonly pinned: readonly string[]
  /** Notes by head name. */
  readonly noted: ReadonlyMap<string, string>
  /** Pixels from one tile to the next. */
  readonly pitch: number
  readonly theme: Theme
  /** Whose heads they are; unasked: the selected run's. */
  readonly side?: GridSide
  /** Whether another grid stands beside it: the head under the pointer is then marked in both. */
  readonly linked?: boolean
  /** Whether it is larger than its place: the selected head is then kept in view. */
  readonly scrolls?: boolean
}

export function HeadGrid(props: GridProps) {
  const { spec, arrangement, heads, thumbnails, score, tiles, matches, cares, pinned, noted, pitch, theme } =
    props
  const { side = SELECTED, linked = false, scrolls = false } = props
  const selected = useSelection(side.head)
  const run = useSelection(side.run)
  const [hovered, setHovered] = useState<HeadId | null>(null)
  const layered = arrangement.order === 'layers'
  const left = layered ? ROW_LABEL : 0
  const top = layered ? COLUMN_LABEL : 0
  const many = arrangement.placed.length > FEW
  const shown = tiles === 'patterns' ? thumbnails : null
  const of = (id: HeadId) => heads?.[id.layer * spec.n_heads + id.head]

  const walk = (event: KeyboardEvent) => {
    const head = side.head(getSelection())
    const next = neighbour(arrangement, head, event.key)
    if (next) {
      side.pick({ layer: next.layer, head: next.head })
      const grid = event.currentTarget
      const tile = () => grid.querySelector<HTMLElement>(`[data-head="${headName(next)}"]`)
      if (many) requestAnimationFrame(() => tile()?.scrollIntoView({ block: 'nearest', inline: 'nearest' }))
      else tile()?.focus()
    } else if (event.ctrlKey || event.metaKey) return
    else if (event.key === 'Enter') select({ tab: 'pattern' })
    else if (!head || !side.letter(event.key.toLowerCase(), head)) return
    event.preventDefault()
  }
  const under = (event: PointerEvent) => {
    if ((event.target as Element).closest('.grid-columns, .grid-rows')) return null
    const box = event.currentTarget.getBoundingClientRect()
    return headAt(arrangement, pitch, event.clientX - box.left - left, event.clientY - box.top - top)
  }
  const host = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const place = scrolls && selected && arrangement.placed.find((p) => sameHead(p, selected))
    const scroller = host.current?.closest('.grid-scroll')
    if (!place || !scroller || !host.current) return
    const [outer, inner] = [scroller.getBoundingClientRect(), host.current.getBoundingClientRect()]
    const x = inner.left - outer.left + left + place.x
    const y = inner.top - outer.top + top + place.y
    scroller.scrollLeft += beyond(x, pitch, left, scroller.clientWidth)
    scroller.scrollTop += beyond(y, pitch, top, scroller.clientHeight)
  }, [scrolls, selected, arrangement, left, top, pitch])

  const near = (id: HeadId) => {
    if (run !== null) void fetchPattern(run, id.layer, id.head).catch(() => undefined) // only to have it ready
  }

  const drawn = many
    ? [selected, hovered].filter((id, i, all) => id && !(i === 1 && sameHead(id, all[0]!)))
    : null
  const tile = (id: HeadId, bare: boolean) => {
    const place = arrangement.placed.find((p) => p.layer === id.layer && p.head === id.head)
    if (!place) return null
    const scores = of(id)
    return (
      <Tile
        key={headName(id)}
        side={side}
        layer={id.layer}
        head={id.head}
        of={scores}
        score={score}
        faded={(scores !== undefined && !matches(scores)) || (cares !== null && !cares.has(headName(id)))}
        plain={shown === null}
        bare={bare}
        pinned={pinned.includes(headName(id))}
        note={noted.get(headName(id))}
        selected={sameHead(selected, id)}
        first={selected === null && id.layer === 0 && id.head === 0}
        left={left + place.x}
        top={top + place.y}
        pitch={pitch}
        theme={theme}
        run={run}
      />
    )
  }

  return (
    // biome-ignore lint/a11y/useSemanticElements: an ARIA grid of buttons, not a table of text
    <div
      ref={host}
      className="head-grid"
      role="grid"
      aria-label={`${side.name === 'held' ? 'Held heads' : 'Heads'} by ${layered ? 'layer' : arrangement.order}, coloured by ${scoreLabel(score)}`}
      {...(many ? { 'aria-rowcount': spec.n_layers, 'aria-colcount': spec.n_heads } : {})}
      style={{ width: left + arrangement.width, height: top + arrangement.height }}
      onKeyDown={walk}
      tabIndex={many ? 0 : -1}
      {...(many && selected ? { 'aria-activedescendant': `${side.prefix}-${headName(selected)}` } : {})}
      {...(many
        ? {
            onPointerMove: (event: PointerEvent) => {
              const id = under(event)
              if (sameHead(id, hovered)) return
              setHovered(id)
              hoveredHead.set(id)
              if (id) near(id)
            },
            onPointerLeave: () => {
              setHovered(null)
              hoveredHead.set(null)
            },
            onClick: (event) => {
              const id = under(event as unknown as PointerEvent)
              if (id) side.pick(id)
            },
            onDoubleClick: () => select({ tab: 'pattern' }),
          }
        : {})}
    >
      {layered && <LayerLabels spec={spec} pitch={pitch} />}
      {arrangement.headings.map(({ text, y }) => (
        <span key={text} className="grid-heading" style={{ top: y }} aria-hidden="true">
          {text}
        </span>
      ))}
      <HeadCanvas
        arrangement={arrangement}
        heads={many ? heads : null}
        headsPerLayer={spec.n_heads}
        thumbnails={shown}
        score={score}
        matches={matches}
        cares={cares}
        scores={many}
        noted={noted}
        pitch={pitch}
        theme={theme}
        left={left}
        top={top}
      />
      {drawn ? (
        <>
          {[...new Set(drawn.map((id) => id!.layer))].map((layer) => (
            // biome-ignore lint/a11y/useSemanticElements: as above
            // biome-ignore lint/a11y/useFocusableInteractive: the grid names its active cell
            <div role="row" key={layer} aria-rowindex={spec.n_layers - layer}>
              {drawn.filter((id) => id!.layer === layer).map((id) => tile(id!, true))}
            </div>
          ))}
          {drawn.length === 0 && (
            // biome-ignore lint/a11y/useSemanticElements: as above
            // biome-ignore lint/a11y/useFocusableInteractive: as above
            <div role="row" aria-rowindex={1}>
              {tile({ layer: 0, head: 0 }, true)}
            </div>
          )}
        </>
      ) : (
        [...new Set(arrangement.placed.map((p) => p.y))].map((y) => (
          // biome-ignore lint/a11y/useSemanticElements: as above
          // biome-ignore lint/a11y/useFocusableInteractive: its cells take the focus
          <div role="row" key={y}>
            {arrangement.placed.filter((p) => p.y === y).map((p) => tile(p, false))}
          </div>
        ))
      )}
      {linked && <HoverMark arrangement={arrangement} left={left} top={top} pitch={pitch} />}
    </div>
  )
}

/** A frame around the head that is under the pointer, in this grid or the one beside it. */
function HoverMark(props: { arrangement: Arrangement; left: number; top: number; pitch: number }) {
  const { arrangement, left, top, pitch } = props
  const over = useSyncExternalStore(hoveredHead.subscribe, hoveredHead.get)
  const place = over && arrangement.placed.find((p) => p.layer === over.layer && p.head === over.head)
  if (!place) return null
  const size = pitch - (pitch < 20 ? 1 : 3)
  return (
    <i
      className="tile-hover"
      style={{ left: left + place.x, top: top + place.y, width: size, height: size }}
    />
  )
}

/** Room around a selected tile that its frame needs. */
const FRAME = 2

/**
 * Numbers of layers and heads, and brackets over the heads that share keys and values. They stay in view while the tiles
 * scroll under them.
 */
function LayerLabels({ spec, pitch }: { spec: SpecSummary; pitch: number }) {
  const group = spec.n_heads / spec.n_kv_heads
  const every = pitch >= 20 ? 1 : pitch >= 13 ? 2 : 4
  return (
    <>
      <div className="grid-columns" style={{ height: COLUMN_LABEL - FRAME }}>
        <i className="grid-corner" style={{ width: ROW_LABEL - FRAME }} />
        {range(spec.n_heads).map((h) =>
          h % every ? null : (
            <span
              key={h}
              className="grid-label grid-column"
              style={{ left: ROW_LABEL + h * pitch, width: pitch }}
              aria-hidden="true"
            >
              {pitch >= 30 ? `H${h}` : h}
            </span>
          ),
        )}
        {group > 1 &&
          range(spec.n_kv_heads).map((g) => (
            <span
              key={g}
              className="grid-bracket"
              title={`heads ${g * group}–${(g + 1) * group - 1} share key/value head ${g}`}
              style={{ left: ROW_LABEL + g * group * pitch + 2, width: group * pitch - 5 }}
            />
          ))}
      </div>
      <div className="grid-rows" style={{ width: ROW_LABEL - FRAME, height: FRAME + spec.n_layers * pitch }}>
        {range(spec.n_layers).map((layer) =>
          layer % every ? null : (
            <span
              key={layer}
              className="grid-label grid-row"
              style={{ top: FRAME + (spec.n_layers - 1 - layer) * pitch, height: pitch - 2 }}
              aria-hidden="true"
            >
              L{layer}
            </span>
          ),
        )}
      </div>
    </>
  )
}
