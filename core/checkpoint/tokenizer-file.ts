/**
 * tokenizer.json, checked before anything is built from it.
 * In: a folder. Out: vocabulary, added tokens, the style of its pieces, what it puts around a text.
 * A component that we cannot run exactly is refused by name: a guess would give other ids without an error.
 */
import { HeadscopeError } from '../errors.ts'
import { readJsonFile } from './files.ts'
import { isObject, type JsonObject, show } from './json.ts'
import { pieceStyle } from './piece-style.ts'
import type { PieceStyle } from './pieces.ts'
import { type PairPart, readPairTemplate, readTemplate } from './template.ts'
import { badTokenizer } from './tokenizer-error.ts'
import { readVocabulary } from './vocabulary.ts'

export interface AddedToken {
  readonly id: number
  readonly content: string
  readonly special: boolean
}

export interface TokenizerFile {
  readonly json: JsonObject
  readonly model: JsonObject & { type: string }
  /** Word to id, added tokens too. */
  readonly ids: ReadonlyMap<string, number>
  readonly added: readonly AddedToken[]
  readonly unkId: number | null
  readonly style: PieceStyle
  /** Ids that the post-processor puts before and after a single text. */
  readonly before: readonly number[]
  readonly after: readonly number[]
  /** What two texts become. */
  readonly pair: readonly PairPart[]
  readonly warnings: readonly string[]
}

const SUPPORTED: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['model', new Set(['BPE', 'WordLevel', 'WordPiece', 'Unigram'])],
  [
    'normalizer',
    new Set([
      'BertNormalizer',
      'Precompiled',
      'Sequence',
      'Replace',
      'NFC',
      'NFD',
      'NFKC',
      'NFKD',
      'Strip',
      'StripAccents',
      'Lowercase',
      'Prepend',
    ]),
  ],
  [
    'pre_tokenizer',
    new Set([
      'BertPreTokenizer',
      'Sequence',
      'Whitespace',
      'WhitespaceSplit',
      'Metaspace',
      'ByteLevel',
      'Split',
      'Punctuation',
      'Digits',
    ]),
  ],
  [
    'post_processor',
    new Set(['TemplateProcessing', 'ByteLevel', 'BertProcessing', 'RobertaProcessing', 'Sequence']),
  ],
  [
    'decoder',
    new Set([
      'ByteLevel',
      'WordPiece',
      'Metaspace',
      'BPEDecoder',
      'Sequence',
      'Replace',
      'Fuse',
      'Strip',
      'ByteFallback',
    ]),
  ],
])

const CHILDREN: ReadonlyMap<string, string> = new Map([
  ['normalizer', 'normalizers'],
  ['pre_tokenizer', 'pretokenizers'],
  ['post_processor', 'processors'],
  ['decoder', 'decoders'],
])

/** Reads and checks tokenizer.json. @throws HeadscopeError naming what is wrong */
export function readTokenizerFile(folder: string): TokenizerFile {
  return parseTokenizerFile(readJsonFile(folder, 'tokenizer.json'))
}

/** The same from a parsed tokenizer.json. @throws HeadscopeError naming what is wrong */
export function parseTokenizerFile(json: unknown): TokenizerFile {
  if (!isObject(json)) throw badTokenizer(`it holds ${show(json)}, but must hold an object`)
  const model = readModel(json)
  const components = new Map([...CHILDREN.keys()].map((part) => [part, flatten(json[part], part)]))
  const words = readVocabulary(model)
  const added = readAdded(json.added_tokens, words)
  const ids = new Map(words)
  for (const token of added) ids.set(token.content, token.id)
  const processors = components.get('post_processor')!
  const { before, after } = readTemplate(processors, ids)
  const { style, warnings: styleWarnings } = pieceStyle(model, components)
  return {
    json,
    model,
    ids,
    added,
    unkId: readUnk(model, ids),
    style,
    before,
    after,
    pair: readPairTemplate(processors, ids),
    warnings: [...approximations(components), ...styleWarnings],
  }
}

/** The model with its type; old files leave the type out, and its keys tell it. */
function readModel(json: JsonObject): JsonObject & { type: string } {
  const { model } = json
  if (!isObject(model))
    throw badTokenizer(
      model === undefined ? 'model is missing' : `model is ${show(model)}, but must be an object`,
    )
  const type = model.type ?? guessType(model)
  if (typeof type !== 'string' || !SUPPORTED.get('model')!.has(type)) throw unsupported('model', type)
  return Object.assign(Object.create(null), model, { type })
}

