/**
 * Which query and key are looked at. In: a head's place, a query, a key. Out: the selection that every view shares; a key in
 * a source, which no other view counts, stands in a setting of this tab.
 */
import type { BenchHeadInput } from '../../../core/api/contract.ts'
import { select, setHover, setTool } from '../../state/store.ts'

/** The setting that holds the key in a source. */
export const SOURCE_KEY = 'bench_source'

/** Looks at a pair; a null part stays (a key of the own text is let go). */
export function pickPair({ cross }: Pick<BenchHeadInput, 'cross'>, query: number | null, key: number | null) {
  if (!cross) return select({ ...(query === null ? {} : { query }), key, also: [] }, { replace: true })
  if (query !== null) select({ query, also: [] }, { replace: true })
  if (key !== null) setTool(SOURCE_KEY, String(key))
}

/** Tells the other views what the pointer is over; a token of a source is none of theirs. */
export function hoverPair(
  { cross }: Pick<BenchHeadInput, 'cross'>,
  query: number | null,
  key: number | null,
) {
  setHover(query, cross ? null : key)
}
