import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { type GgufHeader, type GgufValue, readGgufHeader } from './header.ts'
import { openGgufTokenizer } from './tokenizer.ts'

const fixture = (path: string) => fileURLToPath(new URL(`../../../test/fixtures/${path}`, import.meta.url))
const json = (path: string) => JSON.parse(readFileSync(fixture(path), 'utf8'))

/** The head of a file that holds nothing but tokenizer keys. */
function header(keys: Record<string, GgufValue>): GgufHeader {
  const metadata = new Map(Object.entries(keys).map(([key, value]) => [`tokenizer.${key}`, value]))
  return { file: '', label: 'x.gguf', version: 3, metadata, tensors: new Map() }
}

const small = {
  'ggml.model': 'gpt2',
  'ggml.pre': 'gpt-2',
  'ggml.tokens': ['<s>', 'a', 'b', 'ab', '</s>'],
  'ggml.token_type': [3, 1, 1, 1, 3],
  'ggml.merges': ['a b'],
  'ggml.bos_token_id': 0,
  'ggml.eos_token_id': 4,
}

const open = (keys: Record<string, GgufValue>) => openGgufTokenizer(header(keys))

test.each([
  ['byte-level', 'gpt-2'],
  ['byte-level-digits', 'smollm'],
  ['byte-level-thousands', 'llama-bpe'],
  ['byte-level-nfc', 'qwen2'],
])('the vocabulary of %s under the name %s gives the reference’s ids', (folder, pre) => {
  const file = json(`tokenizers/${folder}/tokenizer.json`)
  const vocab = Object.entries(file.model.vocab as Record<string, number>).sort((a, b) => a[1] - b[1])
  const { tokenizer } = open({
    'ggml.model': 'gpt2',
    'ggml.pre': pre,
    'ggml.add_bos_token': false,
    'ggml.tokens': vocab.map(([word]) => word),
    'ggml.token_type': vocab.map(() => 1),
    'ggml.merges': file.model.merges.map((merge: string[]) => merge.join(' ')),
  })
  const corpus: string[] = json('tokenizers/corpus.json')
  const ids: number[][] = json('tokenizers/expected.json')[folder].ids
  // Added tokens have no flags in this format, and it does not normalize.
  const added = /<\|end\|>|<mask>|\[TOOL\]|\[BOTH\]|word|Normal/
  let compared = 0
  corpus.forEach((text, i) => {
    if (added.test(text) || text !== text.normalize('NFC')) return
    compared++
    expect(tokenizer!.encode(text), text).toEqual(ids[i])
  })
  expect(compared).toBeGreaterThan(100)
})

test('a SentencePiece vocabulary gives sentencepiece’s ids', () => {
  const { tokenizer } = openGgufTokenizer(readGgufHeader(fixture('gguf/spm.gguf'), 'spm.gguf'))
  for (const [text, ids] of json('gguf/spm.json') as [string, number[]][]) {
    expect(tokenizer!.encode(text), JSON.stringify(text)).toEqual(ids)
    expect(tokenizer!.decode(ids.slice(1))).toBe(text)
  }
})

test('BOS as the file says, by default as the name says', () => {
  expect(open(small).tokenizer!.encode('ab')).toEqual([3])
  expect(open({ ...small, 'ggml.add_bos_token': true }).tokenizer!.encode('ab')).toEqual([0, 3])
  expect(open({ ...small, 'ggml.pre': 'llama-bpe' }).tokenizer!.encode('ab')).toEqual([0, 3])
  expect(open({ ...small, 'ggml.add_bos_token': true }).tokenizer!.encode('<s>ab')).toEqual([0, 3])
  expect(open({ ...small, 'ggml.add_eos_token': true }).tokenizer!.encode('ab')).toEqual([3, 4])
})

test('control tokens are special, and typed ones can be plain text', () => {
  const { tokenizer } = open(small)
  expect([...tokenizer!.specialIds]).toEqual([0, 4])
  expect(tokenizer!.encode('a</s>')).toEqual([1, 4])
})

test('the chat template of the file renders', () => {
  const template = '{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}'
  const { tokenizer } = open({ ...small, 'ggml.add_bos_token': true, chat_template: template })
  expect(tokenizer!.renderChat([{ role: 'user', content: 'ab' }])).toEqual({ text: '<s>ab', ids: [0, 3] })
})

test.each([
  [{ ...small, 'ggml.model': 'rwkv' }, 'tokenizer.ggml.model is "rwkv"'],
  [{ ...small, 'ggml.pre': 'quantum' }, 'tokenizer.ggml.pre is "quantum"'],
  [{ ...small, 'ggml.tokens': [1, 2] }, 'tokenizer.ggml.tokens is not a list of texts'],
  [{ ...small, 'ggml.token_type': [1] }, 'tokenizer.ggml.token_type is not a list of 5 numbers'],
  [{ ...small, 'ggml.tokens': ['a', 'a', 'b', 'ab', 'x'] }, 'the token "a" is listed twice'],
  [{ ...small, 'ggml.merges': ['a z'] }, 'needs the token "z"'],
  [{ ...small, 'ggml.model': 'llama' }, 'tokenizer.ggml.scores is missing'],
  [{}, 'the file holds no tokenizer'],
])('what cannot be read turns the tokenizer off with a sentence (%#)', (keys, words) => {
  const { tokenizer, problem } = open(keys as Record<string, GgufValue>)
  expect(tokenizer).toBeNull()
  expect(problem).toMatch(/^The tokenizer is off and prompts must be ids: /)
  expect(problem).toContain(words)
  expect(problem).not.toContain('tokenizer.json')
})

test('a vocabulary without the name of its pre-tokenizer is cut by the default rule, with a warning', () => {
  const { 'ggml.pre': _, ...rest } = small
  expect(open(rest).warnings.join()).toContain('tokenizer.ggml.pre is missing')
})
