import { expect, test } from 'vitest'
import { isCalled } from './given-tokens.ts'

test('a kept token is that of the open vocabulary where its text is, however it was written', () => {
  expect(isCalled({ id: 99, text: '·the' }, '·the')).toBe(true)
  expect(isCalled({ id: 99, text: ' the' }, '·the')).toBe(true)
  expect(isCalled({ id: 99, text: '\n' }, '⏎')).toBe(true)
  expect(isCalled({ id: 99, text: '#99' }, '·the')).toBe(true)
  expect(isCalled({ id: 99, text: '·der' }, '·the')).toBe(false)
  expect(isCalled({ id: 99, text: 'the' }, '·the')).toBe(false)
})
