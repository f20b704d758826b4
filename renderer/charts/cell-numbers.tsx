/**
 * The numbers of the cells that are in view, printed where cells are large enough to hold them. In: a reading and the
 * window on it. Out: text on a canvas above the picture; at most a few hundred cells are ever that large.
 */
import { useCallback } from 'react'
import { preciseWeight, signedWeight } from '../state/format.ts'
import type { Theme } from '../state/theme.ts'
import { rampPosition, signedInk, weightInk } from './color.ts'
import type { View } from './labels.ts'
import type { Reading } from './reading.ts'

/** Whether cells of so many pixels have room for their numbers: a sign wants some more. */
export function holdsNumbers(cell: number, signed: boolean): boolean {
  return cell >= (signed ? 42 : 36)
}

interface Props {
  readonly reading: Reading
  readonly theme: Theme
  readonly log: boolean
  readonly view: View
  readonly cell: number
  readonly side: number
}

export function CellNumbers({ reading, theme, log, view, cell, side }: Props) {
  const { x, y } = view
  const draw = useCallback(
    (canvas: HTMLCanvasElement | null) => {
      const context = canvas?.getContext('2d')
      if (!canvas || !context) return
      canvas.width = Math.round(side * devicePixelRatio)
      canvas.height = canvas.width
      context.scale(devicePixelRatio, devicePixelRatio)
      context.font = `10px ${getComputedStyle(canvas).fontFamily}`
      context.textAlign = 'center'
      context.textBaseline = 'middle'
      const last = (start: number) => Math.min(reading.size - 1, Math.floor(start + side / cell))
      for (let query = Math.floor(y); query <= last(y); query++)
        for (let key = Math.floor(x); key <= last(x); key++) {
          const value = reading.at(query, key)
          if (value === null) continue
          const share = value / (reading.most || 1)
          context.fillStyle = reading.signed
            ? signedInk(theme, share)
            : weightInk(theme, rampPosition(share, log))
          const text = reading.signed ? signedWeight(value) : preciseWeight(value)
          context.fillText(text, (key + 0.5 - x) * cell, (query + 0.5 - y) * cell, cell - 2)
        }
    },
    [reading, theme, log, x, y, cell, side],
  )
  return <canvas ref={draw} className="cell-numbers" />
}
