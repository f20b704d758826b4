/** A matrix on a canvas of its own, stretched over its box. Larger matrices than the box are averaged by the browser. */
import { useCallback } from 'react'
import type { GridReply } from '../../../core/api/contract.ts'
import type { Theme } from '../../state/theme.ts'
import { matrixPixels, type Scale } from './matrix.ts'

interface Props {
  readonly grid: GridReply
  readonly scale: Scale
  readonly end: number
  readonly theme: Theme
  /** Its size on the page, in pixels. */
  readonly width: number
  readonly height: number
}

export function MatrixCanvas({ grid, scale, end, theme, width, height }: Props) {
  const [rows, columns] = grid.shape
  const draw = useCallback(
    (canvas: HTMLCanvasElement | null) => {
      const context = canvas?.getContext('2d')
      if (!canvas || !context) return
      canvas.width = columns
      canvas.height = rows
      const pixels = matrixPixels(grid.values, scale, end, theme)
      context.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), columns, rows), 0, 0)
    },
    [grid, rows, columns, scale, end, theme],
  )
  const fine = columns > width || rows > height
  return (
    <canvas ref={draw} className={fine ? 'bench-canvas is-fine' : 'bench-canvas'} style={{ width, height }} />
  )
}
