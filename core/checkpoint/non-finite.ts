/** Weights that are not finite, in words. In: the result of the background pass. Out: one sentence per finding. */
import { shorten } from './json.ts'
import type { ContentHash } from './types.ts'

/** Sentences such as "The tensor wte.weight holds NaN at 1 place: …". At most six. */
export function nonFiniteWarnings({ nonFinite }: Pick<ContentHash, 'nonFinite'>): string[] {
  const shown = nonFinite.slice(0, 5).map(({ tensor, kind, count }) => {
    const places = count === 1 ? '1 place' : `${count} places`
    return `The tensor ${shorten(tensor)} holds ${kind} at ${places}: what is computed from it is not a number.`
  })
  const rest = nonFinite.length - shown.length
  return rest > 0 ? [...shown, `${rest} more tensors hold NaN or Inf.`] : shown
}
