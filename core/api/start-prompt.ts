/**
 * Where a fresh app begins. In: a text. Out: its first clause twice, so that every token of the second copy has an
 * earlier A → B to attend to. Costs nothing.
 */

/** Longest clause that is taken, in characters: short enough to read its pattern at a glance. */
const LONGEST = 72

/** A prompt "A B … A B …" from the opening of `text`, or null when it has no words. */
export function repeatedOpening(text: string): string | null {
  const clean = text.trim().replace(/\s+/g, ' ')
  const clause = /^[^.,;:!?]+/.exec(clean)?.[0] ?? clean
  const words = clause.split(' ')
  while (words.length > 1 && words.join(' ').length > LONGEST) words.pop()
  const opening = words.join(' ').slice(0, LONGEST)
  return /\w/.test(opening) ? `${opening}. ${opening}` : null
}
