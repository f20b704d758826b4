/** Pieces of query rows put together: chunks of a block, or one piece as it is. */
import type { Axis } from '../graph/axes.ts'
import { sizeOf } from '../graph/tensor.ts'
import type { Dense, Window } from './dense.ts'

export interface Piece {
  readonly window: Window
  readonly value: Dense
}

/**
 * One array over the whole window. A piece that saw fewer keys leaves the rest at `empty`. One piece that covers all
 * is handed on without a copy; so is the first of what has no rows, which every chunk computes alike.
 */
export function assemble(
  pieces: readonly Piece[],
  axes: readonly Axis[],
  whole: Window,
  empty: number,
): Dense {
  if (pieces.length === 1) return pieces[0]!.value
  const rowAxis = axes.findIndex((axis) => axis === 'pos' || axis === 'query')
  if (rowAxis < 0) return pieces[0]!.value
  const shape = pieces[0]!.value.shape.map((size, i) =>
    i === rowAxis ? whole.rows : axes[i] === 'key' ? whole.keys : size,
  )
  const data = new Float32Array(sizeOf(shape))
  if (empty !== 0) data.fill(empty)
  const outer = sizeOf(shape.slice(0, rowAxis))
  const wide = sizeOf(shape.slice(rowAxis + 1))
  for (const { window, value } of pieces) {
    const narrow = sizeOf(value.shape.slice(rowAxis + 1))
    for (let o = 0; o < outer; o++)
      for (let row = 0; row < window.rows; row++) {
        const from = (o * window.rows + row) * narrow
        data.set(value.data.subarray(from, from + narrow), (o * whole.rows + window.start + row) * wide)
      }
  }
  return { data, shape }
}
