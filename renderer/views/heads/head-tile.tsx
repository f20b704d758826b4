/** One head's tile: its score, focus, selection, pin. `bare`: the canvas below draws the rest. */
import { memo } from 'react'
import type { HeadScores } from '../../../core/analysis/types.ts'
import { fetchPattern } from '../../api/patterns.ts'
import { weightColor, weightInk } from '../../charts/color.ts'
import { formatScore, scoreLabel } from '../../state/rank.ts'
import { headName } from '../../state/selection.ts'
import { select } from '../../state/store.ts'
import type { Theme } from '../../state/theme.ts'
import { scoreText } from '../../ui/score-text.ts'
import type { GridSide } from './grid-side.ts'
import { hoveredHead } from './hovered-head.ts'

interface Props {
  readonly side: GridSide
  readonly layer: number
  readonly head: number
  readonly of: HeadScores | undefined
  readonly score: string
  readonly faded: boolean
  readonly plain: boolean
  readonly bare: boolean
  readonly pinned: boolean
  /** What is written about it. */
  readonly note: string | undefined
  readonly selected: boolean
  readonly first: boolean
  readonly left: number
  readonly top: number
  readonly pitch: number
  readonly theme: Theme
  readonly run: number | null
}

export const Tile = memo(function Tile(props: Props) {
  const { side, layer, head, of, score, faded, plain, bare, pinned, note, selected, first } = props
  const { left, top, pitch, theme, run } = props
  const value = of?.scores[score]
  const size = pitch - (pitch < 20 ? 1 : 3)
  const known = value?.value ?? null
  const name = headName({ layer, head })
  const classes = [
    'tile',
    selected && 'is-selected',
    bare && 'is-bare',
    !bare && faded && 'is-faded',
    !bare && plain && 'is-plain',
    !bare && value?.value === null && 'is-undefined',
    !bare && !value && 'is-unknown',
  ]
  const colour =
    !bare && plain && known !== null
      ? { background: weightColor(theme, known), color: weightInk(theme, known) }
      : {}
  return (
    // biome-ignore lint/a11y/useSemanticElements: a cell of an ARIA grid
    <button
      type="button"
      role="gridcell"
      id={`${side.prefix}-${name}`}
      data-head={name}
      className={classes.filter(Boolean).join(' ')}
      style={{ left, top, width: size, height: size, ...colour }}
      tabIndex={!bare && (selected || first) ? 0 : -1}
      aria-selected={selected}
      aria-label={`${name} ${scoreLabel(score)} ${value ? formatScore(value) || 'undefined' : 'not computed'}${pinned ? ', pinned' : ''}${note ? ', has a note' : ''}`}
      title={`${name} · ${scoreLabel(score)} ${scoreText(value)}${pinned ? ' · pinned' : ''}${note ? `\nnote: ${note}` : ''}`}
      onClick={() => side.pick({ layer, head })}
      onDoubleClick={() => select({ tab: 'pattern' })}
      onPointerEnter={() => {
        hoveredHead.set({ layer, head })
        if (run !== null) void fetchPattern(run, layer, head).catch(() => undefined) // only to have it ready
      }}
      onPointerLeave={() => hoveredHead.set(null)}
    >
      {pinned && pitch >= 16 && <span className="tile-pin" />}
      {note && pitch >= 16 && !bare && <span className="tile-note" />}
      {!bare && pitch >= 34 && <span className="tile-value">{formatScore(value)}</span>}
      {!bare && !plain && known !== null && pitch >= 16 && (
        <span className="tile-bar">
          <span style={{ width: `${Math.min(1, Math.max(0, known)) * 100}%` }} />
        </span>
      )}
    </button>
  )
})
