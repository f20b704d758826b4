/** One sentence about the hovered or else the locked cell. */
import type { TokenView } from '../../../core/checkpoint/types.ts'
import type { Pattern } from '../../api/pattern.ts'
import { shownWeight } from '../../charts/pattern-pixels.ts'
import { preciseWeight } from '../../state/format.ts'
import type { BosMode } from '../../state/selection.ts'
import { useHover, useSelection } from '../../state/store.ts'

interface Props {
  readonly pattern: Pattern
  readonly tokens: readonly TokenView[]
  readonly bos: BosMode
}

export function ReadOut({ pattern, tokens, bos }: Props) {
  const over = useHover()
  const lockedQuery = useSelection((s) => s.query)
  const lockedKey = useSelection((s) => s.key)
  const hovering = over.query !== null && over.key !== null
  const query = hovering ? over.query : lockedQuery
  const key = hovering ? over.key : lockedKey
  if (query === null || key === null || query >= pattern.size || key >= pattern.size)
    return (
      <output className="read-out muted">
        {pattern.size} × {pattern.size} · hover a cell, click to lock it
      </output>
    )
  const weight = shownWeight(pattern, query, key, bos)
  return (
    <output className="read-out">
      query {query} <q>{tokens[query]?.text}</q> → key {key} <q>{tokens[key]?.text}</q>{' '}
      <strong>{weight === null ? 'not shown' : preciseWeight(weight)}</strong>
    </output>
  )
}
