/**
 * Classes of tokens for searches: punctuation, digits, capitalised words, spaces, or words that a person lists. In: a
 * tokenizer. Out: the ids of the class. Cost: one pass over the vocabulary.
 */
import { HeadscopeError } from '../errors.ts'
import type { Model } from '../run/model.ts'
import { ordinaryIds } from './sequences.ts'

const CLASSES = {
  punctuation: /^\s*[\p{P}\p{S}]+\s*$/u,
  digits: /^\s*\d+\s*$/,
  capitalised: /^\s*\p{Lu}\p{L}*$/u,
  letters: /^\s*\p{L}+$/u,
  whitespace: /^\s+$/,
} as const

export const TOKEN_CLASSES = Object.keys(CLASSES) as (keyof typeof CLASSES)[]

/** A class of tokens (one of TOKEN_CLASSES), words, or ids. */
export type TokenChoice =
  | { readonly class: string }
  | { readonly words: readonly string[] }
  | { readonly ids: readonly number[] }

/** The ids of a choice. Throws as `tokenClass`, and `bad-request` for an id that no token has. */
export function tokensOf(model: Pick<Model, 'tokenizer' | 'spec'>, choice: TokenChoice): Set<number> {
  if (!('ids' in choice)) return tokenClass(model, 'class' in choice ? choice.class : choice.words)
  const { dVocab } = model.spec
  const wrong = choice.ids.find((id) => !Number.isInteger(id) || id < 0 || id >= dVocab)
  if (wrong === undefined) return new Set(choice.ids)
  throw new HeadscopeError(
    'bad-request',
    `${wrong} is not a token id of this model; give whole numbers from 0 to ${dVocab - 1}.`,
  )
}

/**
 * Ids of a class: one of TOKEN_CLASSES, or the words of a list, each with and without a space in front, where that is
 * one token. Throws `bad-request` for a class that does not exist, or a list of which no word is one token.
 */
export function tokenClass(
  model: Pick<Model, 'tokenizer' | 'spec'>,
  wanted: string | readonly string[],
): Set<number> {
  const { tokenizer } = model
  if (!tokenizer)
    throw new HeadscopeError(
      'bad-request',
      'This checkpoint has no tokenizer, so its tokens have no classes; give token ids.',
    )
  if (typeof wanted === 'string') {
    if (!Object.hasOwn(CLASSES, wanted))
      throw new HeadscopeError(
        'bad-request',
        `There is no token class ${JSON.stringify(wanted)}; the classes are ${TOKEN_CLASSES.join(', ')}, or give a list of words.`,
      )
    const pattern = CLASSES[wanted as keyof typeof CLASSES]
    return new Set(ordinaryIds(model).filter((id) => pattern.test(tokenizer.decode([id]))))
  }
  const ids = wanted.flatMap((word) =>
    [word, ` ${word}`].flatMap((text) => {
      const encoded = tokenizer.encode(text, { bos: 'no' })
      return encoded.length === 1 && tokenizer.decode(encoded).trim() === word.trim() ? encoded : []
    }),
  )
  if (ids.length === 0)
    throw new HeadscopeError(
      'bad-request',
      `None of ${wanted.map((word) => JSON.stringify(word)).join(', ')} is one token of this vocabulary; choose shorter words.`,
    )
  return new Set(ids)
}
