import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { byteLevel, open, special, vocabOf, withTokenizerFiles } from './tokenizer.fixture.ts'
import { openTokenizer } from './tokenizer.ts'

const parts = {
  added_tokens: [special(0, '<s>'), special(1, '[A]'), special(2, '[B]')],
  pre_tokenizer: { type: 'WhitespaceSplit' },
  post_processor: {
    type: 'TemplateProcessing',
    single: [{ SpecialToken: { id: '<s>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
    pair: [{ Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 1 } }],
    special_tokens: {},
  },
  model: { type: 'WordLevel', unk_token: '<s>', vocab: vocabOf('<s>', '[A]', '[B]', 'hi', 'you') },
}
const TEMPLATE =
  "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}[A] {{ m.content }} {% else %}{{ raise_exception('only users') }}{% endif %}{% endfor %}{% if add_generation_prompt %}[B]{% endif %}"
const user = [{ role: 'user', content: 'hi you' }]

test('the template renders, and BOS is there once', () => {
  const tokenizer = open(parts, { bos_token: '<s>', chat_template: TEMPLATE })
  expect(tokenizer.encode('hi')).toEqual([0, 3])
  expect(tokenizer.renderChat(user)).toEqual({ text: '<s>[A] hi you [B]', ids: [0, 1, 3, 4, 2] })
  expect(tokenizer.renderChat(user, { prompt: false }).ids).toEqual([0, 1, 3, 4])
})

test('of named templates the default is taken; a file of its own wins', () => {
  const named = [
    { name: 'tools', template: 'x' },
    { name: 'default', template: 'hi' },
  ]
  expect(open(parts, { chat_template: named }).renderChat(user).text).toBe('hi')
  const { tokenizer } = withTokenizerFiles(parts, { chat_template: 'hi' }, (folder) => {
    writeFileSync(join(folder, 'chat_template.jinja'), 'you')
    return openTokenizer(folder)
  })
  expect(tokenizer!.renderChat(user).text).toBe('you')
})

test('no template, a broken one and one that refuses are each one sentence', () => {
  expect(() => open(parts).renderChat(user)).toThrow('no chat template')
  expect(() => open(parts, { chat_template: '{% if %}' }).renderChat(user)).toThrow('cannot be read')
  expect(() => open(parts, { chat_template: 7 }).renderChat(user)).toThrow('chat_template is 7')
  const refusing = open(parts, { bos_token: '<s>', chat_template: TEMPLATE })
  expect(() => refusing.renderChat([{ role: 'robot', content: '' }])).toThrow('only users')
})

test('merges build a token in their order', () => {
  const tokenizer = open(byteLevel(['a b', 'c d', 'ab cd', 'Ġ abcd']))
  expect(tokenizer.merges(tokenizer.encode(' abcd')[0]!)).toEqual([
    { left: 'a', right: 'b', result: 'ab', rank: 0 },
    { left: 'c', right: 'd', result: 'cd', rank: 1 },
    { left: 'ab', right: 'cd', result: 'abcd', rank: 2 },
    { left: 'Ġ', right: 'abcd', result: 'Ġabcd', rank: 3 },
  ])
  expect(tokenizer.merges(97)).toEqual([])
  expect(tokenizer.merges(99_999)).toEqual([])
  expect(open(parts).merges(3)).toEqual([])
})

test('pairs: templates of older files, and none', () => {
  const withProcessor = (type: string) =>
    open({ ...parts, post_processor: { type, cls: ['[A]', 1], sep: ['[B]', 2] } }).encodePair('hi', 'you')
  expect(withProcessor('BertProcessing')).toEqual({ ids: [1, 3, 2, 4, 2], typeIds: [0, 0, 0, 1, 1] })
  expect(withProcessor('RobertaProcessing')).toEqual({ ids: [1, 3, 2, 2, 4, 2], typeIds: [0, 0, 0, 0, 0, 0] })
  expect(open({ ...parts, post_processor: null }).encodePair('hi', 'you')).toEqual({
    ids: [3, 4],
    typeIds: [0, 1],
  })
})
