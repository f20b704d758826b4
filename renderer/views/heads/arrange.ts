/** Where every head's tile stands. In: the model's size or groups of heads, the pitch of tiles. Out: places in pixels. Pure. */
import type { HeadScores } from '../../../core/analysis/types.ts'
import type { Thumbnails } from '../../api/client.ts'
import { CLASS_FROM, classOf, rankHeads, scoreLabel } from '../../state/rank.ts'
import { type HeadId, headName } from '../../state/selection.ts'
import { range } from '../../ui/range.ts'
import { alikeGroups } from './alike.ts'

export type Order = 'layers' | 'score' | 'class' | 'pinned' | 'alike'

export interface Placed extends HeadId {
  readonly x: number
  readonly y: number
}

export interface Arrangement {
  readonly order: Order
  readonly placed: readonly Placed[]
  readonly headings: readonly { readonly text: string; readonly y: number }[]
  readonly width: number
  readonly height: number
}

export interface Group {
  readonly title: string
  readonly heads: readonly HeadId[]
}

const HEADING = 20

/** Layers upwards, heads to the right. */
export function byLayers(spec: { n_layers: number; n_heads: number }, pitch: number): Arrangement {
  const { n_layers, n_heads } = spec
  return {
    order: 'layers',
    placed: range(n_layers * n_heads).map((i) => {
      const [layer, head] = [Math.floor(i / n_heads), i % n_heads]
      return { layer, head, x: head * pitch, y: (n_layers - 1 - layer) * pitch }
    }),
    headings: [],
    width: n_heads * pitch,
    height: n_layers * pitch,
  }
}

/** Groups below each other, each filled row by row within `width`. */
export function byGroups(order: Order, groups: readonly Group[], pitch: number, width: number): Arrangement {
  const columns = Math.max(1, Math.floor(width / pitch))
  const placed: Placed[] = []
  const headings: { text: string; y: number }[] = []
  let y = 0
  for (const { title, heads } of groups) {
    if (heads.length === 0) continue
    headings.push({ text: `${title} · ${heads.length}`, y })
    y += HEADING
    heads.forEach(({ layer, head }, i) => {
      placed.push({ layer, head, x: (i % columns) * pitch, y: y + Math.floor(i / columns) * pitch })
    })
    y += Math.ceil(heads.length / columns) * pitch + 6
  }
  return { order, placed, headings, width: columns * pitch, height: y }
}

/** Groups of an order. Heads that no filter keeps are not in them. */
export function groupsOf(
  order: Order,
  heads: readonly HeadScores[],
  score: string,
  pinned: readonly string[],
  thumbnails: Thumbnails | null = null,
): Group[] {
  const ranked = rankHeads(heads, score)
  if (order === 'pinned') {
    const on = new Set(pinned)
    return [
      { title: 'pinned', heads: ranked.filter((h) => on.has(headName(h))) },
      { title: 'others', heads: ranked.filter((h) => !on.has(headName(h))) },
    ]
  }
  if (order === 'alike' && thumbnails) return alikeGroups(thumbnails, ranked)
  if (order !== 'class') return [{ title: `by ${scoreLabel(score)}`, heads: ranked }]
  const classes = new Map<string, HeadScores[]>()
  for (const name of Object.keys(heads[0]?.scores ?? {})) classes.set(name, [])
  const rest: HeadScores[] = []
  for (const head of ranked) {
    const best = classOf(head)
    if (best === null) rest.push(head)
    else classes.get(best)!.push(head)
  }
  return [
    ...[...classes].map(([name, members]) => ({ title: scoreLabel(name), heads: rankHeads(members, name) })),
    { title: `none from ${CLASS_FROM} on`, heads: rest },
  ]
}

/** The tile that an arrow key leads to: the nearest one on that side, rows and columns before distance. */
export function neighbour(arrangement: Arrangement, from: HeadId | null, key: string): HeadId | null {
  const side = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key]
  if (!side) return null
  const { placed } = arrangement
  const at = from && placed.find((p) => p.layer === from.layer && p.head === from.head)
  if (!at) return placed[0] ?? null
  let best: Placed | null = null
  let least = Number.POSITIVE_INFINITY
  for (const p of placed) {
    const [dx, dy] = [p.x - at.x, p.y - at.y]
    const along = dx * side[0]! + dy * side[1]!
    if (along <= 0) continue
    const across = Math.abs(dx * side[1]!) + Math.abs(dy * side[0]!)
    const cost = side[0] ? along + across * 1e4 : along * 1e3 + across
    if (cost < least) [best, least] = [p, cost]
  }
  return best ?? at
}

/** The head under a point. */
export function headAt(arrangement: Arrangement, pitch: number, x: number, y: number): HeadId | null {
  const found = arrangement.placed.find((p) => x >= p.x && x < p.x + pitch && y >= p.y && y < p.y + pitch)
  return found ? { layer: found.layer, head: found.head } : null
}
