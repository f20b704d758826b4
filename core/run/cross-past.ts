/**
 * Keys and values of the encoder's text, kept from the first rows of a pass for all later ones. In: the pass and what a
 * block has met. Out: what to feed, what to fetch. Costs 8 · layers · kv_heads · d_head · source bytes while it is kept.
 */
import { CROSS_PAST, mayReadPast, readingPast } from '../graph/cross-attention.ts'
import type { Variant } from './engine.ts'
import type { KeyValues, Pass } from './pass.ts'
import type { Stage } from './segments.ts'
import { asFloats, type FetchedTensor } from './session.ts'

const CROSS_READER: Variant = { key: 'past text', onPath: [], transform: readingPast }

/**
 * How a block meets the encoder's text: with keys and values that are there, or with its own, which it then hands out
 * for the next rows. `touched` are the hooks that the pass captures or edits in this block.
 */
export function crossPastOf(pass: Pass, stage: Stage, past: KeyValues, touched: readonly string[]) {
  const { cross } = past
  if (!pass.source?.memory || stage.embed !== 'embed')
    return { feeds: [], outputs: [], variant: null, taken: () => undefined }
  if (cross && !pass.saving && mayReadPast(touched))
    return {
      feeds: CROSS_PAST.map(({ input, part }) => [input, cross[part]] as const),
      outputs: [],
      variant: CROSS_READER,
      taken: () => cross,
    }
  return {
    feeds: [],
    outputs: CROSS_PAST.map(({ result }) => result),
    variant: null,
    taken: (outputs: ReadonlyMap<string, FetchedTensor>) => ({
      k: asFloats(outputs.get(CROSS_PAST[0].result)!),
      v: asFloats(outputs.get(CROSS_PAST[1].result)!),
    }),
  }
}
