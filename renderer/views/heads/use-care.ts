/**
 * The heads that have something to do with what is locked. In: the locked token or cell. Out: their names, and what is
 * said about them: the others fade in the grid. One request for each lock, answered from the run's edges.
 */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { api } from '../../api/client.ts'
import { useRun } from '../../api/queries.ts'
import { headName } from '../../state/selection.ts'
import { useSelection, useTool } from '../../state/store.ts'

export interface Care {
  /** `look at 7 ‘or’`, `36 → 7`. */
  readonly label: string
  readonly definition: string
  readonly heads: ReadonlySet<string>
  /** Whether the others fade. */
  readonly on: boolean
  readonly turn: (on: boolean) => void
}

/** null while no token is locked. */
export function useCare(): Care | null {
  const run = useRun().data
  const query = useSelection((s) => s.query)
  const key = useSelection((s) => s.key)
  const [fade, setFade] = useTool<'yes' | 'no'>('fade', 'yes')
  // A locked token is what others look at; a locked cell is one edge.
  const place = query === null ? null : key === null ? { key: query } : { query, key }
  const found = useQuery({
    queryKey: ['edges-at', run?.id, place],
    queryFn: ({ signal }) => api.edgesAt(run!.id, place!, signal),
    enabled: run?.captures === true && place !== null,
    placeholderData: keepPreviousData,
    retry: false,
  })
  const heads = useMemo(() => new Set(found.data?.heads.map(headName) ?? []), [found.data])
  if (!run || place === null || !found.data || query === null || query >= run.views.length) return null
  const { threshold } = found.data
  const text = run.views[query]!.text
  return {
    label: key === null ? `look at ${query} ‘${text}’` : `have ${query} → ${key}`,
    definition:
      key === null
        ? `Heads in which another token gives ${query} ‘${text}’ a weight of ${threshold} or more. The others are faded.`
        : `Heads in which query ${query} gives key ${key} a weight of ${threshold} or more. The others are faded.`,
    heads,
    on: fade === 'yes',
    turn: (on) => setFade(on ? 'yes' : 'no'),
  }
}
