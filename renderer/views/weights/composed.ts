/** Composition around one head. In: all pairs of one kind. Out: for each other head how far the pair is over random. Pure. */
import type { CompositionCell } from '../../../core/analysis/composition.ts'
import type { EffectValue } from '../../charts/effect-grid.tsx'
import type { HeadId } from '../../state/selection.ts'

export interface Composed {
  readonly value: (layer: number, head: number) => EffectValue
  readonly most: number
}

/** Earlier heads: what `head` reads of them. Later ones: what they read of `head`. Its own layer: no such pair. */
export function composedWith(
  cells: readonly CompositionCell[],
  head: HeadId,
  headsPerLayer: number,
  baseline: number,
): Composed {
  const values = new Map<number, number | null>()
  let most = 0
  for (const { from, to, value } of cells) {
    const reads = to.layer === head.layer && to.head === head.head
    const written = from.layer === head.layer && from.head === head.head
    if (!reads && !written) continue
    const other = reads ? from : to
    const over = value === null ? null : value - baseline
    values.set(other.layer * headsPerLayer + other.head, over)
    if (over !== null) most = Math.max(most, Math.abs(over))
  }
  return { value: (layer, column) => values.get(layer * headsPerLayer + column), most }
}
