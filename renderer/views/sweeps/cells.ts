/** Cells of a sweep as a grid that is read by (layer, column). In: cells in any order. Out: values, extent, the strongest. Pure. */
import type { EffectValue } from '../../charts/effect-grid.tsx'

interface Placed {
  readonly layer: number
  readonly head?: number
  readonly pos?: number
}

/** Of a cell in the grid. */
export interface Place {
  readonly layer: number
  readonly column: number
}

export interface CellGrid<C> {
  readonly value: (layer: number, column: number) => EffectValue
  readonly cell: (layer: number, column: number) => C | undefined
  /** Largest magnitude of a value; 0 where there is none. */
  readonly most: number
  /** Cells with a value, the largest magnitude first. */
  readonly strongest: readonly C[]
}

export function columnOf(cell: Placed): number {
  return cell.head ?? cell.pos ?? 0
}

/** A picked cell as the address has it, `layer.column`; null where nothing is picked. */
export function pickedCell(text: string): Place | null {
  const match = /^(\d{1,9})\.(\d{1,9})$/.exec(text)
  return match ? { layer: Number(match[1]), column: Number(match[2]) } : null
}

/** `read` says what a cell shows; null where it does not exist. A later cell of the same place replaces an earlier one. */
export function cellGrid<C extends Placed>(
  cells: readonly C[],
  columns: number,
  read: (cell: C) => number | null,
): CellGrid<C> {
  const at = new Map<number, C>()
  let most = 0
  for (const cell of cells) {
    at.set(cell.layer * columns + columnOf(cell), cell)
    const value = read(cell)
    if (value !== null && Math.abs(value) > most) most = Math.abs(value)
  }
  const cell = (layer: number, column: number) => at.get(layer * columns + column)
  return {
    cell,
    value: (layer, column) => {
      const found = cell(layer, column)
      return found === undefined ? undefined : read(found)
    },
    most,
    strongest: [...at.values()]
      .filter((c) => read(c) !== null)
      .sort(
        (a, b) => Math.abs(read(b)!) - Math.abs(read(a)!) || a.layer - b.layer || columnOf(a) - columnOf(b),
      ),
  }
}
