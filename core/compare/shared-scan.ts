/**
 * Two models scored on the same random sequences. In: both models, how they differ in vocabulary. Out: their scores with
 * the values behind them, sequence by sequence; or a sentence why there are none. Cost: one scan of each.
 */
import { type ScanOptions, scanHeads } from '../analysis/scan.ts'
import { fittingLength, ordinaryIds, randomRepeats } from '../analysis/sequences.ts'
import type { HeadScores } from '../analysis/types.ts'
import type { Model } from '../run/model.ts'
import type { CompareOptions } from './compare.ts'
import type { VocabularyDifference } from './types.ts'
import { sharedIds } from './vocabulary.ts'

export interface BothScans {
  readonly a: readonly HeadScores[]
  readonly b: readonly HeadScores[]
  readonly definitions: Readonly<Record<string, string>>
  readonly names: readonly string[]
  /** Values by `layer head score`, one a sequence. */
  readonly valuesA: ReadonlyMap<string, readonly number[]>
  readonly valuesB: ReadonlyMap<string, readonly number[]>
  readonly warnings: readonly string[]
}

/** Both models scanned on the same sequences, or a sentence why not. */
export async function bothScans(
  a: Model,
  b: Model,
  vocabulary: VocabularyDifference,
  options: CompareOptions,
  report: (done: number) => void,
): Promise<BothScans | string> {
  const { batch = 32, seed = 1 } = options
  const shared = vocabulary.same ? null : new Set(sharedIds(a, b))
  const needed = options.length ?? 2
  if (shared && shared.size < needed)
    return `Scores are not compared: a sequence of ${needed} different tokens needs as many that both vocabularies share, and there are ${shared.size}.`
  const bosId = a.tokenizer?.bosId ?? null
  const sameBos = !b.tokenizer || bosId === b.tokenizer.bosId
  const bos = options.bos ?? ((a.tokenizer?.addsBos ?? false) && sameBos)
  const special = new Set([...(a.tokenizer?.specialIds ?? []), ...(b.tokenizer?.specialIds ?? [])])
  if (shared) for (let id = 0; id < a.spec.dVocab; id++) if (!shared.has(id)) special.add(id)
  const source = {
    spec: a.spec,
    tokenizer: withSpecial(a.tokenizer ?? b.tokenizer, special),
  }
  const { length, note } =
    options.length === undefined
      ? fittingLength([a, b], ordinaryIds(source).length, bos)
      : { length: options.length, note: null }
  const sequences = randomRepeats(source, { length, batch, seed, bos }).ids
  const scan = async (model: Model, before: number) => {
    const values = new Map<string, readonly number[]>()
    const settings: ScanOptions = {
      sequences,
      ...(options.scores ? { scores: options.scores } : {}),
      ...(options.signal ? { signal: options.signal } : {}),
      onValues: (score, layer, head, list) => values.set(`${layer} ${head} ${score}`, list),
      onProgress: ({ done, total }) => report(before + (batch * done) / total),
    }
    return { result: await scanHeads(model, settings), values }
  }
  const inA = await scan(a, 0)
  const inB = await scan(b, batch)
  return {
    a: inA.result.heads,
    b: inB.result.heads,
    definitions: inA.result.definitions,
    names: inA.result.settings.scores,
    valuesA: inA.values,
    valuesB: inB.values,
    warnings: [...(note === null ? [] : [note]), ...inA.result.warnings, ...inB.result.warnings],
  }
}

// --- Internal helpers ---

/** A tokenizer of which these ids are never drawn. */
function withSpecial(tokenizer: Model['tokenizer'], specialIds: ReadonlySet<number>): Model['tokenizer'] {
  return tokenizer ? { ...tokenizer, specialIds } : null
}
