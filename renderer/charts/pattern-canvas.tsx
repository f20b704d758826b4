/** The picture of one pattern on a canvas of its own; the canvases of the last few heads are kept. */
import { useCallback } from 'react'
import type { Pattern } from '../api/pattern.ts'
import { markPatternDrawn } from '../state/timing.ts'
import { type Display, paintPattern } from './pattern-pixels.ts'

const KEEP = 12
const painted = new Map<string, { pattern: Pattern; canvas: HTMLCanvasElement }>() // oldest first

/** A canvas with the pattern drawn, from the kept ones where possible. */
export function patternCanvas(
  name: string,
  pattern: Pattern,
  display: Display,
  pool: number,
): HTMLCanvasElement {
  const key = `${name}|${display.theme}|${display.log}|${display.bos}|${pool}`
  const found = painted.get(key)
  painted.delete(key)
  if (found?.pattern === pattern) {
    painted.set(key, found)
    return found.canvas
  }
  const { side, pixels } = paintPattern(pattern, display, pool)
  const canvas = document.createElement('canvas')
  canvas.width = side
  canvas.height = side
  canvas.getContext('2d')?.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), side, side), 0, 0)
  painted.set(key, { pattern, canvas })
  if (painted.size > KEEP) painted.delete(painted.keys().next().value!)
  return canvas
}

interface Props {
  readonly name: string
  readonly pattern: Pattern
  readonly display: Display
  readonly pool: number
  readonly left: number
  readonly top: number
  /** CSS pixels a cell. */
  readonly cell: number
}

/** Puts the kept canvas into place: a head switch is one paint and one node. */
export function PatternCanvas({ name, pattern, display, pool, left, top, cell }: Props) {
  const { theme, log, bos } = display
  const mount = useCallback(
    (host: HTMLDivElement | null) => {
      if (!host) return
      host.replaceChildren(patternCanvas(name, pattern, { theme, log, bos }, pool))
      markPatternDrawn()
    },
    [name, pattern, theme, log, bos, pool],
  )
  const width = Math.ceil(pattern.size / pool) * pool * cell
  return <div className="pattern-canvas" ref={mount} style={{ left, top, width, height: width }} />
}
