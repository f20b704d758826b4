/** Checks of token ids before a run, and right-padding. */
import { HeadscopeError } from '../errors.ts'
import type { ModelSpec } from '../graph/model-spec.ts'

/**
 * One or more prompts, each a non-empty list of ids of this vocabulary. Throws `bad-prompt` naming the prompt and the
 * rule; returns warnings for prompts longer than the model was made for.
 */
export function checkPrompts(prompts: readonly (readonly number[])[], spec: ModelSpec): string[] {
  if (prompts.length === 0)
    throw new HeadscopeError('bad-prompt', 'There is no prompt; give at least one token.')
  const warnings: string[] = []
  prompts.forEach((ids, item) => {
    const which = prompts.length > 1 ? `Prompt ${item}` : 'The prompt'
    if (ids.length === 0)
      throw new HeadscopeError('bad-prompt', `${which} is empty; give at least one token.`)
    const bad = ids.find((id) => !Number.isInteger(id) || id < 0 || id >= spec.dVocab)
    if (bad !== undefined)
      throw new HeadscopeError(
        'bad-prompt',
        `${which} holds the id ${bad}, but ids of this model are whole numbers from 0 to ${spec.dVocab - 1}.`,
      )
    if (ids.length > spec.nCtx) {
      if (spec.positional === 'learned')
        throw new HeadscopeError(
          'bad-prompt',
          `${which} has ${ids.length} tokens, but the position table of this model has ${spec.nCtx} rows; shorten it to ${spec.nCtx} tokens.`,
        )
      warnings.push(
        `${which} has ${ids.length} tokens, more than the ${spec.nCtx} (max_position_embeddings) that the model was trained for.`,
      )
    }
  })
  return warnings
}

/**
 * Token types, one list a prompt. Throws `bad-prompt` where the model knows none, or a list does not fit its prompt.
 */
export function checkTokenTypes(
  types: readonly (readonly number[])[] | undefined,
  prompts: readonly (readonly number[])[],
  spec: ModelSpec,
): void {
  if (!types) return
  const { tokenTypes } = spec
  if (tokenTypes === null)
    throw new HeadscopeError(
      'bad-prompt',
      `Models of the family ${spec.family} know no token types; leave them out.`,
    )
  if (types.length !== prompts.length)
    throw new HeadscopeError(
      'bad-prompt',
      `There are ${prompts.length} prompts, but token types for ${types.length}; give one list for each prompt.`,
    )
  types.forEach((list, item) => {
    const length = prompts[item]!.length
    if (list.length !== length)
      throw new HeadscopeError(
        'bad-prompt',
        `Prompt ${item} has ${length} tokens, but ${list.length} token types; give one for each token.`,
      )
    const bad = list.find((type) => !Number.isInteger(type) || type < 0 || type >= tokenTypes)
    if (bad !== undefined)
      throw new HeadscopeError(
        'bad-prompt',
        `The token type ${bad} of prompt ${item} is not a whole number from 0 to ${tokenTypes - 1}.`,
      )
  })
}

/** [batch][longest], each filled up with 0 at its end. */
export function rightPad(prompts: readonly (readonly number[])[]): number[][] {
  const longest = Math.max(...prompts.map((ids) => ids.length))
  return prompts.map((ids) => [...ids, ...new Array<number>(longest - ids.length).fill(0)])
}
