/** The head grid as a figure: tiles in layers or groups, with their thumbnails or scores. In: heads, places. Out: SVG. */
import type { HeadScores } from '../../../core/analysis/types.ts'
import type { SpecSummary } from '../../../core/api/contract.ts'
import type { Thumbnails } from '../../api/client.ts'
import { weightColor, weightInk } from '../../charts/color.ts'
import {
  BLANK,
  canvasImage,
  type FigureBody,
  LINE,
  PALE,
  rampLegend,
  rectAt,
  textAt,
  UNDEFINED,
} from '../../charts/svg.ts'
import { PITCH as SHEET_PITCH, TILE as SHEET_TILE, thumbnailSheet } from '../../charts/thumbnail-sheet.ts'
import { formatScore, scoreLabel } from '../../state/rank.ts'
import { headName } from '../../state/selection.ts'
import { byGroups, byLayers, type Group, type Order } from './arrange.ts'

export interface GridPicture {
  readonly spec: SpecSummary
  readonly order: Order
  /** null: by layers. */
  readonly groups: readonly Group[] | null
  readonly heads: readonly HeadScores[] | null
  /** null: tiles show scores. */
  readonly thumbnails: Thumbnails | null
  readonly score: string
  readonly matches: (head: HeadScores) => boolean
}

const [LEFT, TOP] = [34, 20]

export function headGridBody(picture: GridPicture): FigureBody {
  const { spec, order, groups, heads, thumbnails, score, matches } = picture
  const pitch = Math.max(16, Math.min(46, 1100 / spec.n_heads))
  const placed = groups && order !== 'layers' ? byGroups(order, groups, pitch, 760) : byLayers(spec, pitch)
  const size = pitch - 3
  const labelled = groups === null
  const parts: string[] = []
  if (thumbnails) {
    const canvas = document.createElement('canvas')
    const fine = SHEET_TILE / size // each thumbnail keeps its own pixels
    canvas.width = Math.ceil(placed.width * fine)
    canvas.height = Math.ceil(placed.height * fine)
    const context = canvas.getContext('2d')!
    const sheet = thumbnailSheet(thumbnails, 'light')
    for (const { layer, head, x, y } of placed.placed)
      if (layer < thumbnails.layers && head < thumbnails.heads) {
        const [fromX, fromY] = [head * SHEET_PITCH, (thumbnails.layers - 1 - layer) * SHEET_PITCH]
        context.drawImage(
          sheet,
          fromX,
          fromY,
          SHEET_TILE,
          SHEET_TILE,
          x * fine,
          y * fine,
          SHEET_TILE,
          SHEET_TILE,
        )
      }
    parts.push(canvasImage(canvas, 0, 0, placed.width, placed.height, true))
  }
  for (const { layer, head, x, y } of placed.placed) {
    const of = heads?.[layer * spec.n_heads + head]
    const value = of?.scores[score]
    const known = value?.value ?? null
    const title = `${headName({ layer, head })} ${scoreLabel(score)} ${value ? formatScore(value) || 'undefined' : 'not computed'}`
    const faded = of && !matches(of) ? 'opacity="0.2"' : ''
    const fill = thumbnails
      ? 'none'
      : known !== null
        ? weightColor('light', known)
        : value
          ? UNDEFINED
          : BLANK
    const inside = [rectAt(x, y, size, size, fill, { stroke: LINE, title })]
    if (thumbnails && known !== null)
      inside.push(rectAt(x, y + size - 4, size * Math.min(1, Math.max(0, known)), 4, '#1b4fb0'))
    if (pitch >= 30)
      inside.push(
        textAt(x + size - 3, y + 11, value ? formatScore(value) || '∅' : '', {
          anchor: 'end',
          size: 9,
          fill: !thumbnails && known !== null ? weightInk('light', known) : '#1b2330',
        }),
      )
    parts.push(`<g ${faded}>${inside.join('')}</g>`)
  }
  const frame: string[] = placed.headings.map(({ text, y }) =>
    textAt(0, y + 13, text, { sans: true, weight: 600 }),
  )
  if (labelled) {
    for (let head = 0; head < spec.n_heads; head++)
      frame.push(textAt(head * pitch + size / 2, -6, `${head}`, { anchor: 'middle', size: 9.5, fill: PALE }))
    for (let layer = 0; layer < spec.n_layers; layer++)
      frame.push(
        textAt(-6, (spec.n_layers - 1 - layer) * pitch + size / 2, `L${layer}`, {
          anchor: 'end',
          middle: true,
          size: 9.5,
          fill: PALE,
        }),
      )
  }
  const [left, top] = labelled ? [LEFT, TOP] : [0, 0]
  const legendAt = top + placed.height + 8
  return {
    width: left + placed.width,
    height: legendAt + 14,
    markup: `<g transform="translate(${left} ${top})">${[...parts, ...frame].join('\n')}</g>${rampLegend(left, legendAt)}`,
  }
}
