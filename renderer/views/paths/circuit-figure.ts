/** A circuit as a figure for paper: the nodes that play a part, edges with their numbers, a signed legend. Light colours. */

import type { PathCell } from '../../../core/intervene/path.ts'
import type { PathEdge } from '../../../core/intervene/path-names.ts'
import { signedColor } from '../../charts/color.ts'
import { type FigureBody, INK, LINE, PALE, rectAt, round, signedLegend, textAt } from '../../charts/svg.ts'
import { signedWeight } from '../../state/format.ts'
import { edgeName, nodeOf, type Shape } from './circuit.ts'
import { curveOf, layoutOf, placeLabels } from './layout.ts'

/** In: what the graph on screen shows. Out: the same as markup, in a box of its own. */
export function circuitBody(
  shape: Shape,
  edges: readonly PathEdge[],
  effects: ReadonlyMap<string, PathCell>,
): FigureBody {
  const nodesIn = new Set(edges.flatMap(({ from, to }) => [from, nodeOf(to)]))
  const layers = new Set([...nodesIn].map((name) => Number(/^L(\d+)/.exec(name)?.[1] ?? -1)))
  const room = {
    width: Math.max(560, 34 + 78 * (Math.min(shape.heads, 12) + 1)),
    height: 120 + 90 * ((shape.cross ? 2 : 1) * layers.size + 1),
  }
  const layout = layoutOf(shape, room, layers)
  const cells = edges.map((edge) => effects.get(edgeName(edge)))
  const most = Math.max(0, ...cells.map((cell) => Math.abs(cell?.delta ?? 0)))
  const parts: string[] = []
  const drawn = edges
    .map((edge, i) => ({ curve: curveOf(layout, edge.from, edge.to), delta: cells[i]?.delta ?? null }))
    .filter((one) => one.curve !== null)
    .sort((a, b) => Math.abs(a.delta ?? 0) - Math.abs(b.delta ?? 0))
  for (const { curve, delta } of drawn) {
    const t = delta === null || most === 0 ? 0 : delta / most
    const stroke = delta === null ? PALE : signedColor('light', Math.sign(t) * (0.45 + 0.3 * Math.abs(t)))
    parts.push(
      `<path d="${curve!.path}" fill="none" stroke="${stroke}" stroke-width="${round(1.2 + 7 * Math.abs(t))}"${delta === null ? ' stroke-dasharray="4 3"' : ''} stroke-linecap="round"/>`,
    )
  }
  for (const { name, y } of layout.rows)
    parts.push(textAt(0, y, name, { middle: true, size: 10, fill: PALE }))
  for (const node of layout.nodes.values()) {
    const inside = nodesIn.has(node.name)
    parts.push(
      rectAt(node.x, node.y, node.width, node.height, '#fff', {
        stroke: inside ? INK : LINE,
        rest: `rx="4"${inside ? ' stroke-width="1.4"' : ''}`,
      }),
    )
    if (node.small) continue
    const name =
      node.head === null
        ? ({ embed: 'embedding', source: 'source', logits: 'logits' }[node.name] ?? 'MLP')
        : `H${node.head}`
    const fill = inside ? INK : PALE
    const above = node.ports.length > 0 ? node.ports[0]!.height / 2 : 0
    const [x, y] = [node.x + node.width / 2, node.y + node.height / 2 - above]
    parts.push(textAt(x, y, name, { anchor: 'middle', middle: true, size: 10, fill }))
    for (const port of node.ports)
      parts.push(
        textAt(port.x + port.width / 2, port.y + port.height / 2, port.part, {
          anchor: 'middle',
          middle: true,
          size: 9,
          fill: edges.some(({ to }) => to === port.name) ? INK : PALE,
        }),
      )
  }
  const spots = placeLabels(
    drawn.map(({ curve }) => curve!),
    { width: 46, height: 15 },
    layout.nodes.values(),
  )
  drawn.forEach(({ delta }, i) => {
    if (delta === null) return
    const { x, y } = spots[i]!
    parts.push(
      rectAt(x - 22, y - 7, 44, 14, '#fff', { rest: 'rx="3" opacity="0.88"' }),
      textAt(x, y, signedWeight(delta), { anchor: 'middle', middle: true, size: 10 }),
    )
  })
  parts.push(signedLegend(34, layout.height + 12, most))
  return { width: layout.width, height: layout.height + 28, markup: parts.join('\n') }
}
