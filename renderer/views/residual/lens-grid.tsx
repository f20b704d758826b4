/**
 * One prompt through the layers, with its heading, its pages and its way out. In: what the cells are asked of. Out: a
 * table of cells, and the lens behind it for whoever looks at one cell.
 */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type ReactNode, useMemo, useState } from 'react'
import type { LensReply } from '../../../core/api/contract.ts'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import { Failed, Waiting } from '../../ui/notice.tsx'
import { changedPlaces } from './cells.ts'
import { LensTable, type LensTableProps } from './lens-table.tsx'

/** Positions that are asked for at once. */
const PAGE = 64

/** How a page of a lens is asked for, and what it is called in the cache. */
export interface LensSource {
  readonly key: readonly unknown[]
  readonly ask: (positions: readonly number[], signal: AbortSignal) => Promise<LensReply>
}

interface Props
  extends Pick<
    LensTableProps,
    | 'label'
    | 'vocab'
    | 'colour'
    | 'selected'
    | 'locked'
    | 'since'
    | 'cone'
    | 'causal'
    | 'shared'
    | 'onPick'
    | 'onDrag'
    | 'onDrop'
    | 'awaiting'
  > {
  readonly title: ReactNode
  readonly views: readonly TokenView[]
  readonly source: LensSource
  /** The same cells before an edit: those that say something else are marked. */
  readonly before?: LensSource | null
  /** Stands in the heading, with the page that is shown. */
  readonly tools?: (lens: LensReply, positions: readonly number[]) => ReactNode
}

export function useLens(source: LensSource | null, positions: readonly number[]) {
  return useQuery({
    queryKey: ['lens', ...(source?.key ?? []), positions[0], positions.length],
    queryFn: ({ signal }) => source!.ask(positions, signal),
    enabled: source !== null && positions.length > 0,
    placeholderData: keepPreviousData,
    retry: false,
  })
}

/** The positions of the page that holds one. */
export function pageOf(length: number, pos: number): number[] {
  const from = Math.floor(pos / PAGE) * PAGE
  return Array.from({ length: Math.max(0, Math.min(PAGE, length - from)) }, (_, i) => from + i)
}

export function LensGrid({ title, views, source, before = null, tools, ...table }: Props) {
  const [start, setStart] = useState<number | null>(null)
  const shown = pageOf(
    views.length,
    Math.min(start ?? table.selected?.pos ?? table.locked ?? 0, views.length - 1),
  )
  const lens = useLens(source, shown)
  const base = useLens(before, shown)
  const changed = useMemo(
    () => (before && base.data && lens.data ? changedPlaces(base.data, lens.data) : null),
    [before, base.data, lens.data],
  )
  const first = shown[0] ?? 0
  const last = shown.at(-1) ?? 0
  return (
    <section className="lens-grid" aria-label={table.label}>
      <header className="lens-head">
        <h3 className="pane-title">{title}</h3>
        {changed && (
          <span className="muted small-text">
            {changed.size === 0 ? 'no cell says another token' : `${changed.size} cells say another token`}
          </span>
        )}
        {views.length > PAGE && (
          <span className="field">
            <button
              type="button"
              className="button small"
              aria-label="Earlier positions"
              disabled={first === 0}
              onClick={() => setStart(first - PAGE)}
            >
              ←
            </button>
            <span>
              positions {first}–{last} of {views.length}
            </span>
            <button
              type="button"
              className="button small"
              aria-label="Later positions"
              disabled={last >= views.length - 1}
              onClick={() => setStart(first + PAGE)}
            >
              →
            </button>
          </span>
        )}
        {lens.data && tools?.(lens.data, shown)}
      </header>
      {lens.isError ? (
        <Failed error={lens.error} retry={() => void lens.refetch()} />
      ) : !lens.data ? (
        <Waiting text="Reading the residual stream through the unembedding…" />
      ) : (
        <LensTable {...table} views={views} lens={lens.data} changed={changed} />
      )}
    </section>
  )
}
