/**
 * The heads of a comparison that are worth a picture, with their patterns in both checkpoints. In: two models and what
 * comparing them gave. Out: patterns on the first compared text, the largest change first. Costs one run of each model.
 */
import { blockHook } from '../graph/hook-names.ts'
import type { Model } from '../run/model.ts'
import type { PatternDifference } from './patterns.ts'
import type { Comparison, HeadPlace } from './types.ts'

export interface MostChangedOptions {
  /** Heads, at most; default 6. */
  readonly heads?: number
  /** Tokens of the text, at most; default 96: each row can then be told apart. */
  readonly tokens?: number
  readonly signal?: AbortSignal
}

/**
 * Heads whose scores moved beyond the noise first, then those whose patterns are farthest apart; heads that are alike are
 * left out. Empty where the two have no heads in common places or no text in common.
 */
export async function mostChangedPatterns(
  a: Model,
  b: Model,
  { heads, moved, prediction }: Pick<Comparison, 'heads' | 'moved' | 'prediction'>,
  { heads: most = 6, tokens = 96, signal }: MostChangedOptions = {},
): Promise<(HeadPlace & { readonly pattern: PatternDifference })[]> {
  const ids = prediction.prompts[0]?.ids.slice(0, tokens)
  if (!ids) return []
  const places = mostChangedHeads(heads, moved).slice(0, most)
  if (places.length === 0) return []
  const capture = [...new Set(places.map(({ layer }) => blockHook(layer, 'attn.hook_pattern')))]
  const options = { capture, top: 0, ...(signal ? { signal } : {}) }
  const [inA, inB] = [await a.run([...ids], options), await b.run([...ids], options)]
  const size = ids.length * ids.length
  return places.map(({ layer, head }) => {
    const [of, than] = [inB, inA].map((run) =>
      run.get(blockHook(layer, 'attn.hook_pattern')).data.slice(head * size, (head + 1) * size),
    ) as [Float32Array, Float32Array]
    const pattern = { length: ids.length, a: than, b: of, difference: of.map((value, i) => value - than[i]!) }
    return { layer, head, pattern }
  })
}

/** The order of `mostChangedPatterns`: each head once. */
export function mostChangedHeads(
  heads: Comparison['heads'],
  moved: readonly HeadPlace[],
): readonly HeadPlace[] {
  const apart = heads
    .filter(({ pattern_distance: distance }) => (distance ?? 0) > 0)
    .sort((x, y) => (y.pattern_distance ?? 0) - (x.pattern_distance ?? 0))
  const seen = new Set<string>()
  return [...moved, ...apart].flatMap(({ layer, head }) => {
    const key = `${layer}.${head}`
    if (seen.has(key)) return []
    seen.add(key)
    return [{ layer, head }]
  })
}
