/**
 * What a pattern becomes before it is drawn: weighted by the lengths of values, or cut to the keys that hold most of
 * each row. In: a stored pattern, norms by key, a share of the mass, the BOS mode. Out: a pattern of float32 whose cells
 * that are left out are NaN, with the end of its scale. The stored pattern stays as it is. Pure; one pass over the cells
 * (about 5 ms at 1,024 tokens), and a sort of each row where mass is asked for. Kept for the last patterns.
 */
import { HALF, type Pattern, rowStart } from '../api/pattern.ts'
import type { BosMode } from '../state/selection.ts'
import { renormalisation } from './pattern-pixels.ts'

export interface Derivation {
  /** Length of what each key brings; null: cells are weights. */
  readonly norms: readonly (number | null)[] | null
  /** Keep the fewest keys of each row that together hold this share of it, 0 to 1; null: all. */
  readonly mass: number | null
  readonly bos: BosMode
}

const kept = new WeakMap<Pattern, { of: Derivation; made: Pattern }>()

/** The pattern as it is asked for; the stored one itself where nothing is asked. */
export function derivePattern(pattern: Pattern, of: Derivation): Pattern {
  if (of.norms === null && of.mass === null) return pattern
  const found = kept.get(pattern)
  if (found && found.of.norms === of.norms && found.of.mass === of.mass && found.of.bos === of.bos)
    return found.made
  const made = derived(pattern, of)
  kept.set(pattern, { of, made })
  return made
}

/** How the first token of a derived pattern is drawn: renormalising is in its numbers already. */
export function bosOfDerived({ norms, mass, bos }: Derivation): BosMode {
  return (norms !== null || mass !== null) && bos === 'renormalise' ? 'hide' : bos
}

/** Two patterns on one scale, so that a colour and a bar mean the same in both; as they are where they have one already. */
export function onOneScale(a: Pattern, b: Pattern): readonly [Pattern, Pattern] {
  const most = Math.max(a.most ?? 1, b.most ?? 1)
  return [scaled(a, most), scaled(b, most)]
}

// --- Internal helpers ---

const rescaled = new WeakMap<Pattern, Pattern>()

function scaled(pattern: Pattern, most: number): Pattern {
  if ((pattern.most ?? 1) === most) return pattern
  const known = rescaled.get(pattern)
  if (known?.most === most) return known
  const made = { ...pattern, most }
  rescaled.set(pattern, made)
  return made
}

function derived(pattern: Pattern, { norms, mass, bos }: Derivation): Pattern {
  const { size, layout, data } = pattern
  const out = new Float32Array(data.length)
  const half = data instanceof Uint16Array
  const first = bos === 'show' ? 0 : 1
  let most = 0
  for (let query = 0; query < size; query++) {
    const start = rowStart(pattern, query)
    const last = layout === 'tri' ? query : size - 1
    const scale = bos === 'renormalise' ? (renormalisation(pattern, query) ?? Number.NaN) : 1
    if (first === 1) out[start] = Number.NaN
    for (let key = first; key <= last; key++) {
      const raw = data[start + key]!
      out[start + key] = (half ? HALF[raw]! : raw) * scale * (norms ? (norms[key] ?? Number.NaN) : 1)
    }
    const row = out.subarray(start + first, start + last + 1)
    if (mass !== null) keepMass(row, mass)
    for (const value of row) if (value > most) most = value
  }
  return { size, layout, data: out, most: norms === null ? 1 : most }
}

/** Leaves the fewest largest values of a row that hold `share` of its sum; the others become NaN. */
function keepMass(row: Float32Array, share: number): void {
  let sum = 0
  for (const value of row) if (value > 0) sum += value
  const falling = Float32Array.from(row).sort().reverse() // NaN sorts to the end, so it comes first here
  let held = 0
  let least = Number.POSITIVE_INFINITY
  for (const value of falling) {
    if (Number.isNaN(value)) continue
    if (held >= share * sum - 1e-9) break
    held += value
    least = value
  }
  for (let i = 0; i < row.length; i++) if (!(row[i]! >= least) || row[i] === 0) row[i] = Number.NaN
}
