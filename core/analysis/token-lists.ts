/** Lists of words that scores need as single tokens, and which of them this tokenizer has. */
import type { Model } from '../run/model.ts'

/** Ordinal classes: each word is followed by the next. */
export const ORDINALS: readonly (readonly string[])[] = [
  ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'],
  [
    'January',
    'February',
    'March',
    'April',
    'May',
    'June',
    'July',
    'August',
    'September',
    'October',
    'November',
    'December',
  ],
  ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve'],
  ['first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth', 'tenth'],
  Array.from({ length: 30 }, (_, i) => String(i + 1)),
  [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'],
]

/** First names, as in the prompts of Wang et al. 2022. */
export const NAMES: readonly string[] = (
  'Michael Christopher Jessica Matthew Ashley Jennifer Joshua Amanda Daniel David James Robert John Joseph Andrew ' +
  'Ryan Brandon Jason Justin Sarah William Jonathan Stephanie Brian Nicole Nicholas Anthony Heather Eric Elizabeth ' +
  'Adam Megan Melissa Kevin Steven Thomas Timothy Christina Kyle Rachel Laura Lauren Amber Brittany Danielle Richard ' +
  'Kimberly Jeffrey Amy Crystal Michelle Tiffany Jeremy Benjamin Mark Emily Aaron Charles Rebecca Jacob Stephen ' +
  'Patrick Sean Erin Kelly Mary Paul Peter Alice George Henry Anna Tom Jack Jane'
).split(' ')

/** The word's token, with a space in front or else without; null where neither is one token. */
export function wordToken({ tokenizer }: Pick<Model, 'tokenizer'>, word: string): number | null {
  if (!tokenizer) return null
  for (const text of [` ${word}`, word]) {
    const ids = tokenizer.encode(text, { bos: 'no' })
    // A tokenizer that does not know a word gives its unknown token, which is no word.
    if (ids.length === 1 && tokenizer.decode(ids).trim() === word) return ids[0]!
  }
  return null
}
