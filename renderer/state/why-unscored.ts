/** Which models have heads without scores. In: what a model is. Out: a sentence. Pure. */
import type { SpecSummary } from '../../core/api/contract.ts'

/** Why the heads of a model have no scores; null where they can be scored. */
export function whyUnscored({ causal, encoder }: Pick<SpecSummary, 'causal' | 'encoder'>): string | null {
  if (encoder)
    return 'Scores are defined on one text that repeats, and this model reads one with its encoder and another with its decoder.'
  return causal === false
    ? 'Scores assume that a query sees only what is before it, and this model is bidirectional.'
    : null
}
