/** One step of a head as a figure: the matrix as one embedded picture, its rows and columns named. */
import type { GridReply } from '../../../core/api/contract.ts'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import { visibleLabels } from '../../charts/labels.ts'
import {
  BLANK,
  type FigureBody,
  LINE,
  PALE,
  pixelImage,
  rampLegend,
  rectAt,
  signedLegend,
  textAt,
} from '../../charts/svg.ts'
import { matrixPixels, type Scale } from './matrix.ts'
import { countsTokens } from './stages.ts'

export interface MatrixPicture {
  readonly grid: GridReply
  readonly axes: readonly [string, string]
  readonly tokens: readonly TokenView[]
  /** Of the columns, where they count another text. */
  readonly columnTokens?: readonly TokenView[]
  readonly scale: Scale
  readonly end: number
}

const [LEFT, TOP] = [110, 96]

export function matrixBody({
  grid,
  axes,
  tokens,
  columnTokens = tokens,
  scale,
  end,
}: MatrixPicture): FigureBody {
  const [rows, columns] = grid.shape
  const cell = Math.max(2, Math.min(26, 760 / columns, 620 / rows))
  const [width, height] = [columns * cell, rows * cell]
  const name = (axis: string, views: readonly TokenView[], i: number) =>
    countsTokens(axis) ? `${(views[i]?.text ?? '').slice(0, 11)} ${i}` : String(i)
  const legendAt = TOP + height + 12
  return {
    width: LEFT + width + 2,
    height: legendAt + 14,
    markup: [
      textAt(LEFT - 6, TOP - 20, `${axes[1]} →`, { anchor: 'end', fill: PALE }),
      textAt(LEFT - 6, TOP - 7, `${axes[0]} ↓`, { anchor: 'end', fill: PALE }),
      rectAt(LEFT, TOP, width, height, BLANK, { stroke: LINE }),
      pixelImage(matrixPixels(grid.values, scale, end, 'light'), columns, LEFT, TOP, width, height),
      ...visibleLabels(rows, cell, 0, height, 12.5).map((i) =>
        textAt(LEFT - 6, TOP + (i + 0.5) * cell, name(axes[0], tokens, i), {
          anchor: 'end',
          middle: true,
          size: 10,
        }),
      ),
      ...visibleLabels(columns, cell, 0, width, 12.5).map((i) =>
        textAt(LEFT + (i + 0.5) * cell, TOP - 6, name(axes[1], columnTokens, i), {
          up: true,
          middle: true,
          size: 10,
        }),
      ),
      scale === 'weight' ? rampLegend(LEFT, legendAt) : signedLegend(LEFT, legendAt, end),
    ].join('\n'),
  }
}
