/**
 * The window on the cells of a pattern. In: the run that is shown. Out: zoom and place, and the way to change them. It
 * stays as long as the tokens are the same: over heads, weightings, edits and checkpoints.
 */
import { useCallback, useMemo, useState } from 'react'
import type { RunDetail } from '../../../core/api/contract.ts'
import { FIT, type View } from '../../charts/labels.ts'

export type ChangeView = (change: (view: View) => View) => void

export function useView(run: Pick<RunDetail, 'views'> | null): [View, ChangeView] {
  const tokens = useMemo(() => run?.views.map(({ id }) => id).join(' ') ?? '', [run])
  const [kept, setKept] = useState({ tokens, view: FIT })
  const change = useCallback<ChangeView>(
    (next) => setKept((now) => ({ tokens, view: next(now.tokens === tokens ? now.view : FIT) })),
    [tokens],
  )
  return [kept.tokens === tokens ? kept.view : FIT, change]
}

/**
 * The same window on a picture of another size: cells are as large as in the largest picture, so that what is seen of
 * both begins at the same position.
 */
export function viewOf(view: View, change: ChangeView, count: number, most: number): [View, ChangeView] {
  if (count === most) return [view, change]
  const scaled = (by: number) => (v: View) => ({ ...v, zoom: Math.max(1, v.zoom * by) })
  const [here, back] = [scaled(count / most), scaled(most / count)]
  return [here(view), (next) => change((v) => back(next(here(v))))]
}
