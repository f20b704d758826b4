import { expect, test } from 'vitest'
import { type AddedForm, createSections } from './added-tokens.ts'

const token = (id: number, content: string, flags: Partial<AddedForm> = {}): AddedForm => ({
  id,
  content,
  normalized: false,
  lstrip: false,
  rstrip: false,
  singleWord: false,
  ...flags,
})
const plain = (text: string, index: number) => ({ text, index })
const same = (text: string) => text

test('the longest of the leftmost tokens is taken', () => {
  const cut = createSections([token(1, '<a>'), token(2, '<a><b>')], same)
  expect(cut('x<a><b><a>')).toEqual([plain('x', 0), 2, 1])
})

test('white space before or after is the token’s own where it says so', () => {
  expect(createSections([token(1, '<m>', { lstrip: true })], same)('a  <m> b')).toEqual([
    plain('a', 0),
    1,
    plain(' b', 2),
  ])
  expect(createSections([token(1, '<m>', { rstrip: true })], same)('a <m>\u0085\n')).toEqual([
    plain('a ', 0),
    1,
  ])
})

test('a whole word touches no letter', () => {
  const cut = createSections([token(1, 'cat', { singleWord: true })], same)
  expect(cut('cat cats é cat')).toEqual([1, plain(' cats é ', 1), 1])
})

test('normalized tokens are found in the normalized text, the others in the text as given', () => {
  const lower = (text: string) => text.toLowerCase()
  const cut = createSections([token(1, 'Yes', { normalized: true }), token(2, '<END>')], lower)
  expect(cut('YES <end> <END>')).toEqual([1, plain(' <end> ', 0), 2])
})
