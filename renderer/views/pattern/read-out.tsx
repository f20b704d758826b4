/** One sentence about the hovered or else the locked cell. */
import type { TokenView } from '../../../core/checkpoint/types.ts'
import type { Reading } from '../../charts/reading.ts'
import { preciseWeight, signedWeight } from '../../state/format.ts'
import { useHover, useSelection } from '../../state/store.ts'

interface Props {
  readonly reading: Reading
  readonly tokens: readonly TokenView[]
  /** What the number is, where it is no weight. */
  readonly unit?: string
  /** What it means and where it comes from: said on hover. */
  readonly definition?: string
  /** Only the number: beside a chart that says the rest. */
  readonly brief?: boolean
}

export function ReadOut({ reading, tokens, unit = '', definition = '', brief = false }: Props) {
  const over = useHover()
  const lockedQuery = useSelection((s) => s.query)
  const lockedKey = useSelection((s) => s.key)
  const hovering = over.query !== null && over.key !== null
  const query = hovering ? over.query : lockedQuery
  const key = hovering ? over.key : lockedKey
  const { size } = reading
  if (query === null || key === null || query >= size || key >= size)
    return (
      <output className="read-out muted">
        {size} × {size}
        {!brief && ' · hover a cell, click to lock it'}
      </output>
    )
  const value = reading.at(query, key)
  const shown = value === null ? 'not shown' : reading.signed ? signedWeight(value) : preciseWeight(value)
  if (brief)
    return (
      <output className="read-out" title={definition}>
        <strong>{shown}</strong>
      </output>
    )
  return (
    <output className="read-out" title={definition}>
      query {query} <q>{tokens[query]?.text}</q> → key {key} <q>{tokens[key]?.text}</q>{' '}
      <strong>{shown}</strong>
      {unit && <span className="muted"> {unit}</span>}
    </output>
  )
}
