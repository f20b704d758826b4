/** Clean over corrupt, one column a position; columns where they differ are marked. Linked with the shared hover. */
import type { TokenView } from '../../../core/checkpoint/types.ts'
import { setHover, toggleQuery, useHover, useSelection } from '../../state/store.ts'

interface Props {
  readonly clean: readonly TokenView[]
  readonly corrupt: readonly TokenView[]
  readonly differing: readonly number[]
}

export function AlignedPrompts({ clean, corrupt, differing }: Props) {
  const over = useHover()
  const locked = useSelection((s) => s.query)
  const marked = new Set(differing)
  const length = Math.max(clean.length, corrupt.length)
  return (
    <div className="aligned">
      <span className="aligned-names" aria-hidden="true">
        <b>clean</b>
        <b>corrupt</b>
      </span>
      <ol className="aligned-tokens" aria-label="Clean and corrupt prompt, position by position">
        {Array.from({ length }, (_, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a column is its position
          <li key={i}>
            <button
              type="button"
              className={`aligned-column${marked.has(i) ? ' is-different' : ''}${i === over.query ? ' is-hovered' : ''}${i === locked ? ' is-locked' : ''}`}
              onPointerEnter={() => setHover(i, null)}
              onPointerLeave={() => setHover(null, null)}
              onClick={() => toggleQuery(i)}
            >
              <i>{i}</i> <span className="token-text">{clean[i]?.text ?? '∅'}</span>{' '}
              <span className="token-text">{corrupt.length === 0 ? '' : (corrupt[i]?.text ?? '∅')}</span>
            </button>
          </li>
        ))}
      </ol>
    </div>
  )
}
