/**
 * Cells of the residual stream by name: which prompt, which block border, which position. In: what stands in the address.
 * Out: cells, what a cell can reach, and which cells of two lenses say something else. Pure.
 */
import type { Lens } from '../../../core/analysis/lens.ts'

export type Side = 'this' | 'other'

export interface Place {
  /** 0: what enters block 0 … layers: the end. */
  readonly border: number
  readonly pos: number
}

export interface CellRef extends Place {
  readonly side: Side
}

/** Borders, and tokens of each prompt. */
export interface Limits {
  readonly borders: number
  readonly lengths: Readonly<Record<Side, number>>
}

/** `t2.36`: border 2, position 36 of this prompt; `o…` of the other one. */
export function formatCell({ side, border, pos }: CellRef): string {
  return `${side === 'this' ? 't' : 'o'}${border}.${pos}`
}

/** Reads formatCell; null where there is no such cell. */
export function parseCell(text: string, { borders, lengths }: Limits): CellRef | null {
  const match = /^([to])(\d{1,6})\.(\d{1,7})$/.exec(text)
  if (!match) return null
  const side = match[1] === 't' ? 'this' : 'other'
  const [border, pos] = [Number(match[2]), Number(match[3])]
  return border < borders && pos < lengths[side] ? { side, border, pos } : null
}

/** A residual that is carried: from one cell into another. */
export interface Carry {
  readonly from: CellRef
  readonly to: CellRef
}

export function formatCarry({ from, to }: Carry): string {
  return `${formatCell(from)}-${formatCell(to)}`
}

export function parseCarry(text: string, limits: Limits): Carry | null {
  const [a, b] = text.split('-')
  const from = parseCell(a ?? '', limits)
  const to = parseCell(b ?? '', limits)
  return from && to ? { from, to } : null
}

export function samePlace(a: Place | null, b: Place | null): boolean {
  return a !== null && b !== null && a.border === b.border && a.pos === b.pos
}

/** Whether a change of one cell can change another: itself, and above it, from its position on (or everywhere). */
export function reaches(from: Place, at: Place, causal: boolean): boolean {
  return samePlace(from, at) || (at.border > from.border && (!causal || at.pos >= from.pos))
}

/** Places of `now` whose likeliest token is not that of `base`. */
export function changedPlaces(base: Lens, now: Lens): ReadonlySet<string> {
  const said = new Map(
    base.layers.flatMap(({ layer, positions }) =>
      positions.map(({ pos, top }) => [placeName({ border: layer, pos }), top[0]?.id] as const),
    ),
  )
  return new Set(
    now.layers.flatMap(({ layer, positions }) =>
      positions.flatMap(({ pos, top }) => {
        const name = placeName({ border: layer, pos })
        return said.has(name) && said.get(name) !== top[0]?.id ? [name] : []
      }),
    ),
  )
}

export function placeName({ border, pos }: Place): string {
  return `${border}.${pos}`
}

/** `L3 · 7`, `in · 0`, `end · 12`. */
export function borderName(border: number, last: number): string {
  return border === last ? 'end' : border === 0 ? 'in' : `L${border}`
}
