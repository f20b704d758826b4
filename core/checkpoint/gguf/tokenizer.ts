/**
 * The tokenizer that the metadata of a GGUF file describes.
 * In: tokenizer.ggml.* keys. Out: the same tokenizer as from a tokenizer.json, or the sentence why there is none.
 * Two kinds are read: "gpt2" (byte-level BPE) and "llama" (SentencePiece BPE by scores); others are named.
 */
import { HeadscopeError, sentence } from '../../errors.ts'
import { type JsonObject, shorten, show } from '../json.ts'
import { createTokenizer, type OpenedTokenizer } from '../tokenizer.ts'
import { parseTokenizerFile } from '../tokenizer-file.ts'
import type { GgufHeader, GgufValue } from './header.ts'
import { preTokenizer, preTokenizerNames } from './pre-tokenizers.ts'

const TYPE = { unknown: 2, control: 3, userDefined: 4 } as const
const MARK = '▁'

/** Never throws for what the file holds. */
export function openGgufTokenizer(header: GgufHeader): OpenedTokenizer {
  const off = (why: string): OpenedTokenizer => ({
    tokenizer: null,
    problem: `The tokenizer is off and prompts must be ids: ${why}`,
    warnings: [],
  })
  try {
    return build(header)
  } catch (error) {
    if (!(error instanceof HeadscopeError)) throw error
    return off(sentence(error).replaceAll('tokenizer.json', `${header.label}, tokenizer metadata`))
  }
}

interface Vocabulary {
  readonly tokens: readonly string[]
  readonly types: readonly number[]
  /** The token of `tokenizer.ggml.<kind>_token_id`. */
  token(kind: string): string | null
  flag(key: string): boolean | null
}

function build(header: GgufHeader): OpenedTokenizer {
  const { metadata } = header
  const get = (key: string) => metadata.get(`tokenizer.ggml.${key}`)
  const kind = get('model')
  if (kind === undefined) throw fail('the file holds no tokenizer (tokenizer.ggml.model)')
  if (kind !== 'gpt2' && kind !== 'llama') {
    throw fail(`tokenizer.ggml.model is ${showText(kind)}, and only "gpt2" and "llama" are read`)
  }
  const vocabulary = readVocabulary(get)
  const name = get('pre') ?? 'default'
  const pre = kind === 'gpt2' && typeof name === 'string' ? preTokenizer(name) : null
  if (kind === 'gpt2' && pre === null) {
    throw fail(`tokenizer.ggml.pre is ${showText(name)}, which is not one of ${preTokenizerNames.join(', ')}`)
  }
  const parts = pre
    ? {
        normalizer: null,
        pre_tokenizer: pre.component,
        decoder: { type: 'ByteLevel' },
        model: {
          type: 'BPE',
          vocab: idsOf(vocabulary.tokens),
          merges: texts(get('merges'), 'merges').map((merge) => {
            const space = merge.indexOf(' ', 1)
            return [merge.slice(0, space), merge.slice(space + 1)]
          }),
          ignore_merges: pre.ignoreMerges,
        },
      }
    : sentencePiece(vocabulary, get)
  const file = parseTokenizerFile({ added_tokens: addedTokens(vocabulary), post_processor: null, ...parts })
  const bos = vocabulary.token('bos') ?? (pre ? null : (vocabulary.tokens[1] ?? null))
  const template = metadata.get('tokenizer.chat_template')
  const config: JsonObject = {
    bos_token: bos,
    eos_token: vocabulary.token('eos') ?? (pre ? null : (vocabulary.tokens[2] ?? null)),
    unk_token: vocabulary.token('unknown'),
    pad_token: vocabulary.token('padding'),
    add_bos_token: vocabulary.flag('add_bos_token') ?? pre?.addsBos ?? true,
    add_eos_token: vocabulary.flag('add_eos_token') ?? false,
    chat_template: template,
  }
  const warning = `${header.label}: tokenizer.ggml.pre is missing, so the text is cut by llama.cpp's default rule; ids may differ from the original tokenizer's.`
  return {
    tokenizer: createTokenizer(file, config),
    problem: null,
    warnings: [...(pre && get('pre') === undefined ? [warning] : []), ...file.warnings],
  }
}

