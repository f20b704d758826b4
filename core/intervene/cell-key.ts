/** How a measured place is told from the others of its sweep: the key under which the store keeps it. */
import type { AttributionCell } from './attribute-estimates.ts'
import { placeOf } from './collect.ts'
import type { PathCell } from './path.ts'
import type { Cell } from './types.ts'

export type SweepKind = 'ablate' | 'patch' | 'path' | 'attribute'

/** The key of a cell of a sweep of this kind. */
export function cellKey(kind: SweepKind, cell: unknown): string {
  if (kind === 'path') {
    const { from, to } = cell as PathCell
    return `${from} ${to}`
  }
  const place = placeOf(cell as Cell)
  return kind === 'attribute' ? `${(cell as AttributionCell).site} ${place}` : place
}
