import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { checkVocab, openTokenizer } from './tokenizer.ts'
import { splitText } from './tokenizer-library.ts'
import type { Tokenizer } from './types.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headscope-tok-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

type Parts = Record<string, unknown>

function write(parts: Parts, config?: Parts): void {
  writeFileSync(
    join(folder, 'tokenizer.json'),
    JSON.stringify({
      added_tokens: [],
      normalizer: null,
      pre_tokenizer: null,
      post_processor: null,
      decoder: null,
      ...parts,
    }),
  )
  if (config) writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify(config))
}

function open(parts: Parts, config?: Parts): Tokenizer {
  write(parts, config)
  const { tokenizer, problem } = openTokenizer(folder)
  if (!tokenizer) throw new Error(problem ?? 'no reason')
  return tokenizer
}

const special = (id: number, content: string, more: Parts = {}) => ({
  id,
  content,
  special: true,
  normalized: false,
  ...more,
})
const vocabOf = (...words: string[]) => Object.fromEntries(words.map((word, id) => [word, id]))
const texts = (tokenizer: Tokenizer, ids: number[]) => tokenizer.view(ids).map((view) => view.text)

/** GPT-2's 256 visible characters in the order of the bytes. */
const byteChars = (() => {
  let next = 256
  return Array.from({ length: 256 }, (_, byte) => {
    const visible = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174
    return String.fromCodePoint(visible ? byte : next++)
  })
})()

