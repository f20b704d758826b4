/** Which labels of an axis fit. In: cell size and window. Out: positions to label, never closer than asked. Pure. */

const STEPS = [1, 2, 5]

/** The smallest of 1, 2, 5, 10, 20, 50 … cells whose labels stand at least `pitch` pixels apart. */
export function labelStep(cell: number, pitch: number): number {
  for (let power = 1; ; power *= 10) {
    for (const step of STEPS) if (step * power * cell >= pitch) return step * power
  }
}

/**
 * Positions to label among `count` cells of `cell` pixels, seen through a window of `size` pixels that begins at cell
 * `start`. `always` (locked or hovered ones) are labelled in any case and push their neighbours out.
 */
export function visibleLabels(
  count: number,
  cell: number,
  start: number,
  size: number,
  pitch: number,
  always: readonly number[] = [],
): number[] {
  const step = labelStep(cell, pitch)
  const middle = (i: number) => (i + 0.5 - start) * cell
  const inside = (i: number) => i >= 0 && i < count && middle(i) >= 0 && middle(i) <= size
  const kept = [...new Set(always)].filter(inside)
  const out = [...kept]
  const from = Math.max(0, Math.floor(start / step) * step)
  for (let i = from; i < count && middle(i) <= size; i += step) {
    if (!inside(i) || kept.some((k) => Math.abs(k - i) * cell < pitch)) continue
    out.push(i)
  }
  return out.sort((a, b) => a - b)
}

/** Pixels that the labels of an axis need: by the longest ordinary token, at most `most`. */
export function gutter(tokens: readonly { text: string; special: boolean }[], most: number): number {
  const longest = tokens.reduce((n, t) => (t.special ? n : Math.max(n, t.text.length)), 4)
  const index = String(tokens.length).length * 5.5 + 10
  return Math.round(Math.min(most, Math.max(52, longest * 6.6 + index + 6)))
}

/** A window on a square of cells: the first cell seen on each axis, and the pixels of a cell. */
export interface View {
  readonly zoom: number // 1: all cells fit
  readonly x: number // first key seen, in cells
  readonly y: number // first query seen
}

export const FIT: View = { zoom: 1, x: 0, y: 0 }

/** Keeps a window inside its cells, and a cell at most `largest` pixels. */
export function clampView(view: View, count: number, side: number, largest = 48): View {
  const most = Math.max(1, (largest * count) / side)
  const zoom = Math.min(most, Math.max(1, view.zoom))
  const room = count - count / zoom
  return {
    zoom,
    x: Math.min(room, Math.max(0, view.x)),
    y: Math.min(room, Math.max(0, view.y)),
  }
}

/** The window moved as little as brings a cell into it. */
export function bringInto(view: View, count: number, side: number, x: number, y: number): View {
  const seen = count / view.zoom
  const moved = (start: number, cell: number) =>
    cell < start ? cell : cell + 1 > start + seen ? cell + 1 - seen : start
  return clampView({ ...view, x: moved(view.x, x), y: moved(view.y, y) }, count, side)
}

/** Zooms by a factor about a point given as fractions of the window: the cell under it stays under it. */
export function zoomAt(
  view: View,
  factor: number,
  fx: number,
  fy: number,
  count: number,
  side: number,
): View {
  const zoom = clampView({ ...view, zoom: view.zoom * factor }, count, side).zoom
  const [before, after] = [count / view.zoom, count / zoom]
  return clampView(
    { zoom, x: view.x + fx * (before - after), y: view.y + fy * (before - after) },
    count,
    side,
  )
}
