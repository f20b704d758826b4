import { expect, test } from 'vitest'
import { parseTexts, textsText } from './texts.ts'

test('a text a line; empty lines are none', () => {
  expect(parseTexts('\uFEFFone two\r\n\n  \nthree\n', false)).toEqual([
    { text: 'one two' },
    { text: 'three' },
  ])
})

test('JSONL has texts or ids, and says which line is wrong', () => {
  expect(parseTexts('{"text":"a"}\n{"ids":[0,5]}\n', true)).toEqual([{ text: 'a' }, { ids: [0, 5] }])
  expect(() => parseTexts('{"text":"a"}\nnot', true)).toThrow('Line 2 is not JSON')
  expect(() => parseTexts('{"ids":[1.5]}', true)).toThrow('Line 1 has neither')
  expect(() => parseTexts('null', true)).toThrow('Line 1 has neither')
})

test('windows are counted apart from texts', () => {
  expect(textsText(100, 102)).toBe('102 windows of 100 texts')
  expect(textsText(100, 100)).toBe('100 texts')
  expect(textsText(1, 1)).toBe('1 text')
})
