/**
 * The heads of the selected run as tiles; of a run that is held too, beside it, tile for tile, in one scrolling part. In:
 * what HeadGrid takes, and the held run. Out: one grid, or two with one hover and one scroll.
 */
import { select } from '../../state/store.ts'
import { byLayers } from './arrange.ts'
import { HELD } from './grid-side.ts'
import { type GridProps, HeadGrid } from './head-grid.tsx'
import { BETWEEN } from './layout.ts'
import type { HeldGrid } from './use-held-grid.ts'

const NO_NOTES: ReadonlyMap<string, string> = new Map()
const NO_PINS: readonly string[] = []

export function GridPane({ held, ...grid }: GridProps & { readonly held: HeldGrid | null }) {
  if (!held) return <HeadGrid {...grid} />
  const { spec, arrangement, pitch } = grid
  const alike = held.spec.n_layers === spec.n_layers && held.spec.n_heads === spec.n_heads
  return (
    <div className="grid-pair" style={{ gap: BETWEEN }}>
      <section aria-label={`Held: ${held.names[0]}`}>
        <h4 className="grid-caption">
          <span className="clip" title={held.names[0]}>
            held {held.names[0]}
          </span>
          <button
            type="button"
            className="icon-button"
            aria-label="Let go of the held run"
            title="Let go (H)"
            onClick={() => select({ held: null })}
          >
            ✕
          </button>
        </h4>
        <HeadGrid
          {...grid}
          spec={held.spec}
          arrangement={alike ? arrangement : byLayers(held.spec, pitch)}
          heads={held.heads}
          thumbnails={held.thumbnails}
          cares={null}
          pinned={held.sameModel ? grid.pinned : NO_PINS}
          noted={held.sameModel ? grid.noted : NO_NOTES}
          side={HELD}
          linked
        />
      </section>
      <section aria-label={`Selected: ${held.names[1]}`}>
        <h4 className="grid-caption clip" title={held.names[1]}>
          {held.names[1]}
        </h4>
        <HeadGrid {...grid} linked />
      </section>
    </div>
  )
}
