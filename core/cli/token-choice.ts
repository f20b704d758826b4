/** A kind of token on the command line. In: `punctuation`, `said,told` or `#42,#7`. Out: a choice for the analyses. */
import { TOKEN_CLASSES, type TokenChoice } from '../analysis/token-classes.ts'
import { UsageError } from './command.ts'

/** What --help says about it. */
export const CHOICE_HELP = `a class (${TOKEN_CLASSES.join(', ')}), words with commas, or ids as #42,#7`

/** Throws UsageError for an empty one. */
export function tokenChoice(text: string, option: string): TokenChoice {
  const parts = text.split(',').filter((part) => part.trim() !== '')
  if (parts.length === 0) throw new UsageError(`--${option} is empty: give ${CHOICE_HELP}`)
  if (TOKEN_CLASSES.some((name) => name === text.trim())) return { class: text.trim() }
  if (parts.every((part) => /^\s*#\d+\s*$/.test(part)))
    return { ids: parts.map((part) => Number(part.trim().slice(1))) }
  return { words: parts }
}
