/** Pieces of query rows put together: chunks of a block, or one piece as it is. */
import type { Axis } from '../graph/axes.ts'
import { sizeOf } from '../graph/tensor.ts'
import type { Dense, Window } from './dense.ts'

export interface Assembly {
  /** Takes the rows of a window; the piece is not kept. */
  add(window: Window, value: Dense): void
  /** The whole array. */
  finish(): Dense
}

/**
 * One array over the whole window, filled as pieces come, so that memory holds it and one piece. A piece that saw
 * fewer keys leaves the rest at `empty`. A piece that covers all is handed on without a copy; so is the first of what
 * has no rows, which every chunk computes alike.
 */
export function createAssembly(axes: readonly Axis[], whole: Window, empty: number): Assembly {
  const rowAxis = axes.findIndex((axis) => axis === 'pos' || axis === 'query')
  let result: Dense | null = null
  return {
    add(window, value) {
      if (rowAxis < 0 || window.rows === whole.rows) result ??= value
      else {
        result ??= blank(value, axes, rowAxis, whole, empty)
        copyRows(result, value, rowAxis, window)
      }
    },
    finish: () => result!,
  }
}

// --- Internal helpers ---

function blank(piece: Dense, axes: readonly Axis[], rowAxis: number, whole: Window, empty: number): Dense {
  const shape = piece.shape.map((size, i) =>
    i === rowAxis ? whole.rows : axes[i] === 'key' ? whole.keys : size,
  )
  const data = new Float32Array(sizeOf(shape))
  if (empty !== 0) data.fill(empty)
  return { data, shape }
}

function copyRows(into: Dense, piece: Dense, rowAxis: number, window: Window): void {
  const outer = sizeOf(into.shape.slice(0, rowAxis))
  const rows = into.shape[rowAxis]!
  const wide = sizeOf(into.shape.slice(rowAxis + 1))
  const narrow = sizeOf(piece.shape.slice(rowAxis + 1))
  for (let o = 0; o < outer; o++)
    for (let row = 0; row < window.rows; row++) {
      const from = (o * window.rows + row) * narrow
      into.data.set(piece.data.subarray(from, from + narrow), (o * rows + window.start + row) * wide)
    }
}
