/** What worker methods share: prompts of a request as ids, and ids as words. */
import type { TokenView } from '../../checkpoint/types.ts'
import { HeadscopeError } from '../../errors.ts'
import { decoderPrompt } from '../../run/decoder-prompt.ts'
import { resolveMetric } from '../../run/metrics.ts'
import type { Model } from '../../run/model.ts'
import { asOneText } from '../../run/one-text.ts'
import type { PromptInput, TokenGiven } from '../contract.ts'

/** Token ids of a prompt. Throws `bad-prompt` for an empty one. */
export function idsOf(model: Model, { text, ids, bos, specials }: PromptInput): number[] {
  const how = { ...(bos ? { bos } : {}), ...(specials ? { specials } : {}) }
  const found = ids ? [...ids] : model.encode(text ?? '', how)
  if (found.length > 0) return found
  throw new HeadscopeError('bad-prompt', 'The prompt is empty: type at least one token.')
}

/**
 * What an analysis of one text looks at: the model and the ids of the prompts; of an encoder–decoder the decoder over
 * the one source of the prompts. Throws as `idsOf`, and `bad-request` for several sources.
 */
export function oneText(model: Model, prompts: readonly PromptInput[]) {
  return asOneText(
    model,
    prompts.map((prompt) => {
      const { decoder } = prompt
      const own = decoder && (decoder.ids ?? decoderPrompt(model, decoder.text ?? ''))
      return { ids: idsOf(model, prompt), ...(own ? { decoder: own } : {}) }
    }),
  )
}

/** The id of a token that is given by id or text. Throws `bad-edit` for a text that is not one token. */
export function tokenOf(model: Model, given: TokenGiven): number {
  const { dVocab } = model.spec
  return resolveMetric({ kind: 'logit', answer: given }, [[0]], dVocab, model.tokenizer).answer!
}

/** Token views; without a tokenizer a token is its number. */
export function view(model: Model, ids: readonly number[]): TokenView[] {
  if (model.tokenizer) return model.tokenizer.view(ids)
  return ids.map((id) => ({ id, text: String(id), special: false, group: null }))
}

/** Views of ids, each on its own. */
export function words(model: Model, ids: readonly number[]): Record<number, TokenView> {
  return Object.fromEntries([...new Set(ids)].map((id) => [id, view(model, [id])[0]!]))
}
