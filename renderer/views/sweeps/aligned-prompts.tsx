/** Clean over corrupt, one column a position; columns where they differ are marked. Linked with the shared hover. */
import type { TokenView } from '../../../core/checkpoint/types.ts'
import { setHover, toggleQuery, useHover, useSelection } from '../../state/store.ts'
import { useGrowing } from '../../ui/use-growing.ts'

interface Props {
  readonly clean: readonly TokenView[]
  readonly corrupt: readonly TokenView[]
  readonly differing: readonly number[]
  /** Which of two texts this is; null: there is one. A source has positions of its own, which nothing else counts. */
  readonly what: 'source' | 'decoder' | null
}

export function AlignedPrompts({ clean, corrupt, differing, what }: Props) {
  const over = useHover()
  const locked = useSelection((s) => s.query)
  const marked = new Set(differing)
  const length = useGrowing(Math.max(clean.length, corrupt.length), 256)
  const linked = what !== 'source'
  const column = (i: number) => (
    <>
      <i>{i}</i> <span className="token-text">{clean[i]?.text ?? '∅'}</span>{' '}
      <span className="token-text">{corrupt.length === 0 ? '' : (corrupt[i]?.text ?? '∅')}</span>
    </>
  )
  const look = (i: number) => `aligned-column${marked.has(i) ? ' is-different' : ''}`
  return (
    <div className="aligned">
      <span className="aligned-names" aria-hidden="true">
        <b>clean{what && ` ${what}`}</b>
        <b>corrupt</b>
      </span>
      <ol
        className="aligned-tokens"
        aria-label={`Clean and corrupt ${what ?? 'prompt'}, position by position`}
      >
        {Array.from({ length }, (_, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a column is its position
          <li key={i}>
            {linked ? (
              <button
                type="button"
                className={`${look(i)}${i === over.query ? ' is-hovered' : ''}${i === locked ? ' is-locked' : ''}`}
                onPointerEnter={() => setHover(i, null)}
                onPointerLeave={() => setHover(null, null)}
                onClick={() => toggleQuery(i)}
              >
                {column(i)}
              </button>
            ) : (
              <span className={look(i)}>{column(i)}</span>
            )}
          </li>
        ))}
      </ol>
    </div>
  )
}
