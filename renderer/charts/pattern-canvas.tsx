/** The picture of one pattern on a canvas; the pictures of the last few heads are kept. */
import { useCallback } from 'react'
import type { Pattern } from '../api/pattern.ts'
import { markPatternDrawn } from '../state/timing.ts'
import { paintDifference } from './difference-pixels.ts'
import { type Display, paintPattern } from './pattern-pixels.ts'

const KEEP = 12
interface Painted {
  readonly pattern: Pattern
  readonly against: Pattern | null
  readonly image: ImageData
}
const painted = new Map<string, Painted>() // oldest first

/** What a canvas shows: a pattern, or what it has more or less than `against`. */
export interface Drawing {
  readonly name: string
  readonly pattern: Pattern
  readonly against: Pattern | null
  readonly display: Display
  /** Cells a side that share a pixel, which has the largest of them. */
  readonly pool: number
}

/** The pixels of a drawing; from the kept ones where possible. */
function imageOf({ name, pattern, against, display, pool }: Drawing): ImageData {
  const key = `${name}|${display.theme}|${display.log}|${display.bos}|${pool}|${against !== null}`
  const found = painted.get(key)
  painted.delete(key)
  if (found?.pattern === pattern && found.against === against) {
    painted.set(key, found)
    return found.image
  }
  const { side, pixels } =
    against === null ? paintPattern(pattern, display, pool) : paintDifference(against, pattern, display, pool)
  const image = new ImageData(new Uint8ClampedArray(pixels.buffer), side, side)
  const oldest = painted.size < KEEP ? undefined : painted.keys().next().value
  if (oldest !== undefined) painted.delete(oldest)
  painted.set(key, { pattern, against, image })
  return image
}

/** One canvas that stays and gets new pixels: a switch of heads changes no element, so the browser lays out nothing. */
export function PatternCanvas({ name, pattern, against, display, pool }: Drawing) {
  const { theme, log, bos } = display
  const draw = useCallback(
    (canvas: HTMLCanvasElement | null) => {
      if (!canvas) return
      const image = imageOf({ name, pattern, against, display: { theme, log, bos }, pool })
      if (canvas.width !== image.width) {
        canvas.width = image.width
        canvas.height = image.height
      }
      canvas.getContext('2d')?.putImageData(image, 0, 0)
      markPatternDrawn()
    },
    [name, pattern, against, theme, log, bos, pool],
  )
  return <canvas ref={draw} />
}
