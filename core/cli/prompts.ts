/**
 * Prompts from the command line. In: --text, --ids, --prompts, --bos. Out: token ids with their texts, in that order.
 * `--bos` concerns text: ids run as they are given.
 */
import { basename } from 'node:path'
import { readText } from '../checkpoint/files.ts'
import type { TokenView } from '../checkpoint/types.ts'
import { HeadscopeError } from '../errors.ts'
import { decoderPrompt } from '../run/decoder-prompt.ts'
import type { Model } from '../run/model.ts'
import { UsageError } from './command.ts'

export interface Prompt {
  readonly ids: readonly number[]
  readonly text: string | null
  /** What the decoder reads, where the prompt is its encoder's. */
  readonly decoder?: { readonly ids: readonly number[]; readonly text: string | null }
}

export interface DecoderValues {
  readonly 'decoder-text': readonly string[]
  readonly 'decoder-ids': readonly string[]
}

export interface PromptValues {
  readonly text: readonly string[]
  readonly ids: readonly string[]
  readonly prompts: string | undefined
  readonly bos: string | undefined
}

type Given = { readonly text: string } | { readonly ids: readonly number[] }

/** What was given, not tokenized yet: fails before a model is opened. Throws UsageError or bad-prompt. */
export function givenPrompts({ text, ids, prompts }: PromptValues, command: string): Given[] {
  const given: Given[] = [
    ...text.map((one) => ({ text: one })),
    ...ids.map((one) => ({ ids: idList(one) })),
    ...(prompts === undefined ? [] : fromFile(prompts)),
  ]
  if (given.length === 0) throw new UsageError(`${command} needs a prompt: give --text, --ids or --prompts`)
  return given
}

/** Token ids of every prompt. Throws bad-prompt. */
export function encodePrompts(model: Model, given: readonly Given[], bos: string | undefined): Prompt[] {
  return given.map((one) => {
    if ('ids' in one ? one.ids.length === 0 : one.text === '')
      throw new HeadscopeError('bad-prompt', 'A prompt is empty; give at least one token.')
    if ('ids' in one) return { ids: one.ids, text: null }
    const ids = model.encode(one.text, bos === undefined ? {} : { bos: bos as 'auto' | 'yes' | 'no' })
    return { ids, text: one.text }
  })
}

/** Prompts with the decoder's part: what was given, or its start token. Throws UsageError or bad-prompt. */
export function withDecoders(model: Model, prompts: readonly Prompt[], values: DecoderValues): Prompt[] {
  const given = [
    ...values['decoder-text'].map((text) => ({ text, ids: null })),
    ...values['decoder-ids'].map((ids) => ({ text: null, ids: idList(ids, '--decoder-ids') })),
  ]
  if (given.length > 0 && given.length !== prompts.length)
    throw new UsageError(
      `there are ${prompts.length} prompts, but ${given.length} decoder texts: give one for each prompt`,
    )
  if (!model.spec.encoderDecoder) {
    if (given.length > 0) decoderPrompt(model, '') // says that this model has no decoder beside an encoder
    return [...prompts]
  }
  return prompts.map((prompt, i) => {
    const { text, ids } = given[i] ?? { text: null, ids: null }
    return { ...prompt, decoder: { text, ids: ids ?? decoderPrompt(model, text ?? '') } }
  })
}

/** Token views; without a tokenizer a token is its number. */
export function viewsOf({ tokenizer }: Pick<Model, 'tokenizer'>, ids: readonly number[]): TokenView[] {
  if (tokenizer) return tokenizer.view(ids)
  return ids.map((id) => ({ id, text: String(id), special: false, group: null }))
}

/** The word of one token on its own. */
export function wordOf(model: Pick<Model, 'tokenizer'>, id: number): string {
  return viewsOf(model, [id])[0]!.text
}

// --- Internal helpers ---

/** "5,9,9,2" → numbers; the engine says whether they are ids of its vocabulary. */
function idList(text: string, option = '--ids'): number[] {
  const parts = text
    .trim()
    .split(/[\s,]+/)
    .filter((part) => part !== '')
  const bad = parts.find((part) => !/^-?\d{1,15}$/.test(part))
  if (bad !== undefined)
    throw new HeadscopeError(
      'bad-prompt',
      `${option} holds ${JSON.stringify(bad)}, but must be whole numbers such as 5,9,9,2.`,
    )
  return parts.map(Number)
}

function fromFile(file: string): Given[] {
  const name = basename(file)
  const isLines = /\.jsonl$/i.test(file)
  if (!isLines && !/\.txt$/i.test(file))
    throw new HeadscopeError(
      'bad-prompt',
      `${name} is not a file of prompts: give a .txt with one a line, or a .jsonl.`,
    )
  const lines = readText(file, name).split(/\r?\n/)
  const given = lines.flatMap((line, i) => {
    if (line.trim() === '') return []
    return [isLines ? fromJson(line, `${name}, line ${i + 1}`) : { text: line }]
  })
  if (given.length === 0)
    throw new HeadscopeError('bad-prompt', `${name} holds no prompt; write at least one line.`)
  return given
}

function fromJson(line: string, where: string): Given {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch (error) {
    throw new HeadscopeError(
      'bad-prompt',
      `${where} is not JSON (${(error as Error).message}); write {"text": "…"} or {"ids": […]}.`,
    )
  }
  const { text, ids } = (value ?? {}) as { text?: unknown; ids?: unknown }
  if (typeof text === 'string' && ids === undefined) return { text }
  if (Array.isArray(ids) && text === undefined && ids.every((id) => Number.isSafeInteger(id))) return { ids }
  throw new HeadscopeError(
    'bad-prompt',
    `${where} must hold either "text" or "ids" (a list of whole numbers).`,
  )
}
