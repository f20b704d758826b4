/**
 * The vocabulary and merges of a tokenizer model, checked.
 * In: `model` of tokenizer.json. Out: word to id in a Map, so that "constructor" and "__proto__" are ordinary words.
 * Cost: one pass over words and merges (300,000 merges: some 0.2 s).
 */
import { HeadscopeError } from '../errors.ts'
import { isObject, type JsonObject, show } from './json.ts'
import { badTokenizer } from './tokenizer-error.ts'

/** Ids beyond this are a mistake: the largest vocabularies have some 300,000. */
const MAX_ID = 1 << 24

/** Reads `model.vocab`, and `model.merges` of a BPE model. @throws HeadscopeError naming the word */
export function readVocabulary(model: JsonObject): Map<string, number> {
  refuseUnknownSwitches(model)
  const ids = model.type === 'Unigram' ? readPieces(model) : readWords(model)
  if (ids.size === 0) throw badTokenizer('the vocabulary (model.vocab) is empty')
  if (model.type === 'BPE') checkMerges(model.merges, ids)
  return ids
}

function readWords(model: JsonObject): Map<string, number> {
  const { vocab } = model
  if (!isObject(vocab))
    throw badTokenizer(`model.vocab is ${show(vocab)}, but must be an object of words and ids`)
  const ids = new Map<string, number>()
  const words = new Map<number, string>()
  for (const [word, id] of Object.entries(vocab)) {
    if (!Number.isSafeInteger(id) || (id as number) < 0 || (id as number) > MAX_ID) {
      throw badTokenizer(
        `the id of ${show(word)} is ${show(id)}, but ids are whole numbers from 0 to ${MAX_ID}`,
      )
    }
    const other = words.get(id as number)
    if (other !== undefined) throw badTokenizer(`${show(other)} and ${show(word)} have the same id ${id}`)
    words.set(id as number, word)
    ids.set(word, id as number)
  }
  return ids
}

function readPieces(model: JsonObject): Map<string, number> {
  const { vocab, unk_id: unk } = model
  if (!Array.isArray(vocab))
    throw badTokenizer(`model.vocab is ${show(vocab)}, but a Unigram model has a list of words and scores`)
  const ids = new Map<string, number>()
  vocab.forEach((pair, id) => {
    const [word, score] = Array.isArray(pair) ? pair : []
    if (typeof word !== 'string' || typeof score !== 'number' || !Number.isFinite(score)) {
      throw badTokenizer(`model.vocab holds ${show(pair)}, but must hold pairs of a word and a score`)
    }
    if (ids.has(word)) throw badTokenizer(`the word ${show(word)} is listed twice`)
    ids.set(word, id)
  })
  if (
    unk !== null &&
    unk !== undefined &&
    !(Number.isSafeInteger(unk) && (unk as number) >= 0 && (unk as number) < vocab.length)
  ) {
    throw badTokenizer(`model.unk_id is ${show(unk)}, but the vocabulary has ${vocab.length} words`)
  }
  return ids
}

function checkMerges(merges: unknown, ids: ReadonlyMap<string, number>): void {
  if (!Array.isArray(merges)) throw badTokenizer(`model.merges is ${show(merges)}, but must be a list`)
  for (const merge of merges) {
    const parts = typeof merge === 'string' ? merge.split(' ') : merge
    if (
      !Array.isArray(parts) ||
      parts.length !== 2 ||
      !parts.every((part) => typeof part === 'string' && part !== '')
    ) {
      throw badTokenizer(`the merge ${show(merge)} does not have two parts`)
    }
    const [left, right] = parts as [string, string]
    for (const part of [left, right, left + right]) {
      if (!ids.has(part)) {
        throw badTokenizer(
          `the merge ${show(merge)} needs the token ${show(part)}, which is not in the vocabulary`,
        )
      }
    }
  }
}

/** Switches of a model that change the ids and that nothing here applies. */
function refuseUnknownSwitches(model: JsonObject): void {
  const refuse = (key: string) => {
    throw new HeadscopeError(
      'unsupported',
      `tokenizer.json: model.${key} is ${show(model[key])}, which is not supported for ${model.type}; give prompts as ids.`,
    )
  }
  if (model.type === 'BPE') {
    if (typeof model.dropout === 'number' && model.dropout > 0) refuse('dropout')
    if (model.continuing_subword_prefix) refuse('continuing_subword_prefix')
  }
  if (model.type === 'Unigram' && model.byte_fallback === true) refuse('byte_fallback')
}
