/** One head's thumbnail on a canvas of its own. */
import { useCallback } from 'react'
import type { Thumbnails } from '../api/client.ts'
import type { Theme } from '../state/theme.ts'
import { drawTile, TILE } from './thumbnail-sheet.ts'

/** One thumbnail of a run. */
export function Thumbnail(props: {
  thumbnails: Thumbnails
  layer: number
  head: number
  theme: Theme
  size: number
}) {
  const { thumbnails, layer, head, theme, size } = props
  const draw = useCallback(
    (canvas: HTMLCanvasElement | null) => {
      const pixels = new Uint32Array(TILE * TILE)
      drawTile(thumbnails, layer, head, theme, pixels, TILE, 0)
      canvas
        ?.getContext('2d')
        ?.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), TILE, TILE), 0, 0)
    },
    [thumbnails, layer, head, theme],
  )
  return (
    <canvas
      ref={draw}
      width={TILE}
      height={TILE}
      className="thumbnail"
      style={{ width: size, height: size }}
    />
  )
}
