/**
 * Every head as a tile: layers upwards, heads to the right. One canvas holds all thumbnails; the tiles above it carry
 * score, focus and selection. Arrow keys walk, Enter opens the pattern.
 */
import { type KeyboardEvent, memo } from 'react'
import type { HeadScores } from '../../../core/analysis/types.ts'
import type { SpecSummary } from '../../../core/api/contract.ts'
import type { Thumbnails } from '../../api/client.ts'
import { fetchPattern } from '../../api/patterns.ts'
import { isDark, weightColor } from '../../charts/color.ts'
import { ThumbnailSheet } from '../../charts/thumbnail-sheet.tsx'
import { toggleAblation } from '../../state/edit-history.ts'
import { formatScore, scoreLabel } from '../../state/rank.ts'
import { headName, sameHead, walked } from '../../state/selection.ts'
import { getSelection, select, useSelection } from '../../state/store.ts'
import type { Theme } from '../../state/theme.ts'
import { range } from '../../ui/range.ts'
import { scoreText } from '../../ui/score-text.ts'

export const ROW_LABEL = 30
export const COLUMN_LABEL = 26

interface Props {
  readonly spec: SpecSummary
  readonly heads: readonly HeadScores[] | null
  readonly thumbnails: Thumbnails | null
  readonly score: string
  readonly tiles: 'patterns' | 'scores'
  readonly matches: (head: HeadScores) => boolean
  /** Pixels from one tile to the next. */
  readonly pitch: number
  readonly theme: Theme
}

export function HeadGrid({ spec, heads, thumbnails, score, tiles, matches, pitch, theme }: Props) {
  const selected = useSelection((s) => s.head)
  const run = useSelection((s) => s.run)
  const layers = range(spec.n_layers).reverse()
  const columns = range(spec.n_heads)
  const group = spec.n_heads / spec.n_kv_heads
  const showThumbnails = tiles === 'patterns' && thumbnails !== null
  const labelEvery = pitch >= 20 ? 1 : pitch >= 13 ? 2 : 4
  const size = { width: ROW_LABEL + spec.n_heads * pitch, height: COLUMN_LABEL + spec.n_layers * pitch }

  const walk = (event: KeyboardEvent) => {
    const next = walked(event.key, getSelection().head, spec)
    if (next) {
      select({ head: next })
      const tile = event.currentTarget.querySelector<HTMLElement>(`[data-head="${headName(next)}"]`)
      tile?.focus()
    } else if (event.key === 'Enter') select({ tab: 'pattern' })
    else if (event.key.toLowerCase() === 'a' && !event.ctrlKey && !event.metaKey) {
      const { head } = getSelection()
      if (head) toggleAblation(head)
    } else return
    event.preventDefault()
  }

  return (
    // biome-ignore lint/a11y/useSemanticElements: an ARIA grid of buttons, not a table of text
    <div
      className="head-grid"
      role="grid"
      aria-label={`Heads by layer, coloured by ${scoreLabel(score)}`}
      style={size}
      onKeyDown={walk}
      tabIndex={-1}
    >
      {columns.map((h) =>
        h % labelEvery ? null : (
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
      {showThumbnails && (
        <ThumbnailSheet
          thumbnails={thumbnails}
          theme={theme}
          left={ROW_LABEL}
          top={COLUMN_LABEL}
          pitch={pitch}
        />
      )}
      {layers.map((layer, row) => (
        // biome-ignore lint/a11y/useSemanticElements: as above
        // biome-ignore lint/a11y/useFocusableInteractive: its cells take the focus
        <div role="row" key={layer} aria-label={`layer ${layer}`}>
          {(pitch >= 13 || layer % labelEvery === 0) && (
            <span
              className="grid-label grid-row"
              style={{ top: COLUMN_LABEL + row * pitch, height: pitch - 2 }}
              aria-hidden="true"
            >
              L{layer}
            </span>
          )}
          {columns.map((h) => {
            const of = heads?.[layer * spec.n_heads + h]
            return (
              <Tile
                key={h}
                layer={layer}
                head={h}
                of={of}
                score={score}
                faded={of !== undefined && !matches(of)}
                plain={!showThumbnails}
                selected={sameHead(selected, { layer, head: h })}
                first={selected === null && layer === 0 && h === 0}
                left={ROW_LABEL + h * pitch}
                top={COLUMN_LABEL + row * pitch}
                pitch={pitch}
                theme={theme}
                run={run}
              />
            )
          })}
        </div>
      ))}
    </div>
  )
}

interface TileProps {
  readonly layer: number
  readonly head: number
  readonly of: HeadScores | undefined
  readonly score: string
  readonly faded: boolean
  readonly plain: boolean
  readonly selected: boolean
  readonly first: boolean
  readonly left: number
  readonly top: number
  readonly pitch: number
  readonly theme: Theme
  readonly run: number | null
}

const Tile = memo(function Tile(props: TileProps) {
  const { layer, head, of, score, faded, plain, selected, first, left, top, pitch, theme, run } = props
  const value = of?.scores[score]
  const size = pitch - (pitch < 20 ? 1 : 3)
  const known = value?.value ?? null
  const classes = [
    'tile',
    selected && 'is-selected',
    faded && 'is-faded',
    plain && 'is-plain',
    value?.value === null && 'is-undefined',
    !value && 'is-unknown',
  ]
  const colour =
    plain && known !== null
      ? { background: weightColor(theme, known), color: isDark(theme, known) ? '#fff' : '#1b2330' }
      : {}
  return (
    // biome-ignore lint/a11y/useSemanticElements: a cell of an ARIA grid
    <button
      type="button"
      role="gridcell"
      data-head={headName({ layer, head })}
      className={classes.filter(Boolean).join(' ')}
      style={{ left, top, width: size, height: size, ...colour }}
      tabIndex={selected || first ? 0 : -1}
      aria-selected={selected}
      aria-label={`${headName({ layer, head })} ${scoreLabel(score)} ${value ? formatScore(value) || 'undefined' : 'not computed'}`}
      title={`${headName({ layer, head })} · ${scoreLabel(score)} ${scoreText(value)}`}
      onClick={() => select({ head: { layer, head } })}
      onDoubleClick={() => select({ tab: 'pattern' })}
      onPointerEnter={() => {
        if (run !== null) void fetchPattern(run, layer, head).catch(() => undefined) // only to have it ready
      }}
    >
      {pitch >= 34 && <span className="tile-value">{formatScore(value)}</span>}
      {!plain && known !== null && pitch >= 16 && (
        <span className="tile-bar">
          <span style={{ width: `${Math.min(1, Math.max(0, known)) * 100}%` }} />
        </span>
      )}
    </button>
  )
})
