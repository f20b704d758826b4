/** The network of composition for paper: heads, edges with the width that they have on screen. Light colours. */
import { type FigureBody, INK, LINE, PALE, rectAt, round, textAt } from '../../charts/svg.ts'
import { headName } from '../../state/selection.ts'
import { edgeWidth, type NetworkEdge, networkCurve, networkLayout } from './network.ts'

const EDGE = '#4e86dd'

export function networkBody(
  shape: { readonly layers: number; readonly heads: number },
  edges: readonly NetworkEdge[],
): FigureBody {
  const layout = networkLayout(shape, {
    width: Math.max(480, 34 + Math.min(shape.heads, 24) * 40),
    height: Math.max(160, Math.min(shape.layers, 24) * 64),
  })
  const most = edges.at(-1)?.over ?? 0
  const ends = new Set(edges.flatMap(({ from, to }) => [headName(from), headName(to)]))
  const parts = edges.map(
    (edge) =>
      `<path d="${networkCurve(layout, edge)}" fill="none" stroke="${EDGE}" stroke-opacity="0.7" stroke-linecap="round" stroke-width="${round(edgeWidth(edge.over, most))}"/>`,
  )
  const { box, left, top } = layout
  for (let layer = 0; layer < shape.layers; layer++) {
    parts.push(textAt(0, top(layer) + box.height / 2, `L${layer}`, { middle: true, size: 10, fill: PALE }))
    for (let head = 0; head < shape.heads; head++) {
      const inside = ends.has(headName({ layer, head }))
      parts.push(
        rectAt(left(head), top(layer), box.width, box.height, '#fff', {
          stroke: inside ? INK : LINE,
          rest: 'rx="3"',
        }),
      )
      if (box.width >= 22)
        parts.push(
          textAt(left(head) + box.width / 2, top(layer) + box.height / 2, `H${head}`, {
            anchor: 'middle',
            middle: true,
            size: 9.5,
            fill: inside ? INK : PALE,
          }),
        )
    }
  }
  return { width: layout.width, height: layout.height, markup: parts.join('\n') }
}