function fail(why: string): HeadscopeError {
  return new HeadscopeError('unsupported', `${why}.`)
}

function showText(value: GgufValue): string {
  return typeof value === 'string' ? show(value) : 'not a text'
}

function texts(value: GgufValue | undefined, key: string): readonly string[] {
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value
  throw fail(`tokenizer.ggml.${key} is ${value === undefined ? 'missing' : 'not a list of texts'}`)
}

function numbers(value: GgufValue | undefined, key: string, length: number): readonly number[] {
  if (Array.isArray(value) && value.length === length && value.every((item) => typeof item === 'number')) {
    return value
  }
  throw fail(
    `tokenizer.ggml.${key} is ${value === undefined ? 'missing' : `not a list of ${length} numbers, one for each token`}`,
  )
}

function readVocabulary(get: (key: string) => GgufValue | undefined): Vocabulary {
  const tokens = texts(get('tokens'), 'tokens')
  const types =
    get('token_type') === undefined
      ? tokens.map(() => 1)
      : numbers(get('token_type'), 'token_type', tokens.length)
  return {
    tokens,
    types,
    token(kind) {
      const id = get(`${kind}_token_id`)
      return typeof id === 'number' ? (tokens[id] ?? null) : null
    },
    flag(key) {
      const value = get(key)
      return typeof value === 'boolean' ? value : null
    },
  }
}

function idsOf(tokens: readonly string[]): JsonObject {
  const ids: JsonObject = Object.create(null)
  tokens.forEach((token, id) => {
    if (token in ids) {
      throw fail(`the token ${shorten(show(token))} is listed twice, with the ids ${ids[token]} and ${id}`)
    }
    ids[token] = id
  })
  return ids
}

function addedTokens({ tokens, types }: Vocabulary): JsonObject[] {
  return tokens.flatMap((content, id) => {
    const type = types[id]
    if (type !== TYPE.control && type !== TYPE.userDefined && type !== TYPE.unknown) return []
    return [
      {
        id,
        content,
        special: type !== TYPE.userDefined,
        normalized: false,
        lstrip: false,
        rstrip: false,
        single_word: false,
      },
    ].filter((token) => token.content !== '')
  })
}

/** SentencePiece joins the pair whose result has the best score: merges sorted by the score of what they make. */
function sentencePiece(vocabulary: Vocabulary, get: (key: string) => GgufValue | undefined): JsonObject {
  const { tokens, types } = vocabulary
  const scores = numbers(get('scores'), 'scores', tokens.length)
  const ids = idsOf(tokens)
  const known = new Set(tokens)
  const merges: { pair: [string, string]; score: number }[] = []
  tokens.forEach((token, id) => {
    if (types[id] !== 1) return
    for (let at = 1; at < token.length; at++) {
      if ((token.charCodeAt(at) & 0xfc00) === 0xdc00) continue // inside a character
      const left = token.slice(0, at)
      if (!known.has(left)) continue
      const right = token.slice(at)
      if (known.has(right)) merges.push({ pair: [left, right], score: scores[id]! })
    }
  })
  merges.sort((a, b) => b.score - a.score) // stable: equal scores stay in the order of ids
  const prefix = vocabulary.flag('add_space_prefix') ?? true
  const replace = { type: 'Replace', pattern: { String: ' ' }, content: MARK }
  const normalizers = prefix ? [{ type: 'Prepend', prepend: MARK }, replace] : [replace]
  const decoders = [
    { type: 'Replace', pattern: { String: MARK }, content: ' ' },
    { type: 'ByteFallback' },
    { type: 'Fuse' },
    ...(prefix ? [{ type: 'Strip', content: ' ', start: 1, stop: 0 }] : []),
  ]
  return {
    normalizer: { type: 'Sequence', normalizers },
    pre_tokenizer: null,
    decoder: { type: 'Sequence', decoders },
    model: {
      type: 'BPE',
      vocab: ids,
      merges: merges.map(({ pair }) => pair),
      byte_fallback: true,
      fuse_unk: true,
      unk_token: vocabulary.token('unknown') ?? tokens[0] ?? null,
    },
  }
}
