/** The end of a difference's colour scale, kept for the last few pairs. */
import type { Pattern } from '../../api/pattern.ts'
import { paintDifference } from '../../charts/difference-pixels.ts'
import type { Display } from '../../charts/pattern-pixels.ts'

const known = new WeakMap<Pattern, { before: Pattern; bos: string; most: number }>()

export function largestDifference(before: Pattern, after: Pattern, display: Display): number {
  const found = known.get(after)
  if (found?.before === before && found.bos === display.bos) return found.most
  const { most } = paintDifference(before, after, display, after.size)
  known.set(after, { before, bos: display.bos, most })
  return most
}
