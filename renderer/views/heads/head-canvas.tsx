/**
 * The pictures of all tiles on one canvas: thumbnails, and for many heads also scores, bars and what the filter fades.
 * 2,304 tiles are drawn in about 20 ms; scrolling then moves one layer.
 */
import { useCallback } from 'react'
import type { HeadScores } from '../../../core/analysis/types.ts'
import type { Thumbnails } from '../../api/client.ts'
import { weightColor, weightInk } from '../../charts/color.ts'
import { PITCH as SHEET_PITCH, TILE as SHEET_TILE, thumbnailSheet } from '../../charts/thumbnail-sheet.ts'
import { headName } from '../../state/head-name.ts'
import { formatScore } from '../../state/rank.ts'
import type { Theme } from '../../state/theme.ts'
import type { Arrangement } from './arrange.ts'

interface Props {
  readonly arrangement: Arrangement
  readonly heads: readonly HeadScores[] | null
  readonly headsPerLayer: number
  readonly thumbnails: Thumbnails | null
  readonly score: string
  readonly matches: (head: HeadScores) => boolean
  /** The heads that what is locked concerns; null: all. */
  readonly cares: ReadonlySet<string> | null
  /** Whether scores are drawn here too. */
  readonly scores: boolean
  /** Heads with a note, by name: marked where the canvas draws all of a tile. */
  readonly noted: ReadonlyMap<string, string>
  readonly pitch: number
  readonly theme: Theme
  readonly left: number
  readonly top: number
}

/** Canvases beyond this many pixels are drawn at a lower resolution. */
const MOST_PIXELS = 24e6

export function HeadCanvas(props: Props) {
  const {
    arrangement,
    heads,
    headsPerLayer,
    thumbnails,
    score,
    matches,
    cares,
    scores,
    noted,
    pitch,
    theme,
    left,
    top,
  } = props
  const { width, height } = arrangement
  const draw = useCallback(
    (canvas: HTMLCanvasElement | null) => {
      const context = canvas?.getContext('2d')
      if (!canvas || !context) return
      const ratio = Math.min(devicePixelRatio, Math.sqrt(MOST_PIXELS / Math.max(1, width * height)))
      canvas.width = Math.max(1, Math.round(width * ratio))
      canvas.height = Math.max(1, Math.round(height * ratio))
      context.scale(ratio, ratio)
      const size = pitch - (pitch < 20 ? 1 : 3)
      const sheet = thumbnails && thumbnailSheet(thumbnails, theme)
      const style = getComputedStyle(canvas)
      const [text, bar, line, note] = ['--text', '--accent', '--line', '--second'].map((name) =>
        style.getPropertyValue(name),
      )
      context.imageSmoothingEnabled = size < SHEET_TILE
      context.font = `10.5px ${style.fontFamily}`
      for (const { layer, head, x, y } of arrangement.placed) {
        const of = heads?.[layer * headsPerLayer + head]
        const known = of?.scores[score]?.value ?? null
        const fades = (of && !matches(of)) || (cares !== null && !cares.has(headName({ layer, head })))
        context.globalAlpha = scores && fades ? 0.16 : 1
        if (sheet && thumbnails && layer < thumbnails.layers && head < thumbnails.heads)
          context.drawImage(
            sheet,
            head * SHEET_PITCH,
            (thumbnails.layers - 1 - layer) * SHEET_PITCH,
            SHEET_TILE,
            SHEET_TILE,
            x,
            y,
            size,
            size,
          )
        if (!scores) continue
        if (!sheet && known !== null) {
          context.fillStyle = weightColor(theme, known)
          context.fillRect(x, y, size, size)
        }
        context.strokeStyle = line!
        context.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1)
        if (sheet && known !== null && pitch >= 16) {
          context.fillStyle = bar!
          context.fillRect(x, y + size - 4, size * Math.min(1, Math.max(0, known)), 4)
        }
        if (noted.size > 0 && noted.has(headName({ layer, head }))) {
          const side = Math.max(2, Math.min(6, size / 4))
          context.fillStyle = note!
          context.fillRect(x + size - side - 1, y + size - side - 1, side, side)
        }
        if (pitch >= 34) {
          context.fillStyle = !sheet && known !== null ? weightInk(theme, known) : text!
          context.textAlign = 'right'
          context.fillText(formatScore(of?.scores[score]), x + size - 3, y + 12)
        }
      }
    },
    [
      arrangement,
      heads,
      headsPerLayer,
      thumbnails,
      score,
      matches,
      cares,
      scores,
      noted,
      pitch,
      theme,
      width,
      height,
    ],
  )
  if (!scores && !thumbnails) return null
  return <canvas ref={draw} className="thumbnail-sheet" style={{ left, top, width, height }} />
}
