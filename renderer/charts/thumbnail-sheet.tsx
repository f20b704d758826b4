/**
 * All thumbnails of a run on one canvas: a tile of 32 × 32 pixels and 2 of gap per head, the lowest layer at the bottom.
 * One putImageData for the whole grid: 48 × 48 heads are 2.7 million pixels, about 15 ms.
 */
import { useCallback } from 'react'
import type { Thumbnails } from '../api/client.ts'
import type { Theme } from '../state/theme.ts'
import { LEVELS, rampPixels } from './color.ts'

const TILE = 32
const PITCH = 34

interface Props {
  readonly thumbnails: Thumbnails
  readonly theme: Theme
  readonly left: number
  readonly top: number
  readonly pitch: number
}

export function ThumbnailSheet({ thumbnails, theme, left, top, pitch }: Props) {
  const draw = useCallback(
    (canvas: HTMLCanvasElement | null) => {
      const context = canvas?.getContext('2d')
      if (!canvas || !context) return
      const { width, height, pixels } = sheetPixels(thumbnails, theme)
      canvas.width = width
      canvas.height = height
      context.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), width, height), 0, 0)
    },
    [thumbnails, theme],
  )
  const scale = (pitch - (pitch < 20 ? 1 : 3)) / TILE
  // The gap is drawn by the tiles' own spacing: the sheet is scaled so that one pitch of it is one pitch of tiles.
  const style = {
    left,
    top,
    width: thumbnails.heads * pitch,
    height: thumbnails.layers * pitch,
    imageRendering: scale >= 1 ? ('pixelated' as const) : ('auto' as const),
  }
  return <canvas ref={draw} className="thumbnail-sheet" style={style} />
}

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

/** Pixels of the whole sheet; the gaps and the triangle above the diagonal stay transparent. */
export function sheetPixels(thumbnails: Thumbnails, theme: Theme) {
  const { layers, heads } = thumbnails
  const [width, height] = [heads * PITCH, layers * PITCH]
  const pixels = new Uint32Array(width * height)
  for (let layer = 0; layer < layers; layer++) {
    for (let head = 0; head < heads; head++) {
      drawTile(
        thumbnails,
        layer,
        head,
        theme,
        pixels,
        width,
        (layers - 1 - layer) * PITCH * width + head * PITCH,
      )
    }
  }
  return { width, height, pixels }
}

function drawTile(
  { heads, bytes }: Thumbnails,
  layer: number,
  head: number,
  theme: Theme,
  pixels: Uint32Array,
  stride: number,
  offset: number,
): void {
  const ramp = rampPixels(theme)
  const start = (layer * heads + head) * TILE * TILE
  for (let row = 0; row < TILE; row++) {
    for (let column = 0; column <= row; column++) {
      const byte = bytes[start + row * TILE + column]!
      pixels[offset + row * stride + column] = ramp[Math.round((byte / 255) * (LEVELS - 1))]!
    }
  }
}
