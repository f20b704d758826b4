/** What to say of a prompt longer than a model was made for. In: a count of tokens and the model. Out: a sentence. Pure. */
import type { SpecSummary } from '../../core/api/contract.ts'

/**
 * Why a prompt of so many tokens is too long; null where it is not. A learned table of positions ends there, and a run says
 * so itself; others go on, with what they were never trained on.
 */
export function lengthWarning(
  tokens: number,
  { n_ctx, positional, family }: Pick<SpecSummary, 'n_ctx' | 'positional' | 'family'>,
): string | null {
  if (family === 'onnx' || n_ctx <= 0 || tokens <= n_ctx) return null
  const more = `${tokens} tokens are more than the ${n_ctx} positions`
  return positional === 'learned'
    ? `${more} of this model's table: a run is refused.`
    : `${more} this model was made for: beyond them its numbers mean little.`
}
