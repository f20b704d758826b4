import { describe, expect, test } from 'vitest'
import { byteLevel, open, special, texts, vocabOf } from './tokenizer.fixture.ts'

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
