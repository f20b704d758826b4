/**
 * Small handwritten tokenizer files for tests.
 * In: parts of a tokenizer.json. Out: files in a temporary folder, and the tokenizer opened from them.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openTokenizer } from './tokenizer.ts'
import type { Tokenizer } from './types.ts'

export type Parts = Record<string, unknown>

/** A temporary folder with the given tokenizer files; the callback's result comes back, the folder goes. */
export function withTokenizerFiles<T>(
  parts: Parts,
  config: Parts | undefined,
  use: (folder: string) => T,
): T {
  const folder = mkdtempSync(join(tmpdir(), 'headscope-tok-'))
  const empty = {
    added_tokens: [],
    normalizer: null,
    pre_tokenizer: null,
    post_processor: null,
    decoder: null,
  }
  try {
    writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify({ ...empty, ...parts }))
    if (config) writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify(config))
    return use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The tokenizer of the given parts; throws its problem when there is none. */
export function open(parts: Parts, config?: Parts): Tokenizer {
  const { tokenizer, problem } = withTokenizerFiles(parts, config, openTokenizer)
  if (!tokenizer) throw new Error(problem ?? 'no reason')
  return tokenizer
}

/** An added token that is special. */
export const special = (id: number, content: string, more: Parts = {}) => ({
  id,
  content,
  special: true,
  normalized: false,
  ...more,
})

/** A vocabulary whose ids are the places in the list. */
export const vocabOf = (...words: string[]) => Object.fromEntries(words.map((word, id) => [word, id]))

/** What a person sees of each id. */
export const texts = (tokenizer: Tokenizer, ids: number[]) => tokenizer.view(ids).map((view) => view.text)

/** GPT-2's 256 visible characters in the order of the bytes. */
const byteChars = (() => {
  let next = 256
  return Array.from({ length: 256 }, (_, byte) => {
    const visible = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174
    return String.fromCodePoint(visible ? byte : next++)
  })
})()

/** A byte-level tokenizer: ids 0 to 255 are the bytes, then the merged pieces. */
export function byteLevel(merges: string[] = []): Parts {
  return {
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
    decoder: { type: 'ByteLevel' },
    model: {
      type: 'BPE',
      vocab: vocabOf(...byteChars, ...merges.map((merge) => merge.replace(' ', ''))),
      merges,
    },
  }
}
