/**
 * Added tokens in a text.
 * In: the tokens of tokenizer.json with their flags. Out: a function that cuts a text into their ids and the plain
 * stretches between, normalized. Tokens that are not `normalized` are looked for first, in the text as it is given.
 */

export interface AddedForm {
  readonly id: number
  readonly content: string
  /** Looked for in the normalized text. */
  readonly normalized: boolean
  /** Takes the white space before it, or after it. */
  readonly lstrip: boolean
  readonly rstrip: boolean
  /** Only where no word character touches it. */
  readonly singleWord: boolean
}

/** An added token, or plain text with its place among the pieces that the first cut gave. */
export type Section = number | { readonly text: string; readonly index: number }

/** @param normalize the tokenizer's normalizer */
export function createSections(
  tokens: readonly AddedForm[],
  normalize: (text: string) => string,
): (text: string) => Section[] {
  const raw = createCut(tokens.filter((token) => !token.normalized))
  const later = createCut(
    tokens
      .filter((token) => token.normalized)
      .map((token) => ({ ...token, content: normalize(token.content) })),
  )
  return (text) =>
    raw(text).flatMap((piece, index): Section[] => {
      if (typeof piece !== 'string') return [piece.id]
      return later(normalize(piece)).flatMap((part): Section[] => {
        if (typeof part !== 'string') return [part.id]
        return part === '' ? [] : [{ text: part, index }]
      })
    })
}

/** Cuts at the leftmost token, the longest of those that begin there. */
function createCut(tokens: readonly AddedForm[]): (text: string) => (string | AddedForm)[] {
  const known = new Map(tokens.filter(({ content }) => content !== '').map((token) => [token.content, token]))
  if (known.size === 0) return (text) => [text]
  const longestFirst = [...known.keys()].sort((a, b) => b.length - a.length)
  const pattern = new RegExp(longestFirst.map(escapePattern).join('|'), 'gu')
  return (text) => {
    const pieces: (string | AddedForm)[] = []
    let at = 0
    for (const found of text.matchAll(pattern)) {
      const token = known.get(found[0])!
      const end = found.index + found[0].length
      if (found.index < at || (token.singleWord && touchesWord(text, found.index, end))) continue
      const before = text.slice(at, found.index)
      const kept = token.lstrip ? before.replace(/\p{White_Space}+$/u, '') : before
      if (kept !== '') pieces.push(kept)
      pieces.push(token)
      const spaces = token.rstrip ? /^\p{White_Space}+/u.exec(text.slice(end))?.[0].length : 0
      at = end + (spaces ?? 0)
    }
    if (at < text.length) pieces.push(text.slice(at))
    return pieces
  }
}

function touchesWord(text: string, start: number, end: number): boolean {
  const word = '[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}]'
  return (
    new RegExp(`${word}$`, 'u').test(text.slice(Math.max(0, start - 2), start)) ||
    new RegExp(`^${word}`, 'u').test(text.slice(end, end + 2))
  )
}

/** A text as a pattern that finds just it. */
export function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}
