/** The sentence of everything that is wrong with a tokenizer file. In: the reason. Out: the error. */
import { HeadscopeError } from '../errors.ts'

/** @param why names the word or the key, and the rule */
export function badTokenizer(why: string): HeadscopeError {
  return new HeadscopeError('bad-checkpoint', `tokenizer.json: ${why}; download it again.`)
}
