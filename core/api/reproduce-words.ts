/** What the forms of every request share: options of a command line, expressions of TypeScript. Pure. */
import type { PromptInput } from './contract.ts'

/** One word of a POSIX shell. */
export function quoted(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word
  return `'${word.replaceAll("'", String.raw`'\''`)}'`
}

/** `--name value`, or nothing. */
export function option(name: string, value: string | number | undefined): string[] {
  return value === undefined ? [] : [`--${name}`, String(value)]
}

export function promptWords(
  prompt: PromptInput,
  names: readonly [text: string, ids: string, own?: string, ownIds?: string] = ['text', 'ids'],
): string[] {
  const { decoder } = prompt
  return [
    ...(prompt.ids ? option(names[1], prompt.ids.join(',')) : option(names[0], prompt.text ?? '')),
    ...(decoder ? promptWords(decoder, [names[2] ?? 'decoder-text', names[3] ?? 'decoder-ids']) : []),
    ...(prompt.bos && prompt.bos !== 'auto' ? option('bos', prompt.bos) : []),
  ]
}

/** Characters of texts beyond which they no longer fit on a command line. */
const LONGEST = 30_000

/** Several prompts; `file` where they are too long for a command line and have to stand in that file. */
export function promptsWords(prompts: readonly PromptInput[]): { words: string[]; file: string | null } {
  const long = prompts.reduce((n, { text, ids }) => n + (text?.length ?? (ids?.length ?? 0) * 6), 0) > LONGEST
  if (long) return { words: ['--prompts', 'texts.jsonl'], file: 'texts.jsonl' }
  const bos = prompts[0]?.bos
  return {
    words: [
      ...prompts.flatMap((prompt) => promptWords({ ...prompt, bos: 'auto' })),
      ...(bos && bos !== 'auto' ? option('bos', bos) : []),
    ],
    file: null,
  }
}

/** An expression that gives the ids of a prompt. */
export function encoded({ text, ids, bos }: PromptInput): string {
  if (ids) return code(ids)
  return `model.encode(${code(text ?? '')}${bos ? `, { bos: ${code(bos)} }` : ''})`
}

/** An expression that gives the ids a decoder begins with; a script that has it imports `decoderPrompt` unless ids are given. */
export function decoderCode(decoder: PromptInput['decoder']): string {
  return decoder?.ids ? code(decoder.ids) : `decoderPrompt(model, ${code(decoder?.text ?? '')})`
}

/** The fields of an object literal. */
export function fields(options: object): string {
  return Object.entries(options)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${code(value)}`)
    .join(', ')
}

/** JSON is an expression of TypeScript. */
export function code(value: unknown): string {
  return JSON.stringify(value)
}
