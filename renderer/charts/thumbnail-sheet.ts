/**
 * All thumbnails of a run as one picture: a tile of 32 × 32 pixels and 2 of gap per head, the lowest layer at the bottom.
 * 48 × 48 heads are 2.7 million pixels, about 15 ms; the pictures of the last few runs are kept.
 */
import type { Thumbnails } from '../api/client.ts'
import type { Theme } from '../state/theme.ts'
import { LEVELS, rampPixels } from './color.ts'

export const TILE = 32
export const PITCH = 34

const sheets = new WeakMap<Thumbnails, Partial<Record<Theme, HTMLCanvasElement>>>()

/** The picture, drawn once for each run and theme. */
export function thumbnailSheet(thumbnails: Thumbnails, theme: Theme): HTMLCanvasElement {
  const of = sheets.get(thumbnails) ?? {}
  sheets.set(thumbnails, of)
  const known = of[theme]
  if (known) return known
  const { width, height, pixels } = sheetPixels(thumbnails, theme)
  const canvas = document.createElement('canvas')
  canvas.width = width
  canvas.height = height
  canvas
    .getContext('2d')
    ?.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), width, height), 0, 0)
  of[theme] = canvas
  return canvas
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

/** Draws one head's tile into pixels of `stride` a row, from `offset` on. */
export function drawTile(
  { heads, bytes, full = false }: Thumbnails,
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
    for (let column = 0; column <= (full ? TILE - 1 : row); column++) {
      const byte = bytes[start + row * TILE + column]!
      pixels[offset + row * stride + column] = ramp[Math.round((byte / 255) * (LEVELS - 1))]!
    }
  }
}
