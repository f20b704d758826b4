/** What a reproduced request is made of, and the pieces that analyses share. Pure. */
import { code, option } from './reproduce-words.ts'

/** Folders that a script opens, where a request has names. */
export interface Folders {
  readonly path: string
  /** The second checkpoint of a comparison. */
  readonly b?: string
  /** The checkpoints of a series. */
  readonly members?: readonly { readonly at: string; readonly path: string }[]
}

/** The command's name and its words; lines that have to stand before it; null: there is no command. */
export interface CommandForm {
  readonly name: string
  readonly words: readonly string[]
  readonly before?: string
}

/** The lines of a script behind `openModel`; `imports` beside it. */
export interface ScriptForm {
  readonly imports: readonly string[]
  readonly lines: readonly string[]
}

/** A token by its id or as text. */
export function tokenWords(name: string, token: string | number | undefined): string[] {
  return typeof token === 'number' ? option(`${name}-id`, token) : option(name, token)
}

/** A token that is given as text is the one that it encodes to. */
export function tokenCode(token: string | number): string {
  return typeof token === 'number' ? String(token) : `model.encode(${code(token)}, { bos: 'no' })[0]`
}

/** An object literal of the fields that are there. */
export function literal(parts: readonly string[]): string {
  const inside = parts.filter((part) => part !== '').join(', ')
  return inside === '' ? '{}' : `{ ${inside} }`
}
