/**
 * Bars of an attribution. In: components, and what each head brings from each source. Out: parts by head and MLP, by
 * layer, or by source position, in order or by size, few enough to read. All of them have one sum. Pure.
 */
import type { DlaComponent, DlaSource } from '../../../core/analysis/dla.ts'
import type { HeadId } from '../../state/selection.ts'

export interface Part {
  readonly name: string
  readonly value: number
  readonly head: HeadId | null
  /** The position that the heads read it from. */
  readonly source?: number
}

/** More bars than this are not read: the smallest are one bar, so that the sum stays. */
export const MOST_PARTS = 90

export function partsOf(
  components: readonly DlaComponent[],
  by: 'part' | 'layer',
  order: 'depth' | 'size',
): Part[] {
  return shorter(by === 'layer' ? layers(components) : components.map(partOf), order)
}

/**
 * What all heads together bring from each position, and beside it what does not pass through a head: the embedding at the
 * answer's own position, MLPs, biases. `words` are the tokens of the prompt.
 */
export function partsBySource(
  components: readonly DlaComponent[],
  sources: readonly DlaSource[],
  words: readonly string[],
  order: 'depth' | 'size',
): Part[] {
  const length = sources[0]?.values.length ?? 0
  const brought = Array.from({ length }, (_, i) =>
    sources.reduce((total, { values }) => total + (values[i] ?? 0), 0),
  )
  const groups = new Map<string, number>()
  let heads = 0
  for (const { name, head, value } of components) {
    if (head !== null) heads += value
    else {
      const group = / mlp$/.test(name) ? 'MLPs' : / b_O$| bias$/.test(name) ? 'biases' : name
      groups.set(group, (groups.get(group) ?? 0) + value)
    }
  }
  // Where an edit acts on what heads mix, they no longer write what they read.
  const rest = heads - brought.reduce((total, value) => total + value, 0)
  const scale = brought.reduce((total, value) => total + Math.abs(value), 0)
  if (Math.abs(rest) > 1e-4 * Math.max(1e-3, scale)) groups.set('edited heads', rest)
  const late = ['MLPs', 'biases', 'edited heads']
  const plain = (name: string): Part => ({ name, value: groups.get(name) ?? 0, head: null })
  return shorter(
    [
      ...[...groups.keys()].filter((name) => !late.includes(name)).map(plain),
      ...brought.map((value, i) => ({ name: `${i} ${words[i] ?? ''}`, value, head: null, source: i })),
      ...late.filter((name) => groups.has(name)).map(plain),
    ],
    order,
  )
}

// --- Internal helpers ---

/** The largest, in their order or by size; the others as one bar. */
function shorter(parts: readonly Part[], order: 'depth' | 'size'): Part[] {
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
