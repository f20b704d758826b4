import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { splitText } from './library-repairs.ts'
import {
  byteLevel,
  open,
  type Parts,
  special,
  texts,
  vocabOf,
  withTokenizerFiles,
} from './tokenizer.fixture.ts'
import { checkVocab, openTokenizer } from './tokenizer.ts'

describe('B-31: splitting as the reference does', () => {
  test.each([
    ['Removed', ['a', 'b']],
    ['Isolated', ['a', '-', '-', 'b']],
    ['MergedWithPrevious', ['a-', '-', 'b']],
    ['MergedWithNext', ['a', '-', '-b']],
    ['Contiguous', ['a', '--', 'b']],
  ] as const)('%s', (behavior, parts) => {
    expect(splitText('a--b', /-/gu, behavior, false)).toEqual(parts)
  })

  test('inverted: gaps count as matches', () => {
    expect(splitText('a1b', /[a-z]/gu, 'Removed', true)).toEqual(['a', 'b'])
    expect(splitText('a1b', /[a-z]/gu, 'Isolated', true)).toEqual(['a', '1', 'b'])
  })

  const words = (...list: string[]) => ({
    model: { type: 'WordLevel', vocab: vocabOf('<unk>', ...list), unk_token: '<unk>' },
  })

  test('digits one by one, punctuation one by one, words beyond ASCII', () => {
    const digits = { type: 'Digits', individual_digits: true }
    expect(open({ ...words('a', '1', '٢'), pre_tokenizer: digits }).encode('a1٢1')).toEqual([1, 2, 3, 2])
    expect(open({ ...words('!', '?'), pre_tokenizer: { type: 'Punctuation' } }).encode('!?!')).toEqual([
      1, 2, 1,
    ])
    expect(
      open({ ...words('größe', '!?'), pre_tokenizer: { type: 'Whitespace' } }).encode('größe!?'),
    ).toEqual([1, 2])
  })

  test('literal patterns, normalizers and added tokens that take their spaces', () => {
    const split = { type: 'Split', pattern: { String: '.' }, behavior: 'MergedWithPrevious', invert: false }
    expect(open({ ...words('a.', 'b'), pre_tokenizer: split }).encode('a.b')).toEqual([1, 2])
    const composed = open({
      ...words('é'),
      normalizer: { type: 'NFC' },
      pre_tokenizer: { type: 'WhitespaceSplit' },
    })
    expect(composed.encode('e\u0301')).toEqual([1])
    const mask = { ...byteLevel(), added_tokens: [special(256, '<mask>', { lstrip: true })] }
    expect(open(mask).encode('a <mask>')).toEqual([97, 256])
  })
})

describe('what is wrong is said, and the model still opens', () => {
  const good = byteLevel()
  test.each([
    ['unknown decoder', { ...good, decoder: { type: 'Alchemy' } }, 'Alchemy'],
    [
      'unknown post-processor',
      { ...good, post_processor: { type: 'Sequence', processors: [{ type: 'Glue' }] } },
      'Glue',
    ],
    ['type that every object has', { ...good, normalizer: { type: 'constructor' } }, 'constructor'],
    ['dropout', { ...good, model: { ...(good.model as Parts), dropout: 0.1 } }, 'dropout'],
    [
      'template without its token',
      { ...good, post_processor: { type: 'BertProcessing', cls: ['[CLS]', 1], sep: ['[SEP]', 2] } },
      '[CLS]',
    ],
    [
      'pattern that cannot be read',
      {
        ...good,
        pre_tokenizer: { type: 'Split', pattern: { Regex: '(' }, behavior: 'Isolated', invert: false },
      },
      'cannot be used',
    ],
    [
      'pattern of no kind',
      { ...good, normalizer: { type: 'Replace', pattern: 'a', content: 'b' } },
      'pattern "a"',
    ],
    [
      'unknown split',
      {
        ...good,
        pre_tokenizer: { type: 'Split', pattern: { String: 'a' }, behavior: 'Halved', invert: false },
      },
      'Halved',
    ],
    [
      'two added tokens of one id',
      { ...good, added_tokens: [special(300, 'x!'), special(300, 'y!')] },
      '"x!"',
    ],
  ])('%s', (_name, parts, words) => {
    const { tokenizer, problem } = withTokenizerFiles(parts, undefined, openTokenizer)
    expect(tokenizer).toBeNull()
    expect(problem).toContain(words)
    expect(problem).toMatch(/^The tokenizer is off and prompts must be ids: /)
  })

  test('approximate parts are warnings', () => {
    const parts = { ...good, normalizer: { type: 'Precompiled', precompiled_charsmap: '' } }
    expect(withTokenizerFiles(parts, undefined, openTokenizer).warnings.join()).toContain('Precompiled')
  })

  test('a vocabulary file of another kind is named', () => {
    const problem = withTokenizerFiles(good, undefined, (folder) => {
      renameSync(join(folder, 'tokenizer.json'), join(folder, 'tokenizer.model'))
      return openTokenizer(folder).problem
    })
    expect(problem).toContain('tokenizer.model')
  })

  test('text without any token for it is an error where there is no unknown token', () => {
    const tokenizer = open({
      model: { type: 'WordLevel', vocab: vocabOf('a'), unk_token: '<unk>' },
      pre_tokenizer: { type: 'WhitespaceSplit' },
    })
    expect(() => tokenizer.encode('a b')).toThrow('not in the vocabulary')
  })
})

test('ids that no token has, words that every object has, very long tokens', () => {
  const long = 'na'.repeat(2500)
  const tokenizer = open({
    model: {
      type: 'WordLevel',
      vocab: { ...vocabOf('<unk>', 'constructor', long), ['__proto__']: 3 },
      unk_token: '<unk>',
    },
    pre_tokenizer: { type: 'WhitespaceSplit' },
  })
  expect(tokenizer.encode('constructor __proto__ toString')).toEqual([1, 3, 0])
  expect(tokenizer.decode([1, 3])).toBe('constructor __proto__')
  expect(texts(tokenizer, [50300])).toEqual(['<unused 50300>'])
  expect(tokenizer.decode([9])).toBe('<unused 9>')
  expect(texts(tokenizer, [2])[0]!.length).toBeLessThan(80)
  expect(texts(tokenizer, [2])[0]).toContain('5000 characters')
  expect(tokenizer.vocabSize).toBe(4)
  expect(checkVocab(tokenizer, 4)).toBeNull()
  expect(checkVocab(tokenizer, 3)).toContain('4 tokens, up to 3, but the embedding has 3 rows')
})