/** All bytes, then some merged pieces. */
function byteLevel(merges: string[] = []): Parts {
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

describe('B-26: begin-of-text', () => {
  const model = { type: 'WordLevel', vocab: vocabOf('<unk>', '<s>', 'a', 'b'), unk_token: '<unk>' }
  const base = { model, added_tokens: [special(1, '<s>')], pre_tokenizer: { type: 'WhitespaceSplit' } }
  const template = {
    type: 'TemplateProcessing',
    single: [{ SpecialToken: { id: '<s>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
    pair: [],
    special_tokens: { '<s>': { id: '<s>', ids: [1], tokens: ['<s>'] } },
  }

  test('the post-processor adds it, and it is never doubled', () => {
    const tokenizer = open({ ...base, post_processor: template }, { bos_token: '<s>' })
    expect(tokenizer).toMatchObject({ bosId: 1, bosToken: '<s>', addsBos: true })
    expect(tokenizer.encode('a b')).toEqual([1, 2, 3])
    expect(tokenizer.encode('<s> a b')).toEqual([1, 2, 3])
    expect(tokenizer.encode('<s> a', { bos: 'yes' })).toEqual([1, 2])
    expect(tokenizer.encode('a b', { bos: 'no' })).toEqual([2, 3])
    expect(tokenizer.encode('')).toEqual([1])
  })

  test('without a post-processor it is added only when asked', () => {
    const tokenizer = open(base, { bos_token: { content: '<s>', special: true } })
    expect(tokenizer.addsBos).toBe(false)
    expect(tokenizer.encode('a b')).toEqual([2, 3])
    expect(tokenizer.encode('a b', { bos: 'yes' })).toEqual([1, 2, 3])
  })

  test('add_bos_token wins over the post-processor, both ways', () => {
    expect(
      open({ ...base, post_processor: template }, { bos_token: '<s>', add_bos_token: false }).encode('a'),
    ).toEqual([2])
    expect(open(base, { bos_token: '<s>', add_bos_token: true }).encode('a')).toEqual([1, 2])
  })

  test('no begin-of-text token: it cannot be asked for', () => {
    const tokenizer = open(base, { bos_token: null })
    expect(tokenizer).toMatchObject({ bosId: null, bosToken: null, addsBos: false })
    expect(tokenizer.encode('a')).toEqual([2])
    expect(() => tokenizer.encode('a', { bos: 'yes' })).toThrow('no begin-of-text token')
  })

  test('[CLS] and [SEP] stay whatever is asked about begin-of-text', () => {
    const words = vocabOf('[UNK]', '[CLS]', '[SEP]', 'a')
    const tokenizer = open({
      model: { type: 'WordPiece', vocab: words, unk_token: '[UNK]', continuing_subword_prefix: '##' },
      pre_tokenizer: { type: 'BertPreTokenizer' },
      post_processor: { type: 'BertProcessing', cls: ['[CLS]', 1], sep: ['[SEP]', 2] },
    })
    expect(tokenizer.encode('a', { bos: 'no' })).toEqual([1, 3, 2])
    expect([...tokenizer.specialIds].sort()).toEqual([0, 1, 2])
  })
})

describe('B-28: characters over several byte tokens', () => {
  test('bytes are shown and grouped, the whole text is right', () => {
    const tokenizer = open(byteLevel(['ð Ł', 'Ġ ðŁ']))
    const ids = tokenizer.encode('x 🤗é')
    const views = tokenizer.view(ids)
    expect(views.map(({ text }) => text)).toEqual(['x', '·<F0 9F>', '<A4>', '<97>', '<C3>', '<A9>'])
    expect(views.map(({ group }) => group)).toEqual([null, 1, 1, 1, 4, 4])
    expect(tokenizer.decode(ids)).toBe('x 🤗é')
  })

  test('bytes that make no character are shown and belong to no group', () => {
    const tokenizer = open(byteLevel())
    expect(tokenizer.view([0xf0, 0x41]).map(({ text, group }) => [text, group])).toEqual([
      ['<F0>', null],
      ['A', null],
    ])
    expect(tokenizer.decode([0xf0, 0x41])).toBe('\ufffdA')
  })

  test('whitespace, control and invisible characters are visible', () => {
    const tokenizer = open(byteLevel())
    const ids = tokenizer.encode(' \n\t\r\u0000\u007f')
    expect(texts(tokenizer, ids).sort()).toEqual(['·', '⏎', '⇥', '␍', '␀', '␡'].sort())
    expect(texts(open(byteLevel(['Â ł'])), [256])).toEqual(['<U+00A0>'])
  })
})

describe('B-29: word marks and byte fallback', () => {
  const pieces = ['<unk>', '▁', 'a', '▁a', '<0x0A>', '<0xC3>', '<0xA9>']
  const llama = {
    model: {
      type: 'BPE',
      vocab: vocabOf(...pieces),
      merges: ['▁ a'],
      unk_token: '<unk>',
      byte_fallback: true,
    },
    normalizer: {
      type: 'Sequence',
      normalizers: [
        { type: 'Prepend', prepend: '▁' },
        { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
      ],
    },
    decoder: {
      type: 'Sequence',
      decoders: [
        { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
        { type: 'ByteFallback' },
        { type: 'Fuse' },
        { type: 'Strip', content: ' ', start: 1, stop: 0 },
      ],
    },
  }
  const metaspace = {
    model: { type: 'BPE', vocab: vocabOf(...pieces), merges: ['▁ a'], unk_token: '<unk>' },
    pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always' },
    decoder: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always' },
  }

  test.each([
    ['a', [3]],
    [' a', [1, 3]],
    ['  a', [1, 1, 3]],
  ])('spaces of %j survive', (text, ids) => {
    const tokenizer = open(llama)
    expect(tokenizer.encode(text)).toEqual(ids)
    expect(tokenizer.decode(ids)).toBe(text)
    expect(texts(tokenizer, ids)).toEqual(ids.map((id) => (id === 3 ? '·a' : '·')))
  })

  test('the Metaspace pre-tokenizer cuts before each mark', () => {
    const tokenizer = open(metaspace)
    expect(tokenizer.encode('a a')).toEqual([3, 3])
    expect(tokenizer.encode('  a')).toEqual([1, 3])
    expect(tokenizer.decode([3, 3])).toBe('a a')
  })

  test('bytes stand for themselves', () => {
    const tokenizer = open(llama)
    const ids = tokenizer.encode('a\né')
    expect(ids).toEqual([3, 4, 5, 6])
    expect(tokenizer.decode(ids)).toBe('a\né')
    expect(tokenizer.view(ids).map(({ text, group }) => [text, group])).toEqual([
      ['·a', null],
      ['⏎', null],
      ['<C3>', 2],
      ['<A9>', 2],
    ])
  })
})

describe('B-30: special tokens in the text', () => {
  test('are marked, and can be plain characters', () => {
    const tokenizer = open({
      ...byteLevel(),
      added_tokens: [special(256, '<|endoftext|>'), { id: 257, content: '<div>', special: false }],
    })
    const ids = tokenizer.encode('a<|endoftext|><div>')
    expect(ids).toEqual([97, 256, 257])
    expect(tokenizer.view(ids).map((view) => view.special)).toEqual([false, true, false])
    expect(tokenizer.decode(ids)).toBe('a<|endoftext|><div>')
    const plain = tokenizer.encode('a<|endoftext|>', { specials: 'text' })
    expect(plain).toHaveLength(14)
    expect(tokenizer.decode(plain)).toBe('a<|endoftext|>')
    expect(tokenizer.view(plain).some((view) => view.special)).toBe(false)
  })
})

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
      'two added tokens of one id',
      { ...good, added_tokens: [special(300, 'x!'), special(300, 'y!')] },
      '"x!"',
    ],
  ])('%s', (_name, parts, words) => {
    write(parts)
    const { tokenizer, problem } = openTokenizer(folder)
    expect(tokenizer).toBeNull()
    expect(problem).toContain(words)
    expect(problem).toMatch(/^The tokenizer is off and prompts must be ids: /)
  })

  test('approximate parts are warnings', () => {
    write({ ...good, normalizer: { type: 'Precompiled', precompiled_charsmap: '' } })
    expect(openTokenizer(folder).warnings.join()).toContain('Precompiled')
  })

  test('a vocabulary file of another kind is named', () => {
    writeFileSync(join(folder, 'tokenizer.model'), '')
    expect(openTokenizer(folder).problem).toContain('tokenizer.model')
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
