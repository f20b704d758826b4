/** Bars of an attribution. In: components. Out: parts by head and MLP or by layer, in depth or by size, few enough to read. Pure. */
import type { DlaComponent } from '../../../core/analysis/dla.ts'
import type { HeadId } from '../../state/selection.ts'

export interface Part {
  readonly name: string
  readonly value: number
  readonly head: HeadId | null
}

/** More bars than this are not read: the smallest are one bar, so that the sum stays. */
export const MOST_PARTS = 90

export function partsOf(
  components: readonly DlaComponent[],
  by: 'part' | 'layer',
  order: 'depth' | 'size',
): Part[] {
  const parts = by === 'layer' ? layers(components) : components.map(partOf)
  const kept = [...parts].sort((a, b) => Math.abs(b.value) - Math.abs(a.value)).slice(0, MOST_PARTS)
  const shown = order === 'size' ? kept : parts.filter((part) => kept.includes(part))
  const rest = parts.filter((part) => !kept.includes(part))
  if (rest.length === 0) return shown
  const sum = rest.reduce((total, part) => total + part.value, 0)
  return [...shown, { name: `${rest.length} smaller`, value: sum, head: null }]
}

function partOf({ name, value, layer, head }: DlaComponent): Part {
  return { name, value, head: layer !== null && head !== null ? { layer, head } : null }
}

function layers(components: readonly DlaComponent[]): Part[] {
  const sums = new Map<string, number>()
  for (const { name, layer, value } of components) {
    const of = layer === null ? name : `layer ${layer}`
    sums.set(of, (sums.get(of) ?? 0) + value)
  }
  return [...sums].map(([name, value]) => ({ name, value, head: null }))
}
