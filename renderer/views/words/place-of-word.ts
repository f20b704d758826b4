/** Where a word stands in tokens. In: token views, a word. Out: the position of the token that ends its last place. Pure. */
import type { TokenView } from '../../../core/checkpoint/types.ts'

/** null where the word is not there. A dot before a token is the space that it carries. */
export function placeOfWord(tokens: readonly TokenView[], word: string): number | null {
  const wanted = word.trim()
  if (wanted === '') return null
  let text = ''
  const ends = tokens.map((token) => {
    text += token.special ? '' : token.text.replaceAll('·', ' ')
    return text.length
  })
  const at = text.lastIndexOf(wanted)
  if (at < 0) return null
  const place = ends.findIndex((end) => end >= at + wanted.length)
  return place < 0 ? null : place
}
