/** Eigenvalue copying of every head from the weights alone, [layer][head], as the scan has it. */
import type { Model } from '../run/model.ts'
import { createHeadMaps } from './head-maps.ts'
import { copying } from './scores/copying.ts'
import type { Score } from './types.ts'

const NONE = 'this score reads weights alone'

/** Undefined scores are null with a `why`. */
export async function copyingScores(
  model: Model,
  signal?: AbortSignal,
): Promise<{ readonly definition: string; readonly heads: readonly (readonly Score[])[] }> {
  const maps = createHeadMaps(model.engine())
  return {
    definition: copying.definition,
    heads: await copying.heads({ model, maps, seed: 1, sequences: () => NONE, prompts: [], signal }),
  }
}
