/** Tokens of a text itself, without what a tokenizer puts before and after (T5, BART and BERT end a text). */
import type { Tokenizer } from '../checkpoint/types.ts'

/** A text that is a special token on its own stays that token. */
export function plainIds(tokenizer: Tokenizer, text: string): number[] {
  const ids = tokenizer.encode(text, { bos: 'no' })
  const special = (id: number) => tokenizer.specialIds.has(id)
  const first = ids.findIndex((id) => !special(id))
  if (first < 0) return ids.slice(0, 1)
  return ids.slice(first, ids.findLastIndex((id) => !special(id)) + 1)
}
