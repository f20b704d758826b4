/** Does the key/value cache give what one uncached pass gives? Costs one forward over prompt and new tokens. */

import type { Generated } from '../run/generate.ts'
import type { Model } from '../run/model.ts'
import { dependsOnLength } from '../run/rope-tables.ts'
import type { Edit, RunOptions } from '../run/types.ts'

/**
 * Largest difference of a log-probability, nats, as a share of the largest logit (at least 1): one row takes another
 * kernel than many, and float32 noise grows with the logits.
 */
export const CACHE_TOLERANCE = 1e-4

export interface CacheCheck {
  readonly cached_equals_uncached: boolean | null
  readonly why?: string
}

/** Compares the log-probabilities of the new tokens; null where there is no single pass to compare with. */
export async function cacheCheck(
  model: Model,
  { promptIds, sourceIds, ids, logProbs }: Pick<Generated, 'promptIds' | 'sourceIds' | 'ids' | 'logProbs'>,
  edits: readonly Edit[],
  options: Pick<RunOptions, 'signal' | 'openRun'>,
): Promise<CacheCheck> {
  const none = (why: string) => ({ cached_equals_uncached: null, why })
  if (ids.length === 0) return none('no token was generated')
  if (model.spec.ropes.some(dependsOnLength))
    return none('the rotary table of this model changes with the length, so each step has a pass of its own')
  if (edits.some(({ pos, query, key }) => [pos, query, key].some((place) => place !== undefined)))
    return none('positions of an edit count within the prompt, which one pass over everything cannot say')
  const whole = [...promptIds, ...ids]
  const plain = { ...options, edits, top: 1 }
  const run = sourceIds
    ? await model.run(sourceIds, { ...plain, decoderIds: [whole] })
    : await model.run(whole, plain)
  const positions = run.items[0]!.positions.slice(promptIds.length - 1, -1)
  const losses = positions.map(({ loss }) => loss)
  const largest = positions.reduce((most, { top }) => Math.max(most, Math.abs(top[0]?.logit ?? 0)), 1)
  const equal =
    losses.length === ids.length &&
    losses.every((loss, i) => loss !== null && Math.abs(-loss - logProbs[i]!) <= CACHE_TOLERANCE * largest)
  return { cached_equals_uncached: equal }
}
