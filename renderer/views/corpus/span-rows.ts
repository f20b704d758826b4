/**
 * What one head does at each listed place of a corpus. In: places with every head's weight. Out: a row for each query, its
 * hits and its misses apart. Pure. A query with several earlier A is one row: its weight is on all B together.
 */
import type { SpansReply } from '../../../core/api/contract.ts'
import { type HeadId, sameHead } from '../../state/selection.ts'

export interface SpanRow {
  readonly window: number
  readonly query: number
  /** The B that gets the most. */
  readonly target: number
  readonly weight: number
  readonly hit: boolean
  /** Whether the model's likeliest next token is a B. */
  readonly predicted: boolean
}

type Listed = Pick<SpansReply, 'items' | 'settings'>

/** Hits: strongest first. Misses: weakest first. */
export function spanRows({ items, settings }: Listed, head: HeadId): { hits: SpanRow[]; misses: SpanRow[] } {
  const rows = new Map<string, SpanRow & { readonly most: number }>()
  for (const { window, query, target, predicted, heads } of items) {
    const here = heads.find((one) => sameHead(one, head))
    if (!here) continue
    const key = `${window} ${query}`
    const row = rows.get(key)
    const first = row === undefined || here.weight > row.most
    const weight = (row?.weight ?? 0) + here.weight
    rows.set(key, {
      window,
      query,
      target: first ? target : row.target,
      most: first ? here.weight : row.most,
      weight,
      hit: settings.hit === 'weight' ? weight >= settings.threshold : (row?.hit ?? false) || here.hit,
      predicted: (row?.predicted ?? false) || predicted,
    })
  }
  const all = [...rows.values()].map(({ most: _, ...row }) => row)
  return {
    hits: all.filter((row) => row.hit).sort((a, b) => b.weight - a.weight),
    misses: all.filter((row) => !row.hit).sort((a, b) => a.weight - b.weight),
  }
}