function guessType(model: JsonObject): string {
  if (model.merges !== undefined) return 'BPE'
  if (Array.isArray(model.vocab)) return 'Unigram'
  return model.max_input_chars_per_word !== undefined ? 'WordPiece' : 'WordLevel'
}

function unsupported(part: string, type: unknown): HeadscopeError {
  const known = [...SUPPORTED.get(part)!].filter((name) => name !== 'Sequence').join(', ')
  return new HeadscopeError(
    'unsupported',
    `tokenizer.json: ${part}.type is ${show(type)}, which is not supported (supported: ${known}); give prompts as ids.`,
  )
}

/** A component and, for a sequence, its parts in order. Every type is checked. */
function flatten(value: unknown, part: string, depth = 0): JsonObject[] {
  if (value === undefined || value === null) return []
  if (!isObject(value)) throw badTokenizer(`${part} is ${show(value)}, but must be an object`)
  const { type } = value
  if (typeof type !== 'string' || !SUPPORTED.get(part)!.has(type)) throw unsupported(part, type)
  if (type === 'Split' || type === 'Replace') checkPattern(value, part)
  if (type !== 'Sequence') return [value]
  const children = value[CHILDREN.get(part)!]
  if (!Array.isArray(children) || depth > 8)
    throw badTokenizer(`${part} is a Sequence without a list of parts`)
  return children.flatMap((child) => flatten(child, part, depth + 1))
}

const BEHAVIORS = new Set(['Removed', 'Isolated', 'MergedWithPrevious', 'MergedWithNext', 'Contiguous'])

function checkPattern({ type, pattern, behavior }: JsonObject, part: string): void {
  const text = isObject(pattern) ? (pattern.Regex ?? pattern.String) : undefined
  if (typeof text !== 'string') {
    throw badTokenizer(
      `the ${part} ${show(type)} has the pattern ${show(pattern)}, but it must hold a Regex or a String`,
    )
  }
  if (type === 'Split' && !(typeof behavior === 'string' && BEHAVIORS.has(behavior))) {
    throw unsupported(part, `Split with the behavior ${show(behavior)}`)
  }
}

function readAdded(value: unknown, words: ReadonlyMap<string, number>): AddedToken[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw badTokenizer(`added_tokens is ${show(value)}, but must be a list`)
  const wordOf = new Map([...words].map(([word, id]) => [id, word]))
  const seen = new Map<string, number>()
  return value.map((token) => {
    if (!isObject(token)) throw badTokenizer(`added_tokens holds ${show(token)}, but must hold objects`)
    const { id, content } = token
    if (typeof content !== 'string' || content === '')
      throw badTokenizer(`an added token has the content ${show(content)}, but it must be a text`)
    if (!Number.isSafeInteger(id) || (id as number) < 0) {
      throw badTokenizer(
        `the added token ${show(content)} has the id ${show(id)}, but ids are whole numbers of 0 or more`,
      )
    }
    const known = words.get(content) ?? seen.get(content)
    if (known !== undefined && known !== id) {
      throw badTokenizer(`${show(content)} has the id ${known} in one place and ${id} in another`)
    }
    const other = wordOf.get(id as number)
    if (other !== undefined && other !== content) {
      throw badTokenizer(
        `the added token ${show(content)} and the word ${show(other)} have the same id ${id}`,
      )
    }
    seen.set(content, id as number)
    wordOf.set(id as number, content)
    return { id: id as number, content, special: token.special === true }
  })
}

function readUnk(model: JsonObject, ids: ReadonlyMap<string, number>): number | null {
  if (model.type === 'Unigram') return typeof model.unk_id === 'number' ? model.unk_id : null
  return typeof model.unk_token === 'string' ? (ids.get(model.unk_token) ?? null) : null
}

/** Parts that run, but not in every last detail as the reference does. */
function approximations(components: ReadonlyMap<string, JsonObject[]>): string[] {
  const warnings: string[] = []
  if (components.get('normalizer')!.some(({ type }) => type === 'Precompiled')) {
    warnings.push(
      'tokenizer.json: the normalizer Precompiled is approximated by NFKC; ids of rare characters may differ, so check the ids that are shown.',
    )
  }
  return warnings
}
