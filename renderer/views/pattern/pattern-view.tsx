/** One head's pattern, large, with the thumbnails of all heads beside it, so that heads are switched without leaving. */
import type { KeyboardEvent } from 'react'
import { fetchPattern } from '../../api/patterns.ts'
import { useModel, useScan, useThumbnails } from '../../api/queries.ts'
import { Thumbnail } from '../../charts/thumbnail.tsx'
import { formatScore, scoreLabel } from '../../state/rank.ts'
import { headName, sameHead, walked } from '../../state/selection.ts'
import { getSelection, select, useSelection } from '../../state/store.ts'
import { useTheme } from '../../state/theme.ts'
import { range } from '../../ui/range.ts'
import { PatternPanel } from './pattern-panel.tsx'

export function PatternView() {
  return (
    <div className="view pattern-view">
      <HeadStrip />
      <PatternPanel />
    </div>
  )
}

function HeadStrip() {
  const model = useModel()
  const thumbnails = useThumbnails()
  const scan = useScan()
  const selected = useSelection((s) => s.head)
  const score = useSelection((s) => s.score)
  const run = useSelection((s) => s.run)
  const theme = useTheme()
  if (!model.data || !thumbnails.data) return <div className="head-strip" />
  const { spec } = model.data
  const layers = range(spec.n_layers).reverse()

  const walk = (event: KeyboardEvent) => {
    const next = walked(event.key, getSelection().head, spec)
    if (!next) return
    event.preventDefault()
    select({ head: next })
    event.currentTarget.querySelector<HTMLElement>(`[data-head="${headName(next)}"]`)?.focus()
  }

  return (
    <div
      className="head-strip"
      role="toolbar"
      aria-label="Heads"
      aria-orientation="vertical"
      onKeyDown={walk}
    >
      {layers.map((layer) => (
        <div key={layer} className="strip-layer">
          <span className="grid-label">L{layer}</span>
          <div className="strip-heads">
            {range(spec.n_heads).map((head) => {
              const on = sameHead(selected, { layer, head })
              const value = scan.data?.heads[layer * spec.n_heads + head]?.scores[score]
              return (
                <button
                  type="button"
                  key={head}
                  data-head={headName({ layer, head })}
                  className={on ? 'strip-head is-selected' : 'strip-head'}
                  aria-pressed={on}
                  aria-label={`Show ${headName({ layer, head })}`}
                  title={`${headName({ layer, head })} · ${scoreLabel(score)} ${formatScore(value) || '–'}`}
                  tabIndex={on ? 0 : -1}
                  onClick={() => select({ head: { layer, head } })}
                  onPointerEnter={() => {
                    if (run !== null) void fetchPattern(run, layer, head).catch(() => undefined) // to have it ready
                  }}
                >
                  <Thumbnail thumbnails={thumbnails.data} layer={layer} head={head} theme={theme} size={32} />
                </button>
              )
            })}
          </div>
        </div>
      ))}
    </div>
  )
}
