/**
 * Prompts from the command line. In: --text, --ids, --prompts, --bos. Out: token ids with their texts, in that order.
 * `--bos` concerns text: ids run as they are given.
 */
import type { TokenView } from '../checkpoint/types.ts'
import { HeadscopeError } from '../errors.ts'
import { decoderPrompt } from '../run/decoder-prompt.ts'
import type { Model } from '../run/model.ts'
import { type FilePrompt, readPromptFile } from '../run/prompt-file.ts'
import { UsageError } from './command.ts'
import { counted } from './table.ts'

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

type Given = FilePrompt

/** What was given, not tokenized yet: fails before a model is opened. Throws UsageError or bad-prompt. */
export function givenPrompts({ text, ids, prompts }: PromptValues, command: string): Given[] {
  const given: Given[] = [
    ...text.map((one) => ({ text: one })),
    ...ids.map((one) => ({ ids: idList(one) })),
    ...(prompts === undefined ? [] : readPromptFile(prompts)),
  ]
  if (given.length === 0) throw new UsageError(`${command} needs a prompt: give --text, --ids or --prompts`)
  return given
}

/** Token ids of every prompt; with `chat`, each text is what a person says in the chat template. Throws bad-prompt. */
export function encodePrompts(
  model: Model,
  given: readonly Given[],
  bos: string | undefined,
  chat = false,
): Prompt[] {
  return given.map((one) => {
    if ('ids' in one ? one.ids.length === 0 : one.text === '')
      throw new HeadscopeError('bad-prompt', 'A prompt is empty; give at least one token.')
    if (chat) return chatPrompt(model, one)
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
      `${given.length === 1 ? 'there is' : 'there are'} ${counted(given.length, 'decoder text')} beside ${counted(prompts.length, 'prompt')}: give one for each prompt`,
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

/** Token types as a run takes them; the engine says whether they fit. */
export function tokenTypesOf(values: { readonly 'token-types': readonly string[] }): {
  tokenTypes?: number[][]
} {
  const lists = values['token-types'].map((list) => idList(list, '--token-types'))
  return lists.length > 0 ? { tokenTypes: lists } : {}
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

/** The text in the checkpoint's chat template, up to where the answer begins. */
function chatPrompt({ tokenizer, checkpoint }: Model, given: Given): Prompt {
  if ('ids' in given)
    throw new HeadscopeError(
      'bad-prompt',
      '--chat puts a text into the chat template, but this prompt is ids.',
    )
  if (!tokenizer)
    throw new HeadscopeError('bad-prompt', checkpoint.tokenizerProblem ?? 'This checkpoint has no tokenizer.')
  return tokenizer.renderChat([{ role: 'user', content: given.text }])
}

/** "5,9,9,2" → numbers; the engine says whether they are ids of its vocabulary. */
export function idList(text: string, option = '--ids'): number[] {
  const parts = text.trim() === '' ? [] : text.trim().split(/\s*,\s*|\s+/)
  const bad = parts.find((part) => !/^-?\d{1,15}$/.test(part))
  if (bad === '')
    throw new HeadscopeError(
      'bad-prompt',
      `${option} has a comma without a number beside it; write whole numbers such as 5,9,9,2.`,
    )
  if (bad !== undefined)
    throw new HeadscopeError(
      'bad-prompt',
      `${option} holds ${JSON.stringify(bad)}, but must be whole numbers such as 5,9,9,2.`,
    )
  return parts.map(Number)
}
