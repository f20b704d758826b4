/**
 * The thumbnails of all heads in a narrow column, layer under layer. Only layers in view, and the selected one, are drawn:
 * a canvas for each of 2,304 heads would take longer than a person waits for a tab.
 */
import { type KeyboardEvent, useCallback, useState } from 'react'
import type { ScanReply } from '../../../core/api/contract.ts'
import type { Thumbnails } from '../../api/client.ts'
import { fetchPattern } from '../../api/patterns.ts'
import { useModel, useScan, useThumbnails } from '../../api/queries.ts'
import { Thumbnail } from '../../charts/thumbnail.tsx'
import { formatScore, scoreLabel } from '../../state/rank.ts'
import { headName, walked } from '../../state/selection.ts'
import { getSelection, select, useSelection } from '../../state/store.ts'
import { useTheme } from '../../state/theme.ts'
import { range } from '../../ui/range.ts'

/** A thumbnail with its frame and gap, and how many stand side by side: as .strip-heads has it. */
const PITCH = 40
const COLUMNS = 2
/** How far beyond the view layers are kept ready. */
const MARGIN = '400px'

export function HeadStrip() {
  const model = useModel().data
  const thumbnails = useThumbnails().data
  const scan = useScan().data ?? null
  const selected = useSelection((s) => s.head)
  if (!model || !thumbnails) return <div className="head-strip" />
  const { spec } = model

  const walk = (event: KeyboardEvent) => {
    const next = walked(event.key, getSelection().head, spec)
    if (!next) return
    event.preventDefault()
    select({ head: next })
    const strip = event.currentTarget
    // Its layer may be drawn only now.
    requestAnimationFrame(() => strip.querySelector<HTMLElement>(`[data-head="${headName(next)}"]`)?.focus())
  }

  return (
    <div
      className="head-strip"
      role="toolbar"
      aria-label="Heads"
      aria-orientation="vertical"
      onKeyDown={walk}
    >
      {range(spec.n_layers)
        .reverse()
        .map((layer) => (
          <StripLayer
            key={layer}
            layer={layer}
            heads={spec.n_heads}
            thumbnails={thumbnails}
            scan={scan}
            selected={selected?.layer === layer ? selected.head : null}
          />
        ))}
    </div>
  )
}

interface LayerProps {
  readonly layer: number
  readonly heads: number
  readonly thumbnails: Thumbnails
  readonly scan: ScanReply | null
  /** The selected head, where it is of this layer. */
  readonly selected: number | null
}

function StripLayer({ layer, heads, thumbnails, scan, selected }: LayerProps) {
  const score = useSelection((s) => s.score)
  const run = useSelection((s) => s.run)
  const theme = useTheme()
  const [near, setNear] = useState(false)
  const watch = useCallback((host: HTMLDivElement | null) => {
    if (!host) return undefined
    const root = host.closest('.head-strip')
    const observer = new IntersectionObserver(([entry]) => setNear(entry?.isIntersecting ?? false), {
      root,
      rootMargin: `${MARGIN} 0px`,
    })
    observer.observe(host)
    return () => observer.disconnect()
  }, [])
  return (
    <div className="strip-layer" ref={watch}>
      <span className="grid-label">L{layer}</span>
      <div className="strip-heads" style={{ minHeight: Math.ceil(heads / COLUMNS) * PITCH - 4 }}>
        {(near || selected !== null) &&
          range(heads).map((head) => {
            const on = selected === head
            const name = headName({ layer, head })
            const value = scan?.heads[layer * heads + head]?.scores[score]
            return (
              <button
                type="button"
                key={head}
                data-head={name}
                className={on ? 'strip-head is-selected' : 'strip-head'}
                aria-pressed={on}
                aria-label={`Show ${name}`}
                title={`${name} · ${scoreLabel(score)} ${formatScore(value) || '–'}`}
                tabIndex={on ? 0 : -1}
                onClick={() => select({ head: { layer, head } })}
                onPointerEnter={() => {
                  if (run !== null) void fetchPattern(run, layer, head).catch(() => undefined) // to have it ready
                }}
              >
                <Thumbnail thumbnails={thumbnails} layer={layer} head={head} theme={theme} size={32} />
              </button>
            )
          })}
      </div>
    </div>
  )
}
