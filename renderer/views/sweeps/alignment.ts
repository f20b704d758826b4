/** Two prompts token over token. In: their views. Out: where they differ, or why they cannot be aligned. Pure. */
import type { TokenView } from '../../../core/checkpoint/types.ts'

export interface Alignment {
  readonly differing: readonly number[]
  readonly problem: string | null
}

/** `together`: nothing else tells the two apart, as another source would. */
export function align(
  clean: readonly TokenView[],
  corrupt: readonly TokenView[],
  together = true,
): Alignment {
  if (corrupt.length === 0) return { differing: [], problem: null }
  const longest = Math.max(clean.length, corrupt.length)
  const differing = Array.from({ length: longest }, (_, i) => i).filter(
    (i) => clean[i]?.id !== corrupt[i]?.id,
  )
  if (clean.length !== corrupt.length)
    return {
      differing,
      problem: `Clean has ${clean.length} tokens and corrupt ${corrupt.length}: patching needs equally many, so that each position has one counterpart.`,
    }
  if (differing.length === 0 && together)
    return { differing, problem: 'The two prompts are the same: change a token of corrupt.' }
  return { differing, problem: null }
}
