/**
 * A conversation through a checkpoint's chat template.
 * In: tokenizer_config.json with its template, messages. Out: the text that the model was trained on.
 * The template decides about BOS: its text is encoded without anything put around it, so that BOS is never doubled.
 */
import { createRequire } from 'node:module'
import { HeadscopeError } from '../errors.ts'
import { isObject, type JsonObject, show } from './json.ts'
import type { ChatMessage } from './types.ts'

const SPECIALS = ['bos_token', 'eos_token', 'unk_token', 'pad_token', 'sep_token', 'cls_token', 'mask_token']

/** @returns a function that renders messages; its errors are 'bad-request' for the caller's messages */
export function createChat(
  config: JsonObject,
): (messages: readonly ChatMessage[], generationPrompt: boolean) => string {
  let render: ((context: Record<string, unknown>) => string) | null = null
  return (messages, generationPrompt) => {
    render ??= compile(templateOf(config))
    const tokens = Object.fromEntries(SPECIALS.map((name) => [name, tokenText(config[name])]))
    try {
      return render({
        ...tokens,
        messages: messages.map(({ role, content }) => ({ role, content })),
        add_generation_prompt: generationPrompt,
      })
    } catch (error) {
      throw new HeadscopeError(
        'bad-request',
        `The chat template refuses these messages: ${reason(error)}; change their roles or order.`,
        { cause: error },
      )
    }
  }
}

function templateOf(config: JsonObject): string {
  const value = config.chat_template
  if (value === undefined || value === null) {
    throw new HeadscopeError(
      'bad-request',
      'This checkpoint has no chat template; give the prompt as plain text.',
    )
  }
  if (typeof value === 'string') return value
  const named = Array.isArray(value) ? value.filter(isObject) : []
  const chosen = named.find(({ name }) => name === 'default') ?? named[0]
  if (typeof chosen?.template === 'string') return chosen.template
  throw new HeadscopeError(
    'bad-checkpoint',
    `tokenizer_config.json: chat_template is ${show(value)}, but must be a text or a list of named texts; correct it or download it again.`,
  )
}

/** The template language is loaded only when a conversation is rendered. */
function compile(source: string): (context: Record<string, unknown>) => string {
  const { Template } = createRequire(import.meta.url)(
    '@huggingface/jinja',
  ) as typeof import('@huggingface/jinja')
  try {
    const template = new Template(source)
    return (context) => template.render(context)
  } catch (error) {
    throw new HeadscopeError(
      'unsupported',
      `The chat template cannot be read: ${reason(error)}; give the prompt as plain text.`,
      { cause: error },
    )
  }
}

function tokenText(value: unknown): string {
  const text = isObject(value) ? value.content : value
  return typeof text === 'string' ? text : ''
}

function reason(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.split('\n')[0]!.replace(/\.$/, '')
}
