/** The picture of one pattern on a canvas of its own; the canvases of the last few heads are kept. */
import { useCallback } from 'react'
import type { Pattern } from '../api/pattern.ts'
import { markPatternDrawn } from '../state/timing.ts'
import { paintDifference } from './difference-pixels.ts'
import { type Display, paintPattern } from './pattern-pixels.ts'

const KEEP = 12
interface Painted {
  readonly pattern: Pattern
  readonly against: Pattern | null
  readonly canvas: HTMLCanvasElement
}
const painted = new Map<string, Painted>() // oldest first

/** A canvas with the pattern drawn, or what it has more or less than `against`; from the kept ones where possible. */
export function patternCanvas(
  name: string,
  pattern: Pattern,
  display: Display,
  pool: number,
  against: Pattern | null = null,
): HTMLCanvasElement {
  const key = `${name}|${display.theme}|${display.log}|${display.bos}|${pool}|${against !== null}`
  const found = painted.get(key)
  painted.delete(key)
  if (found?.pattern === pattern && found.against === against) {
    painted.set(key, found)
    return found.canvas
  }
  const { side, pixels } =
    against === null ? paintPattern(pattern, display, pool) : paintDifference(against, pattern, display, pool)
  const canvas = freeCanvas(side)
  canvas.getContext('2d')?.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), side, side), 0, 0)
  painted.set(key, { pattern, against, canvas })
  return canvas
}

/** The canvas of the head that was left longest ago, since making one costs as much as drawing it; or a new one. */
function freeCanvas(side: number): HTMLCanvasElement {
  const oldest = painted.size < KEEP ? undefined : painted.entries().next().value
  if (oldest) painted.delete(oldest[0])
  if (oldest && oldest[1].canvas.width === side && !oldest[1].canvas.isConnected) return oldest[1].canvas
  const canvas = document.createElement('canvas')
  canvas.width = side
  canvas.height = side
  return canvas
}

interface Props {
  readonly name: string
  readonly pattern: Pattern
  readonly against: Pattern | null
  readonly display: Display
  readonly pool: number
  readonly left: number
  readonly top: number
  /** CSS pixels a cell. */
  readonly cell: number
}

/** Puts the kept canvas into place: a head switch is one paint and one node. */
export function PatternCanvas({ name, pattern, against, display, pool, left, top, cell }: Props) {
  const { theme, log, bos } = display
  const mount = useCallback(
    (host: HTMLDivElement | null) => {
      if (!host) return
      host.replaceChildren(patternCanvas(name, pattern, { theme, log, bos }, pool, against))
      markPatternDrawn()
    },
    [name, pattern, against, theme, log, bos, pool],
  )
  const width = Math.ceil(pattern.size / pool) * pool * cell
  return <div className="pattern-canvas" ref={mount} style={{ left, top, width, height: width }} />
}
