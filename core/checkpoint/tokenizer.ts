/**
 * Text to ids and back.
 * In: a folder with tokenizer.json and tokenizer_config.json. Out: a tokenizer, or the sentence why there is none:
 * a model without a tokenizer still runs on ids. Cost: reading and checking the vocabulary (128,000 words: about 1 s).
 */
import { join } from 'node:path'
import { HeadscopeError, sentence } from '../errors.ts'
import { readSurround, surround } from './bos.ts'
import { createChat } from './chat.ts'
import { readJsonFile, readText } from './files.ts'
import { nameExists } from './folder.ts'
import { isObject, type JsonObject, show } from './json.ts'
import { createMerges } from './merges.ts'
import { decodePieces, type Piece, viewPieces } from './pieces.ts'
import { readTokenizerFile, type TokenizerFile } from './tokenizer-file.ts'
import { buildEncoder } from './tokenizer-library.ts'
import type { Tokenizer } from './types.ts'

export interface OpenedTokenizer {
  readonly tokenizer: Tokenizer | null
  /** Why there is no tokenizer, as a sentence. */
  readonly problem: string | null
  readonly warnings: readonly string[]
}

/** Opens the tokenizer of a checkpoint folder. Never throws for what the files hold. */
export function openTokenizer(folder: string): OpenedTokenizer {
  try {
    if (!nameExists(folder, 'tokenizer.json'))
      return { tokenizer: null, problem: missing(folder), warnings: [] }
    return buildTokenizer(folder)
  } catch (error) {
    if (!(error instanceof HeadscopeError)) throw error
    return {
      tokenizer: null,
      problem: `The tokenizer is off and prompts must be ids: ${sentence(error)}`,
      warnings: [],
    }
  }
}

function missing(folder: string): string {
  const other = ['tokenizer.model', 'spiece.model', 'vocab.json', 'vocab.txt'].find((name) =>
    nameExists(folder, name),
  )
  const why = other
    ? `only ${other} is there, and tokenizer.json is what is read (transformers writes it with tokenizer.save_pretrained)`
    : 'tokenizer.json is missing'
  return `The tokenizer is off and prompts must be ids: ${why}.`
}

function buildTokenizer(folder: string): OpenedTokenizer {
  const file = readTokenizerFile(folder)
  return {
    tokenizer: createTokenizer(file, readTokenizerConfig(folder)),
    problem: null,
    warnings: file.warnings,
  }
}

/**
 * Builds a tokenizer from its checked parts.
 * @param config tokenizer_config.json: BOS, EOS, the chat template; empty when there is none
 */
export function createTokenizer(file: TokenizerFile, config: JsonObject): Tokenizer {
  const around = readSurround(file, config, file.ids)
  const renderMessages = createChat(config)
  const mergesOf = createMerges(file.model)
  const encodeText = buildEncoder(file)
  let encodePlain: ((text: string) => number[]) | null = null
  const pieces: Piece[] = []
  const added = new Map(file.added.map((token) => [token.id, token]))
  for (const [text, id] of file.ids) {
    const token = added.get(id)
    pieces[id] = { id, text, literal: token !== undefined, special: token?.special === true }
  }
  const pieceOf = (id: number): Piece =>
    pieces[id] ?? { id, text: `<unused ${id}>`, literal: true, special: false, unused: true }
  const specialIds = new Set([...added.keys(), ...file.before, ...file.after])
  for (const id of [around.bosId, file.unkId]) if (id !== null) specialIds.add(id)
  return {
    vocabSize: pieces.length,
    bosId: around.bosId,
    bosToken: around.bosToken,
    addsBos: around.addsBos,
    chats: config.chat_template !== undefined && config.chat_template !== null,
    specialIds,
    encode(text, { bos = 'auto', specials = 'tokens' } = {}) {
      if (specials === 'text') encodePlain ??= buildEncoder(file, false)
      const encode = specials === 'text' ? encodePlain! : encodeText
      return surround(encode(text), around, bos)
    },
    decode: (ids) => decodePieces(ids.map(pieceOf), file.style),
    view: (ids) => viewPieces(ids.map(pieceOf), file.style),
    encodePair(first, second) {
      const texts = { first: encodeText(first), second: encodeText(second) }
      const ids: number[] = []
      const typeIds: number[] = []
      for (const { part, typeId } of file.pair) {
        for (const id of typeof part === 'string' ? texts[part] : part) {
          ids.push(id)
          typeIds.push(typeId)
        }
      }
      return { ids, typeIds }
    },
    merges: (id) => (pieces[id] && !pieces[id].literal ? mergesOf(pieces[id].text) : []),
    renderChat(messages, { prompt = true } = {}) {
      const text = renderMessages(messages, prompt)
      return { text, ids: encodeText(text) }
    },
  }
}

const CHAT_TEMPLATE = 'chat_template.jinja'

/** tokenizer_config.json, completed by special_tokens_map.json and the template's own file; all may be absent. */
function readTokenizerConfig(folder: string): JsonObject {
  const merged: JsonObject = Object.create(null)
  for (const name of ['special_tokens_map.json', 'tokenizer_config.json']) {
    if (!nameExists(folder, name)) continue
    const json = readJsonFile(folder, name)
    if (!isObject(json)) {
      throw new HeadscopeError(
        'bad-checkpoint',
        `${name} holds ${show(json)}, but must hold an object; download it again.`,
      )
    }
    Object.assign(merged, json)
  }
  if (nameExists(folder, CHAT_TEMPLATE)) merged.chat_template = readText(join(folder, CHAT_TEMPLATE))
  return merged
}

/**
 * Compares a tokenizer with the embedding.
 * @param rows rows of the embedding matrix
 * @returns a warning when some token has no row, else null. Fewer tokens than rows is usual and silent.
 */
export function checkVocab(tokenizer: Pick<Tokenizer, 'vocabSize'>, rows: number): string | null {
  const { vocabSize } = tokenizer
  if (vocabSize <= rows) return null
  return `The tokenizer has ids for ${vocabSize} tokens, up to ${vocabSize - 1}, but the embedding has ${rows} rows: ids of ${rows} or more cannot be run.`
}
